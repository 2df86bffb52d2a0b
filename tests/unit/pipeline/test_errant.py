"""The way back from a record that a task reports to what was consumed."""

from collections.abc import Iterator

import pytest

from connect.data.batch import SinkBatch
from connect.data.column import Plain
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
    monkeypatch.setattr(errant, "_RECORD_BYTES", 0)
    asked: list[int] = []
    handed = Handed()
    handed.commit_soon = lambda: asked.append(1)
    for first in range(3):
        handed.take(consumed(first, b"aa"))
    assert asked
    assert handed.find(SinkRecord("t", "x", offset=0)) is None
    assert handed.find(SinkRecord("t", "x", offset=1))


@pytest.mark.promise("P7")
@pytest.mark.parametrize("column", [{"values": b"x"}, {"keys": b"k" * 500}])
def test_records_without_large_values_are_not_kept_without_end(column: dict[str, bytes]) -> None:
    handed = Handed()
    asked: list[int] = []
    handed.commit_soon = lambda: asked.append(1)
    values, keys = [column.get("values")] * 10_000, [column.get("keys")] * 10_000
    for first in range(0, 1_200_000, 10_000):
        offsets = list(range(first, first + 10_000))
        handed.take(SinkBatch("t", Values.raw(values), offsets=offsets, keys=Values.raw(keys)))
    assert asked
    assert handed.find(SinkRecord("t", "x", offset=0)) is None
    assert handed.find(SinkRecord("t", "x", offset=1_199_999))


def test_a_record_is_found_among_those_of_several_partitions_and_of_a_batch_with_gaps() -> None:
    handed = Handed()
    places = [("t", 0, 3), ("u", 0, 3), ("t", 1, 5), ("t", 0, 7)]
    topics, partitions, offsets = (list(column) for column in zip(*places, strict=True))
    values = [b"%d" % row for row in range(len(places))]
    handed.take(SinkBatch(topics, Values.raw(values), partitions=partitions, offsets=offsets))
    handed.take(consumed(8, b"later"))
    for value, (topic, partition, offset) in zip(values, places, strict=True):
        found = handed.find(SinkRecord(topic, "x", partition=partition, offset=offset))
        assert found is not None
        assert found.values.to_list() == [value]
    assert handed.find(SinkRecord("t", "x", offset=4)) is None
    assert handed.find(SinkRecord("v", "x", offset=3)) is None


class Looked(Plain[int]):
    """Offsets that count how often somebody goes through them."""

    looks = 0

    def __iter__(self) -> Iterator[int]:
        Looked.looks += 1
        return super().__iter__()


def test_to_find_every_record_nobody_goes_through_all_of_them_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Looked, "looks", 0)
    handed = Handed()
    for first in range(0, 50 * 100, 100):
        batch = consumed(first, *[b"x"] * 100)
        batch.offsets = Looked(list(batch.offsets))
        handed.take(batch)
    for offset in range(50 * 100):
        assert handed.find(SinkRecord("t", "x", offset=offset))
    assert 50 <= Looked.looks <= 2 * 50
