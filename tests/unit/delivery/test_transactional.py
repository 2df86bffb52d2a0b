"""What a source task's transactions hold, how they end, and what becomes of them when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery import transactional
from connect.delivery.boundaries import Boundary, IntervalBoundary, PollBoundary, TaskBoundary
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Source
from connect.delivery.source_errors import SourceErrors
from connect.delivery.source_offsets import OffsetRecords
from connect.delivery.transactional import TransactionalOutput
from connect.errors import ConnectError, FencedError
from connect.kafka.writing.transactional import AbortableError
from connect.pipeline import Chain, ErrorPolicy
from connect.telemetry.metrics import Registry
from connect.worker.control import Stopping
from tests.unit.worker.fakes import Clock, FakeControl


class Broker:
    """Stands in for a `TransactionalProducer`: keeps what was committed.

    Attributes:
        committed: the values of each transaction, with the offsets last.
        must_claim: see there.
        trouble: raised by the next commits, one each; None for none.
    """

    window = 1000

    def __init__(self) -> None:
        self.committed: list[list[Any]] = []
        self.open: list[Any] | None = None
        self.aborted = 0
        self.must_claim = False
        self.trouble: list[Exception | None] = []
        self.during_send: Callable[[], None] = lambda: None
        self._reports: list[tuple[Any, int]] = []

    def begin(self) -> None:
        assert self.open is None
        self.open = []

    def send(self, batch: SourceBatch, mark: Any, each: Callable[[int], Any] | None = None) -> None:
        assert self.open is not None
        values = batch.values.to_list()
        self.open += values[:1]
        self.during_send()
        self.open += values[1:]
        for row in range(len(values)):
            if each is not None and (report := each(row)) is not None:
                report(None, _Message(row))

    def write(self, topic: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        assert self.open is not None
        self.open += [value.decode() for _, value in records if value is not None]

    def commit(self, waiting: Callable[[], None]) -> None:
        assert self.open is not None
        trouble = self.trouble.pop(0) if self.trouble else None
        if isinstance(trouble, TimeoutError):
            waiting()
        elif trouble is not None:
            raise trouble
        self.committed.append(self.open)
        self.open = None

    def abort(self, waiting: Callable[[], None]) -> None:
        assert self.open is not None
        self.open = None
        self.aborted += 1

    def poll(self, timeout: float = 0) -> None:
        pass


class _Message:
    def __init__(self, row: int) -> None:
        self.row = row

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.row


class Task(SourceTask):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def start(self, config: Mapping[str, str]) -> None:
        pass

    def poll(self) -> None:
        pass

    def commit(self) -> None:
        self.told.append("commit")

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.told.append((record.value, None if metadata is None else metadata.offset))


class AcknowledgingTask(Task):
    acknowledges_records = True


class Errors(SourceErrors):
    """Has dead letters, once."""

    def __init__(self) -> None:
        super().__init__(ErrorPolicy())
        self.dead: SourceBatch | None = None

    def take(self) -> SourceBatch | None:
        taken, self.dead = self.dead, None
        return taken


class Setting:
    """Transactions and what stands around them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clock()
        monkeypatch.setattr(transactional, "time", self.clock)
        self.control = FakeControl(self.clock, [])
        self.broker = Broker()
        self.task: Task = Task()
        self.boundary: Boundary = PollBoundary()
        self.counts: list[int] = []
        self.claims = 0
        self.errors = Errors()
        self._made: TransactionalOutput | None = None

    @property
    def it(self) -> TransactionalOutput:
        if self._made is None:
            meter = SourceMeter(Registry(), {})
            meter.transaction = lambda records, _: self.counts.append(records)  # type: ignore[method-assign]
            self._made = TransactionalOutput(
                Source(self.task, Chain([], self.errors._policy), self.errors, self.control, meter),
                self.broker,  # type: ignore[arg-type]
                self.boundary,
                OffsetRecords(lambda partitions: [[b"key"] for _ in partitions]).of,
                "offsets",
                claim=self.claim,
            )
        return self._made

    def claim(self) -> None:
        """The id is claimed again, and the task is still the current one."""
        assert self.broker.open is None
        self.claims += 1
        self.broker.must_claim = False

    def send(self, *values: int, keep: Callable[[int], bool] = lambda _: True) -> None:
        self.send_records([record(value) for value in values], keep)

    def send_records(self, records: list[SourceRecord], keep: Callable[[int], bool] = lambda _: True) -> None:
        batch = SourceBatch.of(records)
        kept = [row for row, each in enumerate(records) if keep(each.value)]
        encoded = batch.take(kept)
        values = [f"{records[row].value}".encode() for row in kept]
        from connect.data.values import Values

        self.it.send(batch, encoded.with_columns(values=Values(values, None)))


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(monkeypatch)


def record(value: int) -> SourceRecord:
    return SourceRecord("t", value, source_partition={"f": "a"}, source_offset={"at": value})


def offset(value: int) -> str:
    return f'{{"at":{value}}}'


def test_each_batch_counts_with_where_it_got_to(at: Setting) -> None:
    at.send(1, 2)
    at.send(3)
    assert at.broker.committed == [[b"1", b"2", offset(2)], [b"3", offset(3)]]
    assert at.task.told == ["commit", "commit"]
    assert at.counts == [2, 1]


def test_a_batch_of_which_nothing_is_left_still_moves_on(at: Setting) -> None:
    at.send(1, 2, keep=lambda _: False)
    assert at.broker.committed == [[offset(2)]]


def test_an_interval_holds_many_batches_and_ends_though_nothing_comes(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.send(1)
    at.send(2)
    at.it.serve()
    assert at.broker.committed == []
    at.clock.now += 10
    at.it.serve()
    at.it.serve()
    assert at.broker.committed == [[b"1", b"2", offset(2)]]


def test_a_task_ends_transactions_inside_of_batches(at: Setting) -> None:
    boundary = at.boundary = TaskBoundary()
    records = [record(value) for value in range(6)]
    boundary.commit(records[1])
    boundary.abort(records[3])
    at.send_records(records)
    assert at.broker.committed == [[b"0", b"1", offset(1)], [offset(3)]], "what is dropped was read nevertheless"
    assert at.broker.open == [b"4", b"5"]
    boundary.commit()
    at.it.polled()
    assert at.broker.committed[2:] == [[b"4", b"5", offset(5)]]


def test_rows_that_were_dropped_on_the_way_do_not_shift_the_boundary(at: Setting) -> None:
    boundary = at.boundary = TaskBoundary()
    records = [record(value) for value in range(6)]
    boundary.commit(records[2])
    at.send_records(records, keep=lambda value: value not in (0, 2, 3))
    assert at.broker.committed == [[b"1", offset(2)]]
    assert at.broker.open == [b"4", b"5"]


def text(value: int) -> SourceRecord:
    return SourceRecord("t", b"%d" % value, source_partition={"f": "a"}, source_offset={"at": value})


@pytest.mark.promise("P1", "P10")
def test_a_task_may_return_a_part_of_a_batch(at: Setting) -> None:
    boundary = at.boundary = TaskBoundary()
    part = SourceBatch.of([text(value) for value in range(6)]).slice(3, 6)
    boundary.commit(part.records()[1])
    boundary.commit(part.records()[2])
    at.it.send(part, at.it.encode(part))
    assert at.broker.committed == [[b"3", b"4", offset(4)], [b"5", offset(5)]]


@pytest.mark.parametrize(
    "made",
    [
        lambda batch: SourceBatch.concat([batch.slice(0, 2), SourceBatch.of([text(2), text(3)])]),
        lambda batch: batch.take([0, 2, 1, 3]),
    ],
    ids=["joined", "in another order"],
)
def test_a_task_may_return_what_it_made_of_batches(at: Setting, made: Callable[[SourceBatch], SourceBatch]) -> None:
    at.task = AcknowledgingTask()
    batch = made(SourceBatch.of([text(value) for value in range(4)]))
    at.it.send(batch, at.it.encode(batch))
    assert at.task.told == [*((value, row) for row, value in enumerate(batch.values)), "commit"]


def test_what_kafka_does_not_let_through_is_written_once_more(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.send(1)
    at.send(2)
    at.broker.trouble = [AbortableError("no"), AbortableError("no")]
    at.clock.now += 10
    at.it.serve()
    assert at.broker.committed == [[b"1", b"2", offset(2)]]
    assert at.broker.aborted == 2


def test_it_is_not_tried_for_ever(at: Setting) -> None:
    at.broker.trouble = [AbortableError("no")] * 100
    with pytest.raises(AbortableError):
        at.send(1)
    at.it.finish(1)
    assert at.broker.committed == []


def test_more_than_is_kept_fails_the_task(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.broker.window = 3
    for value in range(10, 15):
        at.send(value)
    at.broker.trouble = [AbortableError("no")]
    at.clock.now += 10
    with pytest.raises(AbortableError):
        at.it.serve()


def test_keys_count_as_what_is_kept(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.broker.window = 100
    for value in range(3):
        at.send_records([SourceRecord("t", value, None, b"k" * 40, None)])
    at.broker.trouble = [AbortableError("no")]
    at.clock.now += 10
    with pytest.raises(AbortableError):
        at.it.serve()


def test_who_is_fenced_writes_nothing_more(at: Setting) -> None:
    at.broker.trouble = [FencedError("taken over")]
    with pytest.raises(FencedError):
        at.send(1)
    assert at.broker.committed == []
    assert at.task.told == []


@pytest.mark.promise("P3", "P10")
def test_a_task_that_claims_its_id_again_and_is_no_longer_the_current_one_commits_nothing(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)

    def not_current() -> None:
        at.broker.must_claim = False  # it holds the id, and another task begins
        raise Stopping

    at.claim = not_current  # type: ignore[method-assign]
    at.send(1)
    at.broker.trouble, at.broker.must_claim = [AbortableError("no")], True
    at.clock.now += 10
    with pytest.raises(Stopping):
        at.it.serve()
    at.it.finish(1)
    assert at.broker.committed == []


def test_a_batch_that_was_sent_in_part_is_never_committed(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.send(1)

    def stop() -> None:
        raise Stopping

    at.broker.during_send = stop
    with pytest.raises(Stopping):
        at.send(2, 3)
    at.it.finish(1)
    assert at.broker.committed == []
    assert at.broker.aborted == 1


@pytest.mark.promise("P2")
def test_a_task_is_told_nothing_while_part_of_what_it_returned_is_not_committed(at: Setting) -> None:
    boundary = at.boundary = TaskBoundary()
    records = [record(value) for value in range(3)]
    boundary.commit(records[1])
    at.send_records(records)
    assert (at.broker.committed, at.task.told) == ([[b"0", b"1", offset(1)]], [])
    boundary.commit()
    at.it.polled()
    assert at.task.told == ["commit"]


@pytest.mark.promise("P2")
def test_a_task_that_is_stopped_before_its_last_batch_is_sent_is_told_nothing(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.send(1)
    at.it.encode(SourceBatch.of([record(2)]))
    at.it.finish(1)
    assert at.broker.committed == [[b"1", offset(1)]]
    assert at.task.told == []


def test_what_is_complete_is_committed_at_the_end(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.send(1)
    at.it.finish(1)
    assert at.broker.committed == [[b"1", offset(1)]]


def test_what_the_task_has_not_ended_is_dropped_at_the_end(at: Setting) -> None:
    at.boundary = TaskBoundary()
    at.send(1)
    at.it.finish(1)
    assert at.broker.committed == []
    assert at.broker.aborted == 1


def test_without_the_lease_nothing_is_committed(at: Setting) -> None:
    at.boundary = IntervalBoundary(10, at.clock.now)
    at.send(1)
    at.control.lease = False
    at.clock.now += 10
    with pytest.raises(Stopping):
        at.it.serve()
    at.it.finish(1)
    assert at.broker.committed == []


def test_a_commit_that_was_begun_is_finished_at_the_end(at: Setting) -> None:
    at.boundary = boundary = TaskBoundary()
    at.send(1)
    boundary.commit()
    at.broker.trouble = [TimeoutError()]
    at.control.on_await_lease = lambda: setattr(at.control, "stopping", True) if at.broker.trouble else None
    at.control.check = _after(at.control.check, 1)  # type: ignore[method-assign]
    with pytest.raises(Stopping):
        at.it.polled()
    at.it.finish(1)
    assert at.broker.committed == [[b"1", offset(1)]]


def _after(check: Callable[[], None], calls: int) -> Callable[[], None]:
    left = [2 * calls]

    def late() -> None:
        left[0] -= 1
        if left[0] < 0:
            check()

    return late


def test_a_paused_task_leaves_nothing_open(at: Setting) -> None:
    at.boundary = boundary = TaskBoundary()
    at.send(1)
    at.it.pause()
    assert at.broker.open is None
    at.send(2)
    boundary.commit()
    at.it.polled()
    assert at.broker.committed == [[b"1", b"2", offset(2)]]


def test_a_task_is_told_of_each_record_when_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Setting(monkeypatch)
    at.task = AcknowledgingTask()
    boundary = at.boundary = TaskBoundary()
    records = [record(value) for value in range(5)]
    boundary.abort(records[1])
    boundary.commit(records[4])
    at.send_records(records, keep=lambda value: value != 3)
    dropped = [(0, None), (1, None)]  # and no "commit": more of this batch is to come
    assert at.task.told == [*dropped, (2, 0), (3, None), (4, 1), "commit"]


def test_a_task_is_told_of_what_is_too_much_to_be_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    at = Setting(monkeypatch)
    at.task = AcknowledgingTask()
    at.task.acknowledged_rows = lambda batch: [len(batch) - 1]  # type: ignore[method-assign]
    at.broker.window = 3
    boundary = at.boundary = TaskBoundary()
    at.send(1, 2)
    at.send(3, 4, keep=lambda value: value == 3)
    at.send(5, 6)
    assert at.task.told == []
    boundary.commit()
    at.it.polled()
    assert at.task.told == [(2, 1), (4, None), (6, 1), "commit"]


def test_an_offset_that_cannot_be_written_fails_the_task(at: Setting) -> None:
    bad = SourceRecord("t", 1, source_partition={"f": object()}, source_offset={})
    with pytest.raises((ConnectError, TypeError)):
        at.send_records([bad])
    assert at.broker.committed == []


def test_dead_letters_are_in_the_transaction_of_their_rows(at: Setting) -> None:
    from connect.data.column import Plain
    from connect.data.values import Values

    at.boundary = boundary = TaskBoundary()
    batch = SourceBatch.of([record(value) for value in range(4)])
    boundary.commit(batch.records()[1])
    boundary.commit()
    encoded = batch.take([0, 3]).with_columns(values=Values([b"0", b"3"], None))
    dead = SourceBatch("dead", Values([b"dead 1", b"dead 2"], None)).with_columns(rows=Plain([1, 2]))
    at.errors.dead = dead
    at.it.send(batch, encoded)
    assert at.broker.committed == [[b"dead 1", b"0", offset(1)], [b"dead 2", b"3", offset(3)]]


def test_after_an_end_that_was_sent_twice_the_id_is_claimed_before_the_next_transaction(at: Setting) -> None:
    at.send(1)
    at.broker.must_claim = True
    assert at.claims == 0
    at.send(2)
    at.send(3)
    assert at.claims == 1
    assert [values[0] for values in at.broker.committed] == [b"1", b"2", b"3"]
