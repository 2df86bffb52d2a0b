"""What tasks of Java ask for, and what this runtime makes of it, without a JVM."""

from types import SimpleNamespace
from typing import Any

from connect.api import RecordMetadata
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery.boundaries import End, TaskBoundary
from connect.java.crossing.tasks import JavaSourceTask


class Source:
    """Java's end: the objects that it returned last."""

    def __init__(self) -> None:
        self.polled: list[object] = []

    def row(self, record: object) -> int:
        return next((row for row, each in enumerate(self.polled) if each is record), -1)


def _batch(*values: str) -> SourceBatch:
    return SourceBatch.of(
        [SourceRecord(topic="t", value=value, source_partition={}, source_offset={}) for value in values]
    )


def test_a_transaction_ends_at_a_record_that_is_polled_later() -> None:
    boundary, source, task = TaskBoundary(), Source(), JavaSourceTask()
    made: Any = task
    made.context = SimpleNamespace(transaction=boundary)
    made._source, made._boundaries = source, []
    first, second, later = object(), object(), object()

    made._boundaries_asked("commit")(later)
    source.polled = [first]
    made._end_transactions(batch := _batch("first"))
    assert boundary.within(batch) == []
    made._end_transactions(None)
    assert boundary.after(0.0) is None

    source.polled = [second, later]
    made._boundaries_asked("abort")(second)
    made._end_transactions(batch := _batch("second", "later"))
    assert boundary.within(batch) == [(1, End.ABORT), (2, End.COMMIT)]
    assert made._boundaries == []


def test_an_offset_that_brokers_do_not_tell_is_no_dropped_record() -> None:
    task: Any = JavaSourceTask()
    told: list[Any] = []
    task._source = SimpleNamespace(written=lambda *columns: told.append(columns))
    task._call = lambda name, call: call()
    task._acknowledged = [(4, RecordMetadata("t", 1, -1)), (5, None), (6, RecordMetadata("u", 0, 7))]
    task._untold = 4
    task._tell()
    assert told == [([4, 5, 6], ["t", "u"], [0, 0, 1], [1, 0, 0], [-1, -2, 7])]
    assert task._untold == 1
