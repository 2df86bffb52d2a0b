"""Arrow's rows as batches of records."""

import pytest

from connect.data.schema import OPTIONAL_BYTES
from connect.errors import ConnectError
from spark_sink.connector_sink.rows import Order, RawRows, batches
from spark_sink.raw_rows import RAW_COLUMNS

from .raw import rows


def test_rows_are_the_records_that_they_were() -> None:
    headers = [None, [{"key": "a", "value": b"1"}, {"key": "b", "value": None}], [], [{"key": "c", "value": b""}]]
    raw = rows(b"x", None, b"", b"z", first=7, key=[b"k", None, b"", b"k"], headers=headers, timestamp=[5, None, 0, 1])
    (batch,) = batches(raw, 10)
    assert [record.value for record in batch] == [b"x", None, b"", b"z"]
    assert [record.key for record in batch] == [b"k", None, b"", b"k"]
    assert [record.offset for record in batch] == [7, 8, 9, 10]
    assert [record.timestamp for record in batch] == [5, None, 0, 1]
    assert list(batch.headers) == [None, [("a", b"1"), ("b", None)], [], [("c", b"")]]
    assert {(record.topic, record.partition, record.timestamp_type) for record in batch} == {("t", 0, "CreateTime")}
    assert batch.topics.constant
    assert batch.partitions.constant
    assert batch.values.schema == OPTIONAL_BYTES


def test_a_batch_is_cut_where_a_put_takes_no_more() -> None:
    headers = [[{"key": str(number), "value": b""}] * number for number in range(5)]
    cut = list(batches(rows(b"a", b"b", b"c", b"d", b"e", headers=headers), 2))
    assert [batch.values.to_list() for batch in cut] == [[b"a", b"b"], [b"c", b"d"], [b"e"]]
    assert [len(each) for batch in cut for each in batch.headers] == [0, 1, 2, 3, 4]


def test_partitions_and_topics_may_change_within_a_batch() -> None:
    raw = rows(b"a", b"b", b"c", topic=["t", "u", "t"], partition=[0, 0, 1], offset=[5, 5, 1])
    (batch,) = batches(raw, 10)
    assert batch.next_offsets() == {("t", 0): 6, ("u", 0): 6, ("t", 1): 2}


def test_other_columns_are_refused() -> None:
    RawRows().check(list(reversed(RAW_COLUMNS)))
    with pytest.raises(ConnectError, match="have the columns topic, partition, offset, .* not value"):
        RawRows().check(["value"])


@pytest.mark.parametrize(
    ("offsets", "partitions"),
    [([1, 2, 2], 0), ([3, 2], 0), ([5, 1, 4], [0, 1, 0])],
)
def test_rows_out_of_order_are_refused(offsets: list[int], partitions: object) -> None:
    (batch,) = batches(rows(*[b"x"] * len(offsets), offset=offsets, partition=partitions), 10)
    with pytest.raises(ConnectError, match="t-0 come out of order: offset . after"):
        Order().check(batch)


def test_order_is_held_across_batches_and_gaps_are_none_of_its_business() -> None:
    order = Order()
    for raw in (rows(b"a", b"b", offset=[1, 9]), rows(b"c", first=3, partition=1), rows(b"d", first=10)):
        for batch in batches(raw, 10):
            order.check(batch)
    (late,) = batches(rows(b"e", first=10), 10)
    with pytest.raises(ConnectError, match="offset 10 after 10"):
        order.check(late)
