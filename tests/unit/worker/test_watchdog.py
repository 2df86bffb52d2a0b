"""A task that moves nothing although there is work is found; one that has nothing to do is not."""

import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from connect.delivery import acknowledged, sink, source, transactional
from connect.telemetry.outages import Outages, Waiter
from connect.worker import engine_loop, loop, sink_loop, source_loop
from connect.worker.messages import Alive, Stalled, Waiting
from connect.worker.watchdog import LOOP, Watchdog

AFTER = 300.0


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def process_time(self) -> float:
        return 1.5


class Task:
    """A loop and its control at once, as the watchdog sees them."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.paused = False
        self.stopping = False
        self.lease = True
        self.records = 0
        self.work = ""
        self.trouble: tuple[float, str] | None = None
        self.activity = ("", clock.now)
        self.said: list[Any] = []

    def holds_lease(self) -> bool:
        return self.lease

    def send(self, message: Any) -> None:
        self.said.append(message)

    def moved(self) -> object:
        return self.records

    def waiting(self) -> str:
        return self.work

    def failing(self) -> tuple[float, str] | None:
        return self.trouble

    def await_lease(self) -> None:
        self.activity = ("", self.clock.now)

    def set_activity(self, what: str) -> None:
        self.activity = (what, self.clock.now)

    def waits(self) -> list[tuple[float, str]]:
        """What was said of waiting: since when, and why; nothing for what is over."""
        return [(message.since, message.why) for message in self.said if isinstance(message, Waiting)]

    def verdicts(self) -> list[str]:
        """What was said of standing still, in first lines."""
        return [message.trace.partition("\n")[0] for message in self.said if isinstance(message, Stalled)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("connect.worker.watchdog.time", made)
    return made


@pytest.fixture
def task(clock: Clock) -> Task:
    return Task(clock)


@pytest.fixture
def waiter(clock: Clock) -> Waiter:
    """Waits in the task's process, which leaves the telling to its worker."""
    outages = Outages(clock.monotonic)
    outages.leave_telling()
    return Waiter(among=outages)


@pytest.fixture
def go_on(clock: Clock, task: Task, waiter: Waiter) -> Callable[..., list[str]]:
    """Lets so many seconds pass, with a look every two; `alive` says that the task's thread takes its turns."""
    watchdog = Watchdog(
        task,
        task,  # type: ignore[arg-type]
        AFTER,
        lambda text: text.replace("hunter2", "[hidden]"),
        waiter._outages,
    )

    def pass_by(seconds: float, *, alive: bool = True) -> list[str]:
        end = clock.now + seconds
        while clock.now < end:
            clock.now = min(end, clock.now + 2)
            if alive:
                task.await_lease()
            watchdog.look()
        return task.verdicts()

    return pass_by


GoOn = Callable[..., list[str]]


def test_who_has_nothing_to_do_may_do_nothing(task: Task, go_on: GoOn) -> None:
    assert go_on(10_000) == []


@pytest.mark.promise("P8", "P9")
def test_what_is_waited_for_is_told_once_and_when_it_is_over(task: Task, go_on: GoOn, waiter: Waiter) -> None:
    go_on(10)
    waiter.waits("The database is away (hunter2, try 1).")
    go_on(2)
    waiter.waits("The database is away (hunter2, try 2).")
    go_on(100)
    assert task.waits() == [(1010.0, "The database is away ([hidden], try 1).")]
    waiter.waits("The database starts.")
    go_on(2)
    assert task.waits()[1:] == [(1010.0, "The database starts.")]
    waiter.goes_on()
    go_on(100)
    assert task.waits()[2:] == [(0.0, "")]


def test_a_wait_of_a_moment_is_not_told(task: Task, go_on: GoOn, waiter: Waiter, clock: Clock) -> None:
    for _ in range(10):
        clock.now += 1
        waiter.waits("too many requests")
        clock.now += 0.5
        go_on(0.5)
        waiter.goes_on()
        clock.now += 10
    assert task.waits() == []


def test_a_task_that_ends_says_nothing_of_what_it_waited_for(task: Task, go_on: GoOn, waiter: Waiter) -> None:
    waiter.waits("The database is away.")
    go_on(4)
    task.stopping = True
    waiter.leaves()
    go_on(4)
    assert [why for _, why in task.waits()] == ["The database is away."]


@pytest.mark.promise("P9")
def test_a_call_that_does_not_return_is_found_and_its_end_is_told(task: Task, go_on: GoOn) -> None:
    go_on(100)
    assert go_on(AFTER - 2, alive=False) == []
    (found,) = go_on(6, alive=False)
    assert "has not returned for 30" in found
    go_on(100, alive=False)
    assert go_on(2) == [found, ""]


def test_the_pipeline_may_try_a_record_again_and_stands_still_meanwhile(task: Task, go_on: GoOn) -> None:
    task.set_activity("The pipeline")
    (found,) = go_on(AFTER + 4, alive=False)
    assert found.startswith("The pipeline has not returned for 30")


def test_a_source_may_wait_for_its_source(task: Task, go_on: GoOn) -> None:
    task.set_activity("poll")
    assert go_on(10_000, alive=False) == []


@pytest.mark.promise("P9")
def test_a_source_must_not_wait_while_records_are_not_through(task: Task, go_on: GoOn) -> None:
    task.set_activity("poll")
    task.work = "3 records are not acknowledged"
    assert go_on(AFTER - 2, alive=False) == []
    (found,) = go_on(10, alive=False)
    assert found.startswith("Nothing has moved for 30")
    assert "although 3 records are not acknowledged. poll has not returned" in found


@pytest.mark.promise("P9")
def test_a_loop_that_goes_round_and_moves_nothing_is_found(task: Task, go_on: GoOn) -> None:
    go_on(10_000)
    task.work = "7 records wait"
    assert go_on(AFTER - 2) == []  # counted from when there was work
    (found,) = go_on(10)
    assert found.startswith("Nothing has moved for 30")
    task.records += 1
    assert go_on(2) == [found, ""]


def test_slow_is_not_still(task: Task, go_on: GoOn) -> None:
    task.work = "always more than can be done"
    for _ in range(20):
        go_on(AFTER - 10)
        task.records += 1
    assert task.verdicts() == []


@pytest.mark.promise("P9")
def test_offsets_that_cannot_be_stored_are_found_though_records_flow(task: Task, go_on: GoOn, clock: Clock) -> None:
    task.trouble = (clock.now, "the disk is full")
    for _ in range(200):
        task.records += 1
        go_on(2)
    (found,) = task.verdicts()
    assert found.startswith("Offsets cannot be stored for 30")
    assert "the disk is full" in found
    task.trouble = None
    assert go_on(2) == [found, ""]


@pytest.mark.parametrize("state", ["paused", "stopping", "without a lease"])
def test_who_is_not_to_work_is_left_alone(task: Task, go_on: GoOn, state: str) -> None:
    task.work = "7 records wait"
    task.paused, task.stopping, task.lease = state == "paused", state == "stopping", state != "without a lease"
    assert go_on(10_000, alive=False) == []
    task.paused, task.stopping, task.lease = False, False, True
    assert go_on(AFTER - 2) == []


def test_no_secret_is_told(task: Task, go_on: GoOn) -> None:
    task.work = "put refuses hunter2"
    (found,) = go_on(AFTER + 10)
    assert "put refuses [hidden]" in found


def test_life_is_told_now_and_then(task: Task, go_on: GoOn) -> None:
    go_on(600)
    assert sum(isinstance(message, Alive) for message in task.said) == 10
    assert Alive(1.5) in task.said


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_it_is_told_where_the_thread_is(clock: Clock, task: Task, stuck: threading.Event) -> None:
    ready = threading.Event()
    made: list[Watchdog] = []

    def write_to_the_target() -> None:
        made.append(Watchdog(task, task, AFTER, str))  # type: ignore[arg-type]
        ready.set()
        stuck.wait()

    thread = threading.Thread(target=write_to_the_target)
    thread.start()
    ready.wait()
    clock.now += AFTER + 1
    made[0].look()
    stuck.set()
    thread.join()
    (said,) = [message for message in task.said if isinstance(message, Stalled)]
    assert "in write_to_the_target" in said.trace
    assert "stuck.wait()" in said.trace


def test_who_hangs_is_named_by_what_the_loop_has_called(clock: Clock, task: Task, stuck: threading.Event) -> None:
    ready = threading.Event()
    made: list[Watchdog] = []

    def begin() -> None:
        made.append(Watchdog(task, task, AFTER, str))  # type: ignore[arg-type]
        ready.set()

    def write_to_the_target() -> None:
        stuck.wait()

    names = {LOOP: True, "begin": begin, "put": write_to_the_target}
    thread = threading.Thread(target=exec, args=("begin(); put()", names))
    thread.start()
    ready.wait()
    clock.now += AFTER + 1
    made[0].look()
    stuck.set()
    thread.join()
    (found,) = task.verdicts()
    assert found.endswith(
        "write_to_the_target has not returned for 301 s. The task's thread is here (most recent call last):"
    )


@pytest.mark.parametrize(
    "module", [loop, sink, sink_loop, source_loop, acknowledged, source, transactional, engine_loop]
)
def test_what_a_loop_is_made_of_is_marked(module: ModuleType) -> None:
    assert hasattr(module, LOOP)
