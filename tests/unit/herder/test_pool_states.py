"""What a worker makes of states that others publish or remove."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.herder.current_operations import CurrentOperations
from connect.herder.membership import Alone
from connect.herder.pool import Pool
from connect.herder.pool_states import PoolStates
from connect.kafka.admin.topics import TopicShape
from connect.kafka.compacted_log import LogRecord
from connect.storage import ConnectorStatus, MemoryStatusStore, State, TaskStatus
from connect.storage.config_log import MemoryConfigLog
from connect.storage.topic_status import TopicStatusStore

US = "us:1"


class Publishing:
    """A worker that owns connector "a" with one task, and has published that both run."""

    def __init__(self) -> None:
        self.log, self.statuses = MemoryConfigLog(), MemoryStatusStore()
        self.log.put_connector("a", {})
        self.log.put_tasks("a", [{}])
        worker: Any = SimpleNamespace(statuses=self.statuses, id=US)
        self.again: list[Any] = []
        pool = Pool(worker, self.log, Alone(self.log), CurrentOperations())
        self.states = PoolStates(pool, lambda publish: self.again.append(publish()))
        self.statuses.listen(self.states.keep_last_word)
        self.statuses.put(ConnectorStatus("a", State.RUNNING, US))
        self.statuses.put(TaskStatus("a", 0, State.RUNNING, US))


@pytest.mark.parametrize("number", [None, 0])
def test_a_state_of_what_runs_here_is_published_again_when_another_worker_removes_it(number: int | None) -> None:
    publishing = Publishing()
    publishing.statuses.forget("a")
    publishing.states.keep_what_is_removed("a", number)
    assert len(publishing.again) == 1
    assert (publishing.statuses.connector("a") is not None) == (number is None)


def test_a_state_of_what_is_no_longer_configured_stays_removed() -> None:
    publishing = Publishing()
    publishing.log.put_stop("a")
    publishing.states.keep_what_is_removed("a", 0)
    publishing.log.remove_connector("a")
    publishing.states.keep_what_is_removed("a", None)
    assert publishing.again == []


def test_what_others_remove_from_the_topic_is_told() -> None:
    store, removed = TopicStatusStore("statuses", {}, TopicShape(1, 1, {})), list[tuple[str, int | None]]()
    store.listen_to_removals(lambda name, number: removed.append((name, number)))
    for offset, key in enumerate((b"status-task-a-b-1", b"status-connector-a-b")):
        store._take(LogRecord(0, offset, key, None, None))
    assert removed == [("a-b", 1), ("a-b", None)]


def test_a_task_that_goes_on_has_its_state_published_again_where_it_was_removed() -> None:
    publishing = Publishing()
    publishing.states.keep("a", 0)
    assert publishing.again == []
    publishing.statuses.forget("a", 0)
    publishing.states.keep("a", 0)
    assert [status.state for status in publishing.statuses.tasks("a")] == [State.RUNNING]
