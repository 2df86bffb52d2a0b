"""The way back from a record that a task reports to what was consumed."""

import pytest

from connect.data.batch import SinkBatch
from connect.data.record import SinkRecord, TopicPartition
from connect.data.values import Values
from connect.pipeline import errant
from connect.pipeline.errant import Handed


def consumed(first: int, *values: bytes) -> SinkBatch:
    return SinkBatch("t", Values.raw(list(values)), offsets=list(range(first, first + len(values))))


def test_a_record_is_found_until_it_is_committed() -> None:
    handed = Handed()
    one, two = consumed(0, b"a", b"b"), consumed(2, b"c")
    for batch in (one, two):
        handed.take(batch.take(range(len(batch))).with_columns(values=Values(["x"] * len(batch))))
    record = SinkRecord("t", "x", offset=1).replace(topic="elsewhere")
    found = handed.find(record)
    assert found is not None
    assert found.consumed.values[found.rows[0]] == b"b"
    handed.committed({TopicPartition("t", 0): 1})
    assert handed.find(record)
    handed.committed({TopicPartition("t", 0): 2})
    assert handed.find(record) is None
    assert handed.find(SinkRecord("t", "x", offset=2))


@pytest.mark.promise("P7")
def test_too_many_bytes_ask_for_a_commit_and_then_forget_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errant, "_COMMIT_AT", 3)
    monkeypatch.setattr(errant, "_FORGET_AT", 5)
    asked: list[int] = []
    handed = Handed()
    handed.commit_soon = lambda: asked.append(1)
    for first in range(3):
        handed.take(consumed(first, b"aa"))
    assert asked
    assert handed.find(SinkRecord("t", "x", offset=0)) is None
    assert handed.find(SinkRecord("t", "x", offset=1))
