"""Rows of a change data feed become events: what belongs together, what is gone, what a tombstone follows."""

import datetime as dt
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from connect.data.schema import OPTIONAL_STRING
from spark_sink.source.changes import (
    DEBEZIUM,
    FLAT,
    NONE,
    RANKS,
    ChangeRecords,
    ChangeShape,
    events,
    groups_of,
    whole_groups,
)

UTC = dt.UTC
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("name", pa.string()),
        ("_change_type", pa.string()),
        ("_commit_version", pa.int64()),
        ("_commit_timestamp", pa.timestamp("us", "UTC")),
    ]
)
#: What the tests say of the kinds of rows.
KINDS = {"-": "delete", "<": "update_preimage", ">": "update_postimage", "+": "insert"}
MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, 678_901, UTC)


def feed(*rows: str) -> pa.RecordBatch:
    """Rows such as "3 > 1 Ada": version, kind, key, name; in the order in which Spark sorts them."""
    told = [row.split() for row in rows]
    ordered = sorted(told, key=lambda r: (int(r[0]), int(r[2]), RANKS[KINDS[r[1]]]))
    return pa.RecordBatch.from_pylist(
        [
            {
                "id": int(key),
                "name": name,
                "_change_type": KINDS[kind],
                "_commit_version": int(version),
                "_commit_timestamp": MOMENT,
            }
            for version, kind, key, name in ordered
        ],
        COLUMNS,
    )


def records(rows: pa.RecordBatch, envelope: str, **shape: Any) -> list[tuple[Any, Any]]:
    """Keys and values."""
    made = ChangeRecords(
        ChangeShape("t", ("id",), ("id", "name"), origin={"table": "/t"}, envelope=envelope, **shape), rows.schema
    ).of(rows)
    return [(record.key, record.value) for record in made.records()]


def row(key: int, name: str) -> dict[str, Any]:
    return {"id": key, "name": name}


def test_rows_are_the_values_and_deletes_are_tombstones() -> None:
    rows = feed("1 + 1 a", "1 + 2 b", "2 < 1 a", "2 > 1 c", "3 - 2 b")
    assert records(rows, NONE) == [
        ({"id": 1}, row(1, "a")),
        ({"id": 2}, row(2, "b")),
        ({"id": 1}, row(1, "c")),
        ({"id": 2}, None),
    ]


def test_without_tombstones_deletes_are_left_out() -> None:
    rows = feed("1 + 1 a", "2 - 1 a", "3 + 1 b")
    assert records(rows, NONE, tombstones=False) == [({"id": 1}, row(1, "a")), ({"id": 1}, row(1, "b"))]


def test_a_key_that_an_update_changed_is_gone_and_another_has_come() -> None:
    rows = feed("1 < 1 a", "1 > 5 a")
    assert records(rows, NONE) == [({"id": 1}, None), ({"id": 5}, row(5, "a"))]
    found = records(rows, DEBEZIUM)
    assert [(key, value and (value["op"], value["before"], value["after"])) for key, value in found] == [
        ({"id": 1}, ("d", row(1, "a"), None)),
        ({"id": 1}, None),
        ({"id": 5}, ("c", None, row(5, "a"))),
    ]


def test_a_row_that_a_version_deletes_and_inserts_comes_last() -> None:
    rows = feed("1 + 1 new", "1 - 1 old")
    assert records(rows, NONE) == [({"id": 1}, None), ({"id": 1}, row(1, "new"))]


def test_events_as_debezium_has_them() -> None:
    rows = feed("4 + 1 a", "5 + 2 b", "6 < 1 a", "6 > 1 c", "7 - 2 b")
    found = records(rows, DEBEZIUM, snapshot=4)
    ms = int(MOMENT.timestamp() * 1000)
    assert [
        value and (value["op"], value["before"], value["after"], value["source"]["version"]) for _, value in found
    ] == [
        ("r", None, row(1, "a"), 4),
        ("c", None, row(2, "b"), 5),
        ("u", row(1, "a"), row(1, "c"), 6),
        ("d", row(2, "b"), None, 7),
        None,
    ]
    assert found[0][1]["source"] == {
        "connector": "delta",
        "table": "/t",
        "version": 4,
        "ts_ms": ms,
        "snapshot": "true",
    }
    assert found[1][1]["source"]["snapshot"] == "false"
    assert [key for key, _ in found] == [{"id": key} for key in (1, 2, 1, 2, 2)]


def test_rows_with_the_feeds_own_columns() -> None:
    rows = feed("1 < 1 a", "1 > 1 b", "2 - 1 b")
    found = records(rows, FLAT, tombstones=False)
    assert [(value["name"], value["_change_type"], value["_commit_version"]) for _, value in found] == [
        ("a", "update_preimage", 1),
        ("b", "update_postimage", 1),
        ("b", "delete", 2),
    ]
    assert found[0][1]["_commit_timestamp"] == MOMENT.replace(microsecond=678_000)
    assert records(rows, FLAT)[-1] == ({"id": 1}, None)
    assert len(records(rows, FLAT)) == 4


def test_feeds_without_a_key_have_no_keys_and_no_pairs() -> None:
    rows = feed("1 + 1 a", "2 < 1 a", "2 > 1 b")
    shape = ChangeShape("t", (), ("name",), envelope=FLAT, tombstones=False)
    batch = ChangeRecords(shape, rows.schema).of(rows)
    assert [record.key for record in batch.records()] == [None] * 3
    assert [record.value["name"] for record in batch.records()] == ["a", "a", "b"]


def test_errors_name_the_table_and_the_version() -> None:
    rows = feed("7 + 1 a", "8 - 1 a")
    batch = ChangeRecords(ChangeShape("t", ("id",), ("name",), origin={"table": "/t"}), rows.schema).of(rows)
    assert [(r.source_partition, r.source_offset) for r in batch.records()] == [
        ({"table": "/t"}, {"version": 7}),
        ({"table": "/t"}, {"version": 8}),
    ]


def test_schemas_are_named_after_the_topic_such_that_avro_takes_them() -> None:
    rows = feed("1 + 1 a")
    made = ChangeRecords(ChangeShape("shop-1.orders", ("id",), ("id", "name"), envelope=DEBEZIUM), rows.schema)
    assert made.key_schema is not None
    assert made.key_schema.name == "shop_1.orders.Key"
    assert made.value_schema.name == "shop_1.orders.Envelope"
    after = made.value_schema.fields[1].schema
    assert (after.name, after.optional) == ("shop_1.orders.Value", True)
    assert after.fields[1].schema == OPTIONAL_STRING


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_no_batch_ends_within_the_rows_of_one_key_and_version(size: int, seed: int) -> None:
    chance = random.Random(seed)
    told = []
    for version in range(12):
        for key in range(5):
            told += chance.choice([[], [f"{version} < {key} a", f"{version} > {key} b"], [f"{version} - {key} a"]])
    rows = feed(*told)
    cut = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    whole = list(whole_groups(cut, ("id",)))
    assert pa.Table.from_batches(whole) == pa.Table.from_batches([rows])
    ends = [(part.column("_commit_version")[-1].as_py(), part.column("id")[-1].as_py()) for part in whole]
    begins = [(part.column("_commit_version")[0].as_py(), part.column("id")[0].as_py()) for part in whole]
    assert not set(zip(ends, begins[1:], strict=False)) & {(end, end) for end in ends}
    once = [each for part in whole for each in records(part, DEBEZIUM)]
    assert _without_clock(once) == _without_clock(records(rows, DEBEZIUM))


def test_several_updates_of_a_key_that_is_not_unique_are_told_in_order() -> None:
    ranks = np.array([1, 1, 2, 2, 3], np.int64)
    found = events(ranks, np.zeros(5, np.int64))
    assert found.rows.tolist() == [2, 3, 4]
    assert found.before.tolist() == [0, 1, -1]
    assert found.after.tolist() == [2, 3, 4]


def test_a_key_that_is_null_is_a_key() -> None:
    rows = pa.RecordBatch.from_pydict({"k": [None, None, "a", None], "_commit_version": [1, 1, 1, 1]})
    assert groups_of(rows, ("k",)).tolist() == [0, 0, 1, 2]


def test_a_kind_of_row_that_nobody_knows_is_no_event() -> None:
    rows = feed("1 + 1 a").set_column(2, "_change_type", pa.array(["moved"]))
    with pytest.raises(ValueError, match='of the type "moved"'):
        records(rows, NONE)


def _without_clock(found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return [(key, value and {**value, "ts_ms": 0}) for key, value in found]
