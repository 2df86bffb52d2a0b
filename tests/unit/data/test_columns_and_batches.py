from typing import Any

import pytest

from connect.data import (
    Constant,
    Deferred,
    Dictionary,
    Headers,
    Plain,
    Schema,
    SinkBatch,
    SinkRecord,
    SourceBatch,
    SourceRecord,
    Text,
    TopicPartition,
    Values,
)
from connect.data import schema as schemas
from connect.data.column import Column, concat
from connect.data.grouping import concat_values
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues
from connect.delivery.source_offsets import positions

COLUMNS: list[Column[str]] = [
    Plain(["a", "b", "a", "c"]),
    Dictionary([0, 1, 0, 2], ["a", "b", "c"]),
    Deferred(4, lambda: ["a", "b", "a", "c"]),
    Deferred(4, lambda: ["a", "b", "a", "c"], lambda row: "abac"[row]),
    Values(["a", "b", "a", "c"], schemas.STRING),
    Text([b"a", b"b", b"a", b"c"]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda each: type(each).__name__)
def test_a_column_is_a_sequence(column: Column[str]) -> None:
    assert len(column) == 4
    assert list(column) == column.to_list() == ["a", "b", "a", "c"]
    assert [column[row] for row in range(4)] == ["a", "b", "a", "c"]
    assert column[-1] == "c"
    assert list(column.take([3, 0, 0])) == ["c", "a", "a"]
    assert list(column.take([])) == []
    assert list(column.between(1, 3)) == list(column[1:3]) == ["b", "a"]
    assert list(column[::-1]) == ["c", "a", "b", "a"]
    assert not column.constant
    with pytest.raises(IndexError):
        column[4]


def test_a_constant_stays_one_whatever_is_taken() -> None:
    column = Constant("x", 3)
    for part in (column, column.take([0, 2]), column.between(1, 3), concat([column, Constant("x", 2)])):
        assert part.constant
        assert set(part) == {"x"}
    assert list(concat([column, Plain(["y"])])) == ["x", "x", "x", "y"]


def test_deferred_values_are_computed_once_and_only_if_asked_for() -> None:
    calls = []

    def compute() -> list[int]:
        calls.append(1)
        return [10, 20, 30]

    column = Deferred(3, compute)
    part = column.take([2, 0])
    assert len(part) == 2
    assert calls == []
    assert list(part) == [30, 10]
    assert list(column.between(1, 3)) == [20, 30]
    assert calls == [1]


def test_one_row_of_a_deferred_column_does_not_compute_the_others() -> None:
    column = Deferred(3, lambda: pytest.fail("computed all"), lambda row: row * 10)
    assert column[1] == 10
    assert column.take([2, 1])[0] == column.between(2, 3)[0] == column[-1] == 20
    with pytest.raises(IndexError):
        column[3]


def test_malformed_utf8_becomes_the_replacement_character_as_in_java() -> None:
    text = Text([b"ok", b"\xff", None, b"\xed\xa0\x80", "é".encode()])
    assert text.encoded() == [b"ok", b"\xef\xbf\xbd", None, b"\xef\xbf\xbd", "é".encode()]
    assert text.to_list() == ["ok", "\ufffd", None, "\ufffd", "é"]
    assert text.encoded_texts()[2] == b"null"


def test_text_is_not_decoded_to_be_taken_apart() -> None:
    text = Text([b"a", b"b", b"c"], schemas.STRING)
    part = text.take([2, 0]).between(0, 1)
    assert isinstance(part, Text)
    assert part.encoded() == [b"c"]
    assert part.schema is schemas.STRING


def test_values_know_their_schemas() -> None:
    mixed = Values([1, "x", 2], Plain([schemas.INT32, schemas.STRING, schemas.INT32]))
    assert mixed.by_schema() == [(schemas.INT32, [0, 2]), (schemas.STRING, [1])]
    with pytest.raises(ValueError, match="different schemas"):
        _ = mixed.schema
    assert mixed.take([0, 2]).schema == schemas.INT32
    joined = concat_values([Values([1], schemas.INT32), Values([2], schemas.INT32), Text([b"x"])])
    assert list(joined) == [1, 2, "x"]
    assert list(joined.schemas) == [schemas.INT32, schemas.INT32, schemas.OPTIONAL_STRING]


def sink_batch() -> SinkBatch:
    return SinkBatch(["a", "b", "a"], Values([1, 2, 3], schemas.INT32), offsets=[7, 8, 9], partitions=[0, 1, 0])


def test_records_of_a_batch_are_made_once() -> None:
    batch = sink_batch()
    assert batch.records() is batch.records()
    assert batch[1] is list(batch)[1]
    assert batch[1] == SinkRecord("b", 2, schemas.INT32, partition=1, offset=8)
    assert [record.offset for record in batch[1:]] == [8, 9]


def test_a_batch_is_split_by_topic_in_order() -> None:
    parts = sink_batch().by_topic()
    assert list(parts) == ["a", "b"]
    assert [record.value for record in parts["a"]] == [1, 3]
    whole = SinkBatch("a", Values([1, 2]), offsets=[0, 1])
    assert whole.by_topic()["a"] is whole


def test_origins_stay_with_their_rows_whatever_a_step_makes_of_the_records() -> None:
    batch = sink_batch()
    changed = batch.with_records([batch[0].replace(topic="z", value="x"), None, batch[2]])
    assert [record.topic for record in changed] == ["z", "a"]
    assert [record.original_topic for record in changed] == ["a", "a"]
    assert list(changed.values) == ["x", 3]
    assert [record.offset for record in changed] == [7, 9]
    assert batch.with_records(batch.records()) is batch


def test_rows_lead_back_to_what_was_consumed() -> None:
    batch = sink_batch()
    changed = batch.with_records([batch[0].replace(value="x"), None, batch[2]])
    parts = [changed.slice(0, 1), batch.slice(1, 2).with_columns(topics=Constant("z", 1)), changed.take([1])]
    joined = SinkBatch.concat(parts)
    for part in (changed, joined):
        assert part.consumed is batch
    assert list(changed.rows) == [0, 2]
    assert list(joined.rows) == [0, 1, 2]
    assert joined.rows[2] == changed.rows[1] == 2
    assert batch.consumed is batch


def test_rows_of_several_batches_lead_back_to_all_of_them() -> None:
    one, two = sink_batch(), SinkBatch("c", Values([4, 5]), offsets=[0, 1])
    joined = SinkBatch.concat([two.take([1]), one.slice(1, 3), two.slice(0, 1)])
    assert [joined.consumed.values[row] for row in joined.rows] == list(joined.values)
    whole = SinkBatch.concat([one, two])
    assert whole.consumed is whole
    assert list(whole.rows) == [0, 1, 2, 3, 4]


def test_next_offsets_speak_of_where_records_were_consumed() -> None:
    batch = sink_batch()
    moved = batch.with_columns(topics=Constant("z", 3), partitions=Constant(5, 3))
    assert moved.next_offsets() == {TopicPartition("a", 0): 10, TopicPartition("b", 1): 9}
    assert moved.take([1]).next_offsets() == {TopicPartition("b", 1): 9}
    assert moved.take([]).next_offsets() == {}


def test_partitions_are_left_out_by_where_records_were_consumed() -> None:
    batch = sink_batch()
    moved = batch.with_columns(topics=Constant("b", 3), partitions=Constant(1, 3))
    assert moved.without({TopicPartition("a", 0)}).next_offsets() == {TopicPartition("b", 1): 9}
    assert moved.without({TopicPartition("a", 1)}) is moved
    assert len(moved.without([TopicPartition("a", 0), TopicPartition("b", 1)])) == 0


def test_a_batch_of_records_is_those_records() -> None:
    records = [
        SinkRecord("t", 1, schemas.INT32, key="k", partition=2, offset=3, timestamp=4, headers=Headers().add("h", 1)),
        SinkRecord("t", None, None).replace(topic="u"),
    ]
    batch = SinkBatch.of(records)
    assert [record.value for record in batch] == [1, None]
    assert [record.original_topic for record in batch] == ["t", "t"]
    assert list(batch.headers) == [record.headers for record in records]
    source = [SourceRecord("t", "x", source_partition={"f": 1}, source_offset={"p": 2}), SourceRecord("t", "y")]
    assert SourceBatch.of(source).records() == source


class _Rows(list[int]):
    """Rows that nobody looks through."""

    def __iter__(self) -> Any:
        raise AssertionError("all rows are looked at")


def test_a_part_of_grouped_values_costs_what_it_holds() -> None:
    """Where many records fail, each is cut out of its batch."""
    struct = Schema.struct({"a": schemas.INT64})
    items = [None if row % 3 == 0 else {"a": row} if row % 3 == 1 else "text" for row in range(30)]
    groups = [
        ([*range(1, 30, 3)], StructColumns(struct, [[*range(1, 30, 3)]])),
        ([*range(0, 30, 3)], Values.nulls(10)),
        ([*range(2, 30, 3)], Text([b"text"] * 10)),
    ]
    for start, stop in ((0, 30), (0, 1), (29, 30), (4, 4), (7, 19), (8, 9)):
        part = GroupedValues(30, [(_Rows(rows), values) for rows, values in groups]).between(start, stop)
        assert part.to_list() == items[start:stop]
        assert len(part) == len(part.schemas) == stop - start
        assert part.between(0, len(part)).to_list() == items[start:stop]


def test_a_column_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 rows, the batch 3"):
        sink_batch().with_columns(topics=Constant("x", 2))
    with pytest.raises(TypeError, match="no column"):
        sink_batch().with_columns(colour=Constant("x", 3))


@pytest.mark.parametrize(
    ("polled", "said"),
    [
        ({"a": 1}, "A source returns a list of SourceRecord; here is a str."),
        ([SourceRecord("t", "x"), None], "A source returns a list of SourceRecord; here is a NoneType."),
        (SourceRecord("t", "x"), "This is one SourceRecord, where a list of them is wanted."),
        ([SourceRecord(None, "x")], "The topic of a SourceRecord is a NoneType, not the name of a topic."),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_list_of_records_is_said(polled: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        SourceBatch.of(polled)


def test_records_of_no_part_of_the_source_have_none_and_no_offset() -> None:
    nothing: Any = None
    batch = SourceBatch.of([SourceRecord("t", 1, source_partition=nothing, source_offset=nothing)])
    assert positions(batch) == {"{}": ({}, {})}
