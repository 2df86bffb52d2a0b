"""The loop of a source task: the order of calls, which offsets are stored when, and who is told that it is done."""

import itertools
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery import acknowledged
from connect.delivery.acknowledged import AcknowledgedOutput
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Source
from connect.delivery.source_errors import SourceErrors
from connect.errors import ConnectError, RetriableError
from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline import Chain, ErrorPolicy, Stage
from connect.telemetry.metrics import Registry
from connect.worker import messages, source_loop
from connect.worker.control import SourceContext
from connect.worker.progress import ProgressReport
from connect.worker.source_loop import SourceLoop

from .fakes import Clock, FakeControl, FakeProducer

Polled = SourceBatch | Iterable[SourceRecord] | None


class Task(SourceTask):
    """Notes its calls; its polls do what the script says, and after the last the task is to stop."""

    def __init__(self, calls: list[Any], control: FakeControl) -> None:
        self.calls = calls
        self.control = control
        self.script: deque[Callable[[], Polled]] = deque()
        self.done: list[tuple[Any, RecordMetadata | None]] = []
        self.errors: dict[str, Exception] = {}
        self.on_start: Callable[[], None] = lambda: None

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append("start")
        self.on_start()
        self.fail("start")

    def poll(self) -> Polled:
        self.calls.append("poll")
        if not self.script:
            self.control.stopping = True
            return None
        return self.script.popleft()()

    def commit(self) -> None:
        self.calls.append("commit")
        self.fail("commit")

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.done.append((record.value, metadata))

    def stop(self) -> None:
        self.calls.append("stop")
        self.fail("stop")

    def fail(self, where: str) -> None:
        if where in self.errors:
            raise self.errors[where]


class AcknowledgingTask(Task):
    acknowledges_records = True


class OneStep:
    """A step of the chain made of a function on batches."""

    stage = Stage.TRANSFORMATION
    operation = "OneStep"
    apply_one = None

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run

    def close(self) -> None:
        pass


class Setting:
    """A source task, its loop and the fakes around it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, task: type[Task] = Task) -> None:
        self.calls: list[Any] = []
        self.clock = Clock()
        monkeypatch.setattr(source_loop, "time", self.clock)
        monkeypatch.setattr(acknowledged, "time", self.clock)
        self.control = FakeControl(self.clock, self.calls)
        self.task = task(self.calls, self.control)
        self.task.context = SourceContext("test", 0, {}, Registry().labelled(), self.control)
        self.chain = Chain([], ErrorPolicy())
        self.stored: list[dict[str, Any]] = []
        self.refuse_stores = 0
        self.producer: FakeProducer
        self.at_once = True
        self.report = ProgressReport(self.control, Registry())
        self.loop = SourceLoop(self.task, {}, self.chain, self._output, self.control, self.report, 5.0)

    def _output(self, meter: SourceMeter) -> AcknowledgedOutput:
        self.calls.append("producer")
        errors = SourceErrors(self.chain.policy)
        self.producer = FakeProducer(errors.refuse, self.calls)
        self.producer.at_once = self.at_once
        source = Source(self.task, self.chain, errors, self.control, meter)
        return AcknowledgedOutput(source, self.producer, self.store, 60.0)

    def store(self, entries: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        if self.refuse_stores:
            self.refuse_stores -= 1
            raise ConnectError("the disk is full")
        self.calls.append("store")
        self.stored.append({partition["file"]: offset and offset["position"] for partition, offset in entries})

    def run(self, *polls: Callable[[], Polled]) -> None:
        self.task.script.extend(polls)
        self.loop.run(lambda _: self.calls.append("started"))

    def lets(self, seconds: float) -> Callable[[], None]:
        return lambda: setattr(self.clock, "now", self.clock.now + seconds)

    def acknowledges(self, count: int) -> Callable[[], None]:
        return lambda: self.producer.acknowledge(count)

    def moved(self, *which: str) -> list[Any]:
        return [call for call in self.calls if call in which]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


@pytest.fixture
def acknowledging(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch, AcknowledgingTask)


def record(value: int, file: str = "a") -> SourceRecord:
    return SourceRecord("t", value, source_partition={"file": file}, source_offset={"position": value + 1})


def gives(*values: int, file: str = "a") -> Callable[[], list[SourceRecord]]:
    return lambda: [record(value, file) for value in values]


def nothing() -> None:
    return None


# The order of calls.


@pytest.mark.promise("P1", "P2")
def test_the_calls_come_in_the_order_of_the_contract(at):
    at.run(gives(0, 1), gives(2))
    assert at.moved("start", "started", "poll", "send", "store", "commit", "stop") == [
        "start",
        "started",
        *("poll", "send") * 2,
        "poll",
        "store",
        "commit",
        "stop",
    ]
    assert at.stored == [{"a": 3}]
    assert at.producer.sent_rows == [0, 1, 2]
    assert at.producer.closed


def test_a_batch_passes_as_it_is(at):
    batch = SourceBatch.of([record(0), record(1)])
    at.run(lambda: batch)
    assert at.producer.sent_rows == [0, 1]


def test_a_task_that_cannot_start_is_not_stopped_but_what_it_opened_is_closed(at):
    at.task.errors["start"] = ConnectError("no such file")
    at.task.context.exit_stack.callback(at.calls.append, "closed")
    with pytest.raises(ConnectError, match="no such file"):
        at.run()
    assert at.moved("start", "started", "poll", "stop", "closed") == ["start", "closed"]
    assert at.producer.closed


def test_what_a_task_opened_is_closed_after_its_stop(at):
    at.task.context.exit_stack.callback(at.calls.append, "closed")
    at.run(gives(0, 1))
    assert at.calls[-2:] == ["stop", "closed"]


def test_a_stop_that_is_asked_for_while_a_task_starts_is_seen_by_it_and_ends_it(at):
    at.task.on_start = lambda: setattr(at.control, "stopping", True)
    at.run()
    assert at.task.context.stopping()
    assert at.moved("start", "started", "poll", "stop") == ["start", "started", "stop"]


@pytest.mark.parametrize("empty", [nothing, list])
def test_a_poll_that_brings_nothing_is_followed_by_a_wait(at, empty):
    waits = at.clock.now
    at.run(empty, gives(1))
    assert at.clock.now > waits
    assert at.producer.sent_rows == [1]


def test_a_poll_that_may_pass_is_polled_again(at):
    def refuses() -> None:
        raise RetriableError("no connection")

    at.run(refuses, refuses, gives(1))
    assert at.producer.sent_rows == [1]
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P1")
def test_a_poll_that_fails_fails_the_task_and_what_was_sent_is_stored(at):
    def breaks() -> None:
        raise ValueError("no such column")

    with pytest.raises(ValueError, match="no such column"):
        at.run(gives(0, 1), breaks)
    assert at.stored == [{"a": 2}]
    assert at.calls[-1] == "stop"


# Which offsets are stored.


@pytest.mark.promise("P1")
def test_offsets_of_the_acknowledged_prefix_are_stored_and_no_others(at):
    at.at_once = False
    at.run(
        gives(0, 1),
        gives(2, 3),
        gives(4, 5),
        at.acknowledges(3),  # the first batch, and half of the second
        at.lets(61),
        nothing,
    )
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P1")
def test_a_batch_that_is_acknowledged_before_an_earlier_one_waits_for_it(at):
    at.at_once = False

    def later_first() -> None:
        at.producer.pending.rotate(-2)
        at.producer.acknowledge(2)

    at.run(gives(0, 1), gives(2, 3), later_first, at.lets(61), nothing)
    assert at.stored == []


@pytest.mark.promise("P1")
def test_each_source_partition_has_its_own_last_offset(at):
    at.run(lambda: [record(0, "a"), record(5, "b"), record(1, "a"), record(6, "b")], gives(9, file="c"))
    assert at.stored == [{"a": 2, "b": 7, "c": 10}]


def test_source_partitions_may_hold_nested_values(at):
    nested = [
        SourceRecord("t", value, source_partition={"file": "a", "key": [1, {"x": value % 2}]},
                     source_offset={"position": value + 1})
        for value in range(4)
    ]  # fmt: skip
    stored: list[Any] = []
    at.store = stored.extend
    at.run(lambda: nested)
    assert [(partition["key"][1]["x"], offset["position"]) for partition, offset in stored] == [(0, 3), (1, 4)]


@pytest.mark.promise("P1")
def test_records_that_a_transformation_drops_move_the_offset_too(at):
    at.chain.steps.append(OneStep(lambda batch: batch.slice(0, 0)))
    at.run(gives(0, 1))
    assert at.producer.sent_rows == []
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P1", "P2")
def test_offsets_that_could_not_be_stored_are_stored_later_unless_newer_ones_are(at):
    at.refuse_stores = 1
    at.run(gives(0), gives(7, file="b"), at.lets(61), nothing, gives(1), at.lets(61), nothing)
    assert at.stored == [{"a": 2, "b": 8}]
    assert at.moved("store", "commit") == ["store", "commit"]


def test_nothing_is_stored_when_nothing_moved(at):
    at.run(nothing, at.lets(61), nothing, at.lets(61))
    assert at.moved("store", "commit") == []


# Who is told.


@pytest.mark.promise("P2")
def test_the_task_is_told_only_when_everything_that_it_returned_is_stored(at):
    at.at_once = False
    told: list[int] = []
    at.task.commit = lambda: told.append(at.producer.deliveries.outstanding)  # type: ignore[method-assign]
    at.run(gives(0, 1), gives(2, 3), at.acknowledges(2), at.lets(61), at.acknowledges(2), nothing, nothing)
    assert at.stored[-1] == {"a": 4}
    assert told == [0]


@pytest.mark.promise("P2")
@pytest.mark.parametrize("where", ["poll", "chain"])
def test_a_task_that_is_stopped_before_its_last_batch_is_sent_is_told_nothing(at, where):
    """What it returned before is stored; upstream must not forget what it returned last."""

    def stop(batch: Any = None) -> Any:
        at.control.stopping = batch is None or 2 in batch.values.to_list()
        return batch

    if where == "chain":
        at.chain.steps.append(OneStep(stop))
    at.run(gives(0, 1), lambda: (where == "poll" and stop(), [record(2)])[1])
    assert at.producer.sent_rows == [0, 1]
    assert at.stored == [{"a": 2}]
    assert at.moved("commit") == []


@pytest.mark.promise("P2")
def test_a_task_whose_records_never_stop_is_told_nevertheless(at):
    """Between polls there is always something under way: the loop lets it settle before it tells."""
    at.at_once = False
    told: list[Any] = []
    at.task.commit = lambda: told.append(at.stored[-1]["a"])  # type: ignore[method-assign]
    returned = [0]

    def stream() -> list[SourceRecord]:
        if len(at.producer.pending) > 2:
            at.producer.acknowledge(1)
        at.clock.now += 10
        returned[0] += 1
        return [record(returned[0] - 1)]

    def settle(timeout: float) -> bool:
        at.producer.acknowledge(min(2, len(at.producer.pending)))
        return not at.producer.deliveries.outstanding

    def begin() -> list[SourceRecord]:
        at.producer.drain = settle  # type: ignore[method-assign]
        return stream()

    at.run(begin, *[stream] * 30)
    assert len(told) > 2
    assert told == sorted(told)


@pytest.mark.promise("P1", "P2")
def test_a_record_is_reported_when_it_is_acknowledged(acknowledging):
    at = acknowledging
    at.at_once = False
    at.run(gives(0, 1), at.acknowledges(1), nothing)
    assert at.task.done == [(0, RecordMetadata("t", 0, 0))]


def test_dropped_records_are_reported_without_a_place(acknowledging):
    at = acknowledging
    at.chain.steps.append(OneStep(lambda batch: batch.take([0, 2])))
    at.run(gives(0, 1, 2))
    assert sorted(at.task.done, key=lambda done: done[0]) == [
        (0, RecordMetadata("t", 0, 0)),
        (1, None),
        (2, RecordMetadata("t", 0, 2)),
    ]


def test_a_task_may_choose_of_which_records_it_is_told(acknowledging):
    at = acknowledging
    at.task.acknowledged_rows = lambda batch: [0, 2, 3]
    at.chain.steps.append(OneStep(lambda batch: batch.take([0, 1, 3])))
    at.run(gives(5, 6, 7, 8))
    assert sorted(at.task.done, key=lambda done: done[0]) == [
        (5, RecordMetadata("t", 0, 5)),
        (7, None),
        (8, RecordMetadata("t", 0, 8)),
    ]


def test_a_task_that_does_not_ask_is_not_told_of_every_record(at):
    at.run(gives(0, 1))
    assert at.task.done == []


# Records that Kafka refuses.


@pytest.mark.promise("P1", "P5")
def test_a_refused_record_fails_the_task_and_no_offset_behind_it_is_stored(at):
    at.at_once = False

    def refuse() -> None:
        at.producer.acknowledge(2)
        at.producer.refuse()

    with pytest.raises(DeliveryError, match="MSG_SIZE_TOO_LARGE"):
        at.run(gives(0, 1), gives(2, 3), gives(4), refuse, nothing)
    at.producer.acknowledge(len(at.producer.pending))
    assert at.stored == [{"a": 2}]


@pytest.mark.promise("P5")
def test_a_refused_record_is_skipped_and_counted_where_errors_are_tolerated(at):
    at.chain.policy.tolerate = True
    at.at_once = False

    def refuse() -> None:
        at.producer.refuse(1)
        at.producer.acknowledge(2)

    at.run(gives(0, 1, 2), refuse, nothing)
    assert at.stored == [{"a": 3}]
    assert at.chain.policy.counts.skipped == 1
    last = [message for message in at.control.said if isinstance(message, messages.Progress)][-1]
    assert (last.read, last.records, last.errors) == (3, 2, 1)


# Pausing.


@pytest.mark.promise("P1")
def test_a_task_that_is_resumed_right_after_it_began_paused_says_so(at):
    at.control.paused = True
    at.task.script.append(gives(0))

    def started(paused: bool) -> None:
        assert paused
        at.control.paused = False

    at.loop.run(started)
    assert messages.Paused(False) in at.control.said


def test_a_paused_task_is_not_polled_and_its_offsets_are_stored(at):
    def pause() -> None:
        at.control.paused = True
        at.control.waits.extend([lambda: None, resume])

    polls_at_resume: list[int] = []

    def resume() -> None:
        polls_at_resume.append(at.calls.count("poll"))
        at.control.paused = False

    waits = iter([lambda: None, lambda: None])
    at.run(gives(0), lambda: next(waits) and pause(), gives(1))
    assert polls_at_resume == [2]
    assert at.producer.sent_rows == [0, 1]
    assert at.stored == [{"a": 1}, {"a": 2}]
    assert [m for m in at.control.said if isinstance(m, messages.Paused)] == [
        messages.Paused(True),
        messages.Paused(False),
    ]


# The lease.


@pytest.mark.promise("P3")
def test_without_the_lease_nothing_is_sent_or_stored(at):
    def lose() -> list[SourceRecord]:
        at.control.lease = False
        return [record(1)]

    at.run(gives(0), lose)
    assert at.producer.sent_rows == [0]
    assert at.stored == []


@pytest.mark.promise("P3")
def test_a_lease_that_runs_out_in_the_chain_keeps_the_batch_from_being_sent(at):
    def slow(batch: SourceBatch) -> SourceBatch:
        at.control.lease = False
        return batch

    at.chain.steps.append(OneStep(slow))
    at.run(gives(0))
    assert at.producer.sent_rows == []


# The end.


@pytest.mark.promise("P9")
def test_what_fails_at_the_end_is_logged_and_keeps_nothing_else_from_ending(at, caplog):
    at.task.errors = {"commit": OSError("no slot"), "stop": OSError("cannot close the file")}
    with caplog.at_level(logging.ERROR):
        at.run(gives(0))
    assert at.stored == [{"a": 1}]
    assert at.producer.closed
    assert "no slot" in caplog.text
    assert "cannot close the file" in caplog.text


@pytest.mark.promise("P9")
def test_the_first_error_is_the_one_that_is_told(at, caplog):
    at.task.errors = {"stop": OSError("cannot close the file")}

    def breaks() -> None:
        raise ValueError("no such column")

    with caplog.at_level(logging.ERROR), pytest.raises(ValueError, match="no such column"):
        at.run(breaks)
    assert "cannot close the file" in caplog.text


def test_the_longer_a_source_is_quiet_the_less_often_it_is_asked_and_at_once_after_a_record(at):
    moments: list[float] = []
    looks = lambda: moments.append(at.clock.now)  # noqa: E731
    at.run(*[looks] * 80, lambda: looks() or [record(0)], *[looks] * 3)
    waits = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert max(waits[:10]) < 0.05
    assert max(waits) == pytest.approx(2.0)
    assert max(waits[-2:]) < 0.05


def test_a_poll_that_waited_itself_is_followed_by_the_next_one(at):
    at.run(*[at.lets(1.0)] * 100)
    assert at.clock.now - Clock().now == pytest.approx(100, abs=2.1)  # the last poll waits for nothing


def test_acknowledgements_are_looked_for_while_records_are_under_way(at):
    at.at_once = False
    began = at.clock.now
    at.run(at.lets(100), lambda: [record(0)], *[lambda: None] * 10)
    assert at.clock.now - began < 100 + 1 + 11 * 0.2
