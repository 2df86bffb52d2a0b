"""The loop of a task that an engine runs: the order of calls, pausing, leases, and what the worker is told."""

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from connect.api.engine import EngineProgress, EngineTask
from connect.errors import ConnectError
from connect.telemetry.metrics import Registry
from connect.worker import engine_loop, messages, watchdog
from connect.worker.control import Stopping
from connect.worker.engine_loop import EngineContext, EngineLoop
from connect.worker.progress import ProgressReport
from connect.worker.watchdog import Watchdog

from .fakes import Clock, FakeControl

Step = EngineProgress | Exception | Callable[[], EngineProgress]


class Engine(EngineTask):
    """An engine that moves what its script says: a progress, an error, or a call, for each time it is watched.

    It does what the contract asks: nothing new begins while it is paused, or without a lease.

    Attributes:
        begun: how many batches it began.
    """

    def __init__(self, control: FakeControl, clock: Clock, calls: list[Any]) -> None:
        self.calls = calls
        self.script: deque[Step] = deque()
        self.errors: dict[str, Exception] = {}
        self.on_start: Callable[[], None] = lambda: None
        self.paused = False
        self.begun = 0
        self._control = control
        self._clock = clock
        self._last = EngineProgress()

    def start(self, *, paused: bool) -> None:
        self.calls.append(("start", paused))
        self.paused = paused
        self.on_start()
        self._fail("start")

    def watch(self, seconds: float) -> EngineProgress:
        self.calls.append("watch")
        assert 0 < seconds <= 1  # a stop is heard within that time
        self._clock.now += seconds
        if not self.script:
            self._control.stopping = True
            return self._last
        step = self.script.popleft()
        if isinstance(step, Exception):
            raise step
        self._last = step if isinstance(step, EngineProgress) else step()
        return self._last

    def pause(self) -> None:
        self.calls.append("pause")
        self.paused = True

    def resume(self) -> None:
        self.calls.append("resume")
        self.paused = False

    def stop(self) -> None:
        self.calls.append("stop")
        self._fail("stop")

    def batch(self, read: int) -> Callable[[], EngineProgress]:
        """Begins a batch if it may."""

        def begin() -> EngineProgress:
            if self.paused or self.context.lease_until() <= self._clock.now:
                return self._last
            self.begun += 1
            return EngineProgress(read=read, written=read, lag=0)

        return begin

    def _fail(self, where: str) -> None:
        if where in self.errors:
            raise self.errors[where]


class Control(FakeControl):
    """See there; with what an engine asks besides."""

    def lease_until(self) -> float:
        return math.inf if self.lease else self._clock.now

    def ask_offsets(self, partitions: Any) -> Any:
        return [{"asked": dict(partition)} for partition in partitions]

    def store_offsets(self, entries: Any) -> None:
        self._calls.append(("store", list(entries)))


class Setting:
    """An engine's task, its loop and the fakes around it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, paused: bool = False) -> None:
        self.calls: list[Any] = []
        self.clock = Clock()
        monkeypatch.setattr(engine_loop, "time", self.clock)
        self.control = Control(self.clock, self.calls)
        self.control.paused = paused
        self.task = Engine(self.control, self.clock, self.calls)
        self.registry = Registry()
        self.report = ProgressReport(self.control, self.registry)
        self.loop = EngineLoop(self.task, self.control, self.report)
        self.task.context = self.context()

    def context(self) -> EngineContext:
        spec = messages.TaskSpec(
            connector="orders",
            task=0,
            kind="sink",
            connector_class="m:C",
            folder=None,
            config={"a": "1"},
            connector_config={"name": "orders"},
            worker_config={"b": "2"},
            plugin_path=["/plugins"],
            secrets=["hidden"],
            paused=False,
            lease_until=0.0,
            log_level=20,
            offsets_topic="offsets",
            transactional_id="orders-0",
        )
        metrics = self.registry.labelled(connector="orders")
        target = ("m:Task", "/plugins/m")
        return EngineContext(spec, lambda: target, metrics, self.control, lambda text: text.replace("hidden", "*"))

    def run(self, *steps: Step) -> None:
        self.task.script.extend(steps)
        self.loop.run(lambda _: self.calls.append("started"))

    def told(self, kind: type[Any]) -> list[Any]:
        return [message for message in self.control.said if isinstance(message, kind)]


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch, paused=True)


def after(act: Callable[[], Any], progress: EngineProgress) -> Callable[[], EngineProgress]:
    """Something happens while the engine is watched."""

    def step() -> EngineProgress:
        act()
        return progress

    return step


def test_it_is_started_watched_and_stopped_in_this_order(setting):
    setting.run(EngineProgress(), EngineProgress())
    assert setting.calls == [("start", False), "started", "watch", "watch", "watch", "stop"]


def test_the_worker_is_told_how_far_it_is(setting):
    first = EngineProgress(read=100, written=90, lag=7, errors=2, topics=frozenset({"t", "u"}))
    setting.run(first, EngineProgress(read=200, written=200, lag=0, errors=3, topics=frozenset({"t", "u", "v"})))
    last = setting.told(messages.Progress)[-1]
    assert (last.records, last.read, last.lag, last.errors) == (200, 200, 0, 3)
    assert [message.topics for message in setting.told(messages.UsedTopics)] == [["t", "u"], ["v"]]


def test_a_lag_that_is_unknown_is_told_as_such(setting):
    setting.run(EngineProgress(read=1))
    assert setting.told(messages.Progress)[-1].lag == -1


def test_the_address_of_a_page_is_told_when_it_changes(setting):
    setting.run(*(EngineProgress(page=page) for page in ("http://a:4040", "http://a:4040", "", "http://a:4041")))
    assert [message.url for message in setting.told(messages.Page)][:3] == ["http://a:4040", "", "http://a:4041"]


# Pausing.


def test_a_pause_is_told_when_nothing_is_being_written_any_more(setting):
    def pause() -> None:
        setting.control.paused = True

    busy = EngineProgress(read=10, written=5, busy=True)
    setting.run(
        after(pause, busy),
        after(lambda: setting.calls.append(("told", setting.told(messages.Paused))), busy),
        EngineProgress(read=10, written=10, busy=True),
        EngineProgress(read=10, written=10),
        EngineProgress(read=10, written=10),
    )
    assert setting.calls[:7] == [("start", False), "started", "watch", "pause", "watch", ("told", []), "watch"]
    assert setting.told(messages.Paused) == [messages.Paused(True)]
    # What was written by then is told before.
    said = setting.control.said
    before = [m for m in said[: said.index(messages.Paused(True))] if isinstance(m, messages.Progress)]
    assert before[-1].records == 10


def test_an_idle_engine_pauses_at_once_and_a_resume_is_told_at_once(setting):
    def want(paused: bool) -> None:
        setting.control.paused = paused

    setting.run(
        after(lambda: want(True), EngineProgress()),
        EngineProgress(),
        after(lambda: want(False), EngineProgress()),
        after(lambda: setting.calls.append(list(setting.told(messages.Paused))), EngineProgress()),
    )
    assert setting.told(messages.Paused) == [messages.Paused(True), messages.Paused(False)]
    both = [messages.Paused(True), messages.Paused(False)]
    assert setting.calls[2:] == ["watch", "pause", "watch", "watch", "resume", "watch", both, "watch", "stop"]


def test_a_pause_that_is_taken_back_before_it_was_told_is_not_told(setting):
    def want(paused: bool) -> None:
        setting.control.paused = paused

    busy = EngineProgress(busy=True)
    setting.run(after(lambda: want(True), busy), after(lambda: want(False), busy), EngineProgress(), EngineProgress())
    assert [call for call in setting.calls if call in ("pause", "resume")] == ["pause", "resume"]
    assert setting.told(messages.Paused) == []


def test_a_task_that_begins_paused_says_nothing_of_it_and_begins_nothing(paused):
    paused.run(paused.task.batch(10), paused.task.batch(10))
    assert paused.calls[0] == ("start", True)
    assert paused.told(messages.Paused) == []
    assert paused.task.begun == 0


def test_a_task_that_begins_paused_goes_on_when_it_is_resumed(paused):
    def resume() -> None:
        paused.control.paused = False

    paused.run(after(resume, EngineProgress()), paused.task.batch(10))
    assert paused.told(messages.Paused) == [messages.Paused(False)]
    assert paused.task.begun == 1


def test_a_wish_to_pause_while_the_engine_starts_is_followed(setting):
    def pause() -> None:
        setting.control.paused = True

    setting.task.on_start = pause
    setting.run(setting.task.batch(10), setting.task.batch(10))
    assert setting.calls[:4] == [("start", False), "pause", "started", "watch"]
    assert setting.told(messages.Paused) == [messages.Paused(True)]
    assert setting.task.begun == 0


# Ends and errors.


def test_a_task_that_is_to_end_before_it_began_is_not_started(setting):
    setting.control.stopping = True
    setting.run()
    assert setting.calls == []


def test_an_engine_that_cannot_start_is_closed_not_stopped_and_its_error_is_the_tasks(setting):
    setting.task.errors["start"] = ConnectError("there is no Java")
    setting.task.context.exit_stack.callback(setting.calls.append, "closed")
    with pytest.raises(ConnectError, match="there is no Java"):
        setting.run()
    assert setting.calls == [("start", False), "closed"]


def test_what_an_engine_opened_is_closed_after_its_stop(setting):
    setting.task.context.exit_stack.callback(setting.calls.append, "closed")
    setting.run()
    assert setting.calls[-2:] == ["stop", "closed"]


def test_what_ends_the_engine_s_work_ends_the_task_and_what_it_did_is_told(setting):
    with pytest.raises(ConnectError, match="the table is gone"):
        setting.run(EngineProgress(read=5, written=5, lag=0), ConnectError("the table is gone"))
    assert setting.calls == [("start", False), "started", "watch", "watch", "stop"]
    assert setting.told(messages.Progress)[-1].records == 5


def test_an_engine_that_gives_up_a_start_because_the_task_is_to_end_ends_it_quietly(setting):
    def give_up() -> None:
        setting.control.stopping = True
        assert setting.task.context.stopping()
        raise Stopping

    setting.task.on_start = give_up
    setting.run()
    assert setting.calls == [("start", False)]


def test_an_engine_that_cannot_stop_is_told_of_and_hides_no_other_error(setting, caplog):
    setting.task.errors["stop"] = OSError("the JVM does not end")
    with pytest.raises(ConnectError, match="the table is gone"):
        setting.run(ConnectError("the table is gone"))
    assert "While stopping: OSError: the JVM does not end" in caplog.text
    assert setting.told(messages.Progress)


# The lease.


@pytest.mark.promise("P3")
def test_nothing_is_started_without_a_lease(setting):
    setting.control.lease = False
    setting.run(setting.task.batch(10))
    assert setting.calls == []


@pytest.mark.promise("P3")
def test_an_engine_sees_when_the_lease_is_over_and_when_it_holds_again(setting):
    def lease(held: bool) -> None:
        setting.control.lease = held

    batch = setting.task.batch
    setting.run(
        batch(10), after(lambda: lease(False), EngineProgress(10, 10)), batch(20), batch(20),
        after(lambda: lease(True), EngineProgress(10, 10)), batch(20),
    )  # fmt: skip
    assert setting.task.begun == 2
    assert setting.calls.count("pause") == 0  # it is not a pause: the loop goes on watching
    assert setting.told(messages.Progress)[-1].records == 20


# What goes wrong without an end.


@pytest.mark.promise("P9")
def test_what_keeps_going_wrong_is_said_once_with_the_time_since_when(setting, caplog):
    seen: list[Any] = []

    def look() -> None:
        seen.append(setting.loop.failing())

    wrong = EngineProgress(failing="The offsets of group g cannot be reported: no coordinator")
    setting.run(wrong, after(look, wrong), after(look, wrong), EngineProgress(), after(look, EngineProgress()), wrong)
    assert seen == [(1000.5, wrong.failing), (1000.5, wrong.failing), None]
    assert setting.loop.failing() == (1003.0, wrong.failing)
    assert caplog.text.count(wrong.failing) == 1, "what comes back at once was never over"


@pytest.mark.promise("P9")
def test_the_words_for_what_goes_wrong_are_those_of_now(setting):
    first, second = EngineProgress(failing="no coordinator"), EngineProgress(failing="not authorized")
    setting.run(first, second)
    assert setting.loop.failing() == (1000.5, "not authorized")


@pytest.mark.promise("P9")
def test_an_engine_that_moves_nothing_although_records_wait_is_flagged(setting, monkeypatch):
    monkeypatch.setattr(watchdog, "time", Timed(setting.clock))
    dog = Watchdog(setting.loop, setting.control, 30.0, lambda text: text)
    stands = [EngineProgress(read=10, written=10, lag=5)] * 80
    setting.run(*(after(dog.look, each) for each in stands))
    (stalled,) = setting.told(messages.Stalled)
    assert "Nothing has moved for 30 s although 5 records wait." in stalled.trace


@pytest.mark.promise("P9")
@pytest.mark.parametrize(
    "progress",
    [
        pytest.param([EngineProgress(read=n, written=n, lag=5) for n in range(200)], id="it moves"),
        pytest.param([EngineProgress(read=10, written=10, lag=0)] * 200, id="nothing waits"),
        pytest.param([EngineProgress()] * 200, id="nothing is known"),
    ],
)
def test_an_engine_that_moves_or_has_nothing_to_do_is_not_flagged(setting, monkeypatch, progress):
    monkeypatch.setattr(watchdog, "time", Timed(setting.clock))
    dog = Watchdog(setting.loop, setting.control, 30.0, lambda text: text)
    setting.run(*(after(dog.look, each) for each in progress))
    assert setting.told(messages.Stalled) == []


def test_records_that_wait_while_it_is_paused_are_no_work(paused):
    paused.run(EngineProgress(lag=5))
    assert paused.loop.waiting() == ""


class Timed:
    """The module `time` of a watchdog, by the clock of the test."""

    def __init__(self, clock: Clock) -> None:
        self.monotonic = clock.monotonic

    def process_time(self) -> float:
        return 0.0


# What an engine is given.


def test_the_context_says_what_the_task_is_and_asks_the_worker(setting, caplog):
    context = setting.task.context
    assert (context.connector, context.kind, context.configs) == ("orders", "sink", {"a": "1"})
    assert (context.connector_config, context.worker_config) == ({"name": "orders"}, {"b": "2"})
    assert (list(context.plugin_path), context.task_target) == (["/plugins"], ("m:Task", "/plugins/m"))
    assert (context.transactional_id, context.offsets_topic) == ("orders-0", "offsets")
    assert context.redact("password=hidden") == "password=*"
    assert context.offsets([{"p": 1}]) == [{"asked": {"p": 1}}]
    context.store_offsets([({"p": 1}, {"o": 2})])
    assert setting.calls == [("store", [({"p": 1}, {"o": 2})])]
    context.metrics.count("connect_spark_rows_total", 3)
    assert [sample.value for sample in setting.registry.snapshot()] == [3]
    assert not context.stopping()
    setting.control.stopping = True
    assert context.stopping()
