"""What becomes of a connector's tasks when others are committed."""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder.assigned import AssignedWork
from connect.herder.config_recorder import NoRecorder
from connect.herder.current_operations import CurrentOperations
from connect.herder.membership import Alone
from connect.herder.pool import Pool
from connect.herder.pool_states import PoolStates
from connect.pipeline.error_kinds import ErrorKind
from connect.storage import MemoryStatusStore, State, TaskStatus
from connect.storage.config_log import MemoryConfigLog

US, OTHERS = "us:1", "others:1"


class Tasks:
    """Run as long as nobody stops them."""

    def __init__(self) -> None:
        self.running: dict[int, Any] = {}
        self.seen: list[str] = []

    def of(self, _: str) -> dict[int, Any]:
        return dict(self.running)

    def stop(self, which: Iterable[tuple[str, int]], _: float) -> None:
        for _, number in which:
            self.seen.append(f"stop {number}")
            del self.running[number]


class Work:
    """The work of a worker that is alone, with tasks that only seem to run."""

    def __init__(self) -> None:
        self.tasks, self.statuses, self.log = Tasks(), MemoryStatusStore(), MemoryConfigLog()
        worker: Any = SimpleNamespace(statuses=self.statuses, id=US, raw={}, tasks=self.tasks, graceful=1.0)
        pool = Pool(worker, self.log, Alone(self.log), CurrentOperations())
        nobody: Any = SimpleNamespace()
        self.assigned = AssignedWork(pool, PoolStates(pool, lambda _: None), nobody, nobody, NoRecorder())
        self.assigned.run_task = self.start  # type: ignore[method-assign]
        self.log.put_connector("a", {})

    def start(self, name: str, number: int) -> None:
        self.tasks.seen.append(f"start {number}")
        state = self.log.state
        self.tasks.running[number] = SimpleNamespace(
            written=(state.applied[name], state.tasks[name, number]),
            process=SimpleNamespace(spec=SimpleNamespace(transactional_id=None)),
        )
        self.statuses.put(TaskStatus(name, number, State.RUNNING, US))

    def commit(self, *configs: Mapping[str, str]) -> list[str]:
        """What is done when these tasks are committed."""
        self.log.put_tasks("a", configs)
        self.tasks.seen.clear()
        self.assigned.run_tasks("a")
        return list(self.tasks.seen)

    @property
    def told(self) -> list[int]:
        return [status.task for status in self.statuses.tasks("a")]


@pytest.fixture
def work() -> Work:
    return Work()


def test_tasks_that_change_have_ended_before_one_starts_and_others_run_on(work: Work) -> None:
    assert work.commit({"n": "0"}, {"n": "1"}, {"n": "2"}) == ["start 0", "start 1", "start 2"]
    assert work.commit({"n": "a"}, {"n": "1"}, {"n": "c"}) == ["stop 0", "stop 2", "start 0", "start 2"]
    assert work.commit({"n": "a"}, {"n": "1"}, {"n": "c"}) == []


def test_tasks_that_are_no_more_are_forgotten_by_who_told_of_them(work: Work) -> None:
    work.commit({}, {})
    work.statuses.put(TaskStatus("a", 2, State.RUNNING, OTHERS))
    assert work.commit({}) == ["stop 1"]
    assert work.told == [0, 2]


def test_a_stopped_connector_is_to_have_no_tasks_even_before_that_is_committed(work: Work) -> None:
    work.commit({}, {})
    work.log.put_target("a", "STOPPED")
    work.assigned.run_tasks("a")
    assert work.tasks.running == {}
    assert work.told == []


def test_no_single_task_of_a_stopped_connector_starts_although_it_is_committed(work: Work) -> None:
    work.commit({}, {})
    work.log.put_target("a", "STOPPED")
    work.tasks.seen.clear()
    AssignedWork.run_task(work.assigned, "a", 0)
    assert work.tasks.seen == []


def test_tasks_that_change_back_before_the_change_was_read_are_written_again(work: Work) -> None:
    """The leader wrote them, and this worker's copy of the log is behind."""
    work.commit({"task.class": "x:Task", "n": "0"})
    sent: list[list[dict[str, str]]] = []
    leader: Any = SimpleNamespace(write_tasks=lambda _, configs, __: sent.append(configs))
    cuts = [[{"n": "0"}, {"n": "1"}], [{"n": "0"}], [{"n": "0"}]]
    started = SimpleNamespace(ref=SimpleNamespace(task="x:Task"))
    work.assigned._leader = leader
    work.assigned._started_with["a"] = work.log.state.written["a"]
    work.assigned._worker.connectors = SimpleNamespace(get=lambda _: started, cut=lambda _: cuts.pop(0))  # type: ignore[assignment]
    for _ in range(3):
        work.assigned.publish_tasks("a")
    assert [len(configs) for configs in sent] == [2, 1], "the third says what the second did"


def test_tasks_that_a_former_leader_wrote_over_are_written_again_once(work: Work) -> None:
    ours, stale = {"task.class": "x:Task", "n": "0"}, {"task.class": "x:Task", "n": "old"}
    sent: list[list[dict[str, str]]] = []
    leader: Any = SimpleNamespace(write_tasks=lambda _, configs, __: sent.append(configs))
    started = SimpleNamespace(ref=SimpleNamespace(task="x:Task"))
    work.assigned._leader = leader
    work.assigned._started_with["a"] = work.log.state.written["a"]
    work.assigned._worker.connectors = SimpleNamespace(get=lambda _: started, cut=lambda _: [{"n": "0"}])  # type: ignore[assignment]
    work.assigned.keep_tasks("a")
    assert sent == [], "this worker has sent nothing that could be written over"
    work.assigned.publish_tasks("a")
    work.commit(ours)
    work.assigned.keep_tasks("a")
    assert len(sent) == 1
    work.assigned._last_cut.clear()
    work.assigned.publish_tasks("a")  # as by a worker that has just become the owner, and finds them as they are to be
    for _ in range(2):  # the second time as by a leader that writes ours in another form
        work.commit(stale)
        work.assigned.keep_tasks("a")
    assert sent == [[ours], [ours]]


def test_what_a_stop_that_broke_off_left_is_taken_back_by_who_owns_the_connector_next(work: Work) -> None:
    """The leader crashed when it had written the target state, and not yet that there are no tasks."""
    sent: list[list[dict[str, str]]] = []
    work.assigned._leader = SimpleNamespace(write_tasks=lambda _, configs, __: sent.append(configs))  # type: ignore[assignment]
    work.assigned._worker.connectors = SimpleNamespace(get=lambda _: None)  # type: ignore[assignment]
    work.commit({}, {})
    work.log.put_target("a", "STOPPED")
    work.assigned.publish_tasks("a")
    assert sent == [[]]
    work.commit()
    work.assigned.publish_tasks("a")
    assert sent == [[]], "it is as it is to be"


def test_the_end_of_a_process_that_had_a_stopped_connector_is_no_failure(work: Work) -> None:
    lost = []
    work.assigned._worker.connectors = SimpleNamespace(lost=lost.append)  # type: ignore[assignment]
    work.log.put_target("a", "STOPPED")
    work.assigned.connector_failed("a", "it was killed", "it was killed", ErrorKind.CRASH)
    assert lost == ["a"]
    assert work.statuses.connector("a") is None
