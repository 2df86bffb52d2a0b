"""Types that a user says, and a column for what does not fit: without Spark. With Spark: test_hints_and_rescue."""

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connect import ConfigError, Schema, SchemaError
from connect.data import logical
from connect.data.schema import BYTES, FLOAT32, FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING
from connect.testing import SinkRun

Run = Callable[..., SinkRun]
Rows = Callable[..., list[dict[str, Any]]]
Log = Callable[..., DeltaTable]

#: Nothing may be added, and what does not fit is kept.
KEEP = {"rescued.data.column": "_rescued", "schema.evolution": "none"}


def table_of(lake: Path, **columns: Any) -> None:
    write_deltalake(lake / "orders", pa.table(columns))


def put(orders: SinkRun, *values: Any, **more: Any) -> None:
    orders.put(*values, **more)
    orders.commit()


def rescued(rows: list[dict[str, Any]]) -> dict[Any, Any]:
    return {row["id"]: row["_rescued"] and json.loads(row["_rescued"]) for row in rows}


@pytest.mark.parametrize("declared", [True, False])
def test_a_new_table_has_the_types_of_hints(run: Run, rows: Rows, log: Log, declared: bool) -> None:
    orders = run(schema__hints="Amount decimal(10,2), day date, n int, none string")
    schema = Schema.struct({"id": INT64, "amount": STRING, "day": OPTIONAL_STRING, "n": OPTIONAL_STRING})
    values = [{"id": 1, "amount": "12.5", "day": "2026-01-02", "n": " 7 "}, {"id": 2, "amount": "1", "day": None}]
    orders.put(*values, schema=schema if declared else None)
    orders.commit()
    assert rows() == [
        {"id": 1, "amount": Decimal("12.50"), "day": dt.date(2026, 1, 2), "n": 7},
        {"id": 2, "amount": Decimal("1.00"), "day": None, "n": None},
    ]
    columns = pa.schema(log().schema().to_arrow())
    assert [columns.field(name).type for name in ("amount", "n")] == [pa.decimal128(10, 2), pa.int32()]


@pytest.mark.parametrize("value", [{"day": "soon"}, {"day": dt.date(1, 2, 3), "n": 1 << 40}])
def test_a_value_that_is_no_such_type_does_not_fit(run: Run, value: dict[str, Any]) -> None:
    orders = run(schema__hints="day date, n int")
    name = "day" if value["day"] == "soon" else "n"
    kind = {"day": "date", "n": "int"}[name]
    with pytest.raises(SchemaError, match=f'offset 0: .*column "{name}" cannot be cast to {kind}, as schema.hints'):
        put(orders, {"id": 1, **value})


def test_those_that_can_be_cast_are_written(run: Run, rows: Rows) -> None:
    orders = run(
        schema__hints="n int",
        schema__evolution__on__mismatch="quarantine",
        errors__tolerance="all",
        errors__log__enable="true",
    )
    orders.put({"id": 1, "n": "x"}, {"id": 2, "n": "2"}, None, {"id": 3, "n": ["x"]}, {"id": 4})
    orders.commit()
    assert rows() == [{"id": 2, "n": 2}, {"id": 4, "n": None}]
    assert [record.value["id"] for record, _ in orders.errant] == [1, 3]


def test_a_key_is_merged_by_its_hinted_type(run: Run, rows: Rows) -> None:
    orders = run(schema__hints="id bigint", mode="upsert")
    for written, n in (("7", 1), ("07", 2)):
        orders.put({"n": n}, key={"id": written})
        orders.commit()
    assert rows() == [{"id": 7, "n": 2}]


def test_a_type_that_is_none_is_named(run: Run) -> None:
    with pytest.raises(ConfigError, match='schema.hints.*"dates", of the column "day", is not a type'):
        run(schema__hints="day dates")


@pytest.mark.parametrize("declared", [True, False])
def test_what_does_not_fit_is_rescued(run: Run, rows: Rows, declared: bool, lake: Path) -> None:
    struct = pa.array([{"a": 1}], pa.struct([("a", pa.int32())]))
    table_of(lake, id=[0], n=pa.array([1], pa.int32()), day=[dt.date(2026, 1, 1)], s=struct)
    orders = run(schema__hints="day date", **{key.replace(".", "__"): value for key, value in KEEP.items()})
    inner = Schema.struct({"a": INT64, "b": Schema.array(STRING).as_optional()}).as_optional()
    schema = Schema.struct(
        {"id": INT64, "n": OPTIONAL_STRING, "day": OPTIONAL_STRING, "s": inner, "new": FLOAT64.as_optional()}
    )
    values = [
        {"id": 2, "n": "many", "day": "soon", "s": {"a": 1 << 40, "b": ["x"]}, "new": 0.5},
        {"id": 3, "n": None, "day": None, "s": {"a": 5, "b": None}, "new": None},
        {"id": 4, "n": None, "day": "2026-02-03", "s": None, "new": None},
    ]
    orders.put(*values, None, schema=schema if declared else None)
    orders.commit()
    found = rows()
    lost = {"n": "many", "day": "soon", "s.a": 1 << 40, "s.b": ["x"], "new": 0.5}
    assert rescued(found) == {0: None, 2: lost, 3: None, 4: None}
    without = {row["id"]: {name: row[name] for name in ("n", "day", "s")} for row in found}
    assert without[2] == {"n": None, "day": None, "s": {"a": None}}
    assert without[3] == {"n": None, "day": None, "s": {"a": 5}}
    assert without[4] == {"n": None, "day": dt.date(2026, 2, 3), "s": None}
    assert set(found[0]) == {"id", "n", "day", "s", "_rescued"}


def test_a_new_table_takes_its_columns_from_what_comes_first(run: Run, rows: Rows) -> None:
    orders = run(rescued__data__column="_rescued")
    orders.put({"id": 1, "n": 1}, {"id": 2, "n": "x", "new": True}, {"id": 3, "n": 2})
    orders.commit()
    assert [(row["id"], row["n"], row["new"]) for row in rows()] == [(1, 1, None), (2, None, True), (3, 2, None)]
    assert rescued(rows()) == {1: None, 2: {"n": "x"}, 3: None}


def test_a_new_table_has_the_column_at_once_and_fields_are_added_still(run: Run, rows: Rows) -> None:
    orders = run(rescued__data__column="_rescued")
    orders.put({"id": 1})
    orders.commit()
    assert rows() == [{"id": 1, "_rescued": None}]
    orders.put({"id": 2, "new": 3})
    orders.commit()
    assert [(row["new"], row["_rescued"]) for row in rows()] == [(None, None), (3, None)]


def test_an_empty_list_or_object_in_a_column_of_another_type_is_rescued(run: Run, rows: Rows) -> None:
    """Of PHP, for example, where an empty object is an empty list."""
    orders = run(rescued__data__column="_rescued")
    put(orders, {"id": 1, "s": {"a": 1}, "n": 1, "l": [1]})
    put(orders, {"id": 2, "s": [], "n": {}, "l": {}, "new": []}, {"id": 3, "s": {}, "n": 2, "l": []})
    assert rescued(rows()) == {1: None, 2: {"s": [], "n": {}, "l": {}}, 3: None}
    assert [row["n"] for row in rows()] == [1, None, 2]


def test_a_text_that_no_table_can_hold_is_rescued(run: Run, rows: Rows) -> None:
    """Half of an emoji, which JSON allows."""
    orders = run(rescued__data__column="_rescued")
    put(orders, {"id": 1, "t": "x"}, {"id": 2, "t": "half \ud83d"})
    assert rescued(rows()) == {1: None, 2: {"t": "half ?"}}


def test_widening_that_is_allowed_is_no_rescue(run: Run, rows: Rows, lake: Path) -> None:
    table_of(lake, id=[0], n=pa.array([1], pa.int32()), day=[dt.date(2026, 1, 1)])
    orders = run(schema__evolution="add,nullable", rescued__data__column="_rescued")
    orders.put({"id": 1, "n": 5, "day": "x", "more": 1.5}, {"id": 2, "n": 1 << 40, "more": 2.5})
    orders.commit()
    assert rescued(rows()) == {0: None, 1: {"day": "x"}, 2: {"n": 1 << 40}}
    assert [row["more"] for row in rows()] == [None, 1.5, 2.5]


def test_a_hint_is_of_a_column_and_not_of_what_is_within_one(run: Run, rows: Rows, lake: Path) -> None:
    table_of(lake, id=[0], s=pa.array([{"a": 1}], pa.struct([("a", pa.int32())])))
    orders = run(schema__hints="day date", rescued__data__column="_rescued")
    orders.put({"id": 1, "s": {"a": "x", "day": "soon"}})
    orders.commit()
    assert rescued(rows()) == {0: None, 1: {"s.a": "x"}}
    assert rows()[1]["s"] == {"a": None, "day": "soon"}


def test_of_a_list_or_map_the_whole_is_kept(run: Run, rows: Rows, lake: Path) -> None:
    table_of(
        lake,
        id=[0],
        l=pa.array([[1]], pa.list_(pa.int32())),
        m=pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
    )
    orders = run(**{key.replace(".", "__"): value for key, value in KEEP.items()})
    kinds = {"l": Schema.array(INT64).as_optional(), "m": Schema.map(STRING, INT64).as_optional()}
    schema = Schema.struct({"id": INT64, **kinds})
    orders.put({"id": 1, "l": [1, 1 << 40], "m": {"a": 1 << 41, "b": 2}}, {"id": 2, "l": [2], "m": {}}, schema=schema)
    orders.put({"id": 3, "l": "none"})
    orders.commit()
    assert rescued(rows()) == {
        0: None,
        1: {"l": [1, 1 << 40], "m": {"a": 1 << 41, "b": 2}},
        2: None,
        3: {"l": "none"},
    }
    assert [(row["l"], row["m"]) for row in rows()][1:] == [
        ([1, None], [("a", None), ("b", 2)]),
        ([2], []),
        (None, None),
    ]


def test_a_required_column_takes_no_null_in_place_of_a_value(run: Run, lake: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    write_deltalake(lake / "orders", pa.table({"id": [0]}, schema=schema))
    orders = run(**{key.replace(".", "__"): value for key, value in KEEP.items()})
    with pytest.raises(SchemaError, match='"id"'):
        put(orders, {"id": "two"})


def test_what_was_rescued_goes_with_the_next_version_of_a_row(run: Run, rows: Rows, lake: Path) -> None:
    table_of(lake, id=[1], n=pa.array([1], pa.int32()))
    orders = run(mode="upsert", **{key.replace(".", "__"): value for key, value in KEEP.items()})
    orders.put({"n": "x"}, key={"id": 1}, schema=Schema.struct({"n": STRING}))
    orders.commit()
    assert rows() == [{"id": 1, "n": None, "_rescued": '{"n":"x"}'}]
    orders.put({"n": 3}, key={"id": 1}, schema=Schema.struct({"n": INT32}))
    orders.commit()
    assert rows() == [{"id": 1, "n": 3, "_rescued": None}]


@pytest.mark.parametrize("schema", [None, Schema.struct({"id": INT64, "_rescued": STRING})])
def test_a_field_of_the_same_name_is_refused(run: Run, schema: Schema | None) -> None:
    orders = run(rescued__data__column="_rescued")
    with pytest.raises(SchemaError, match="Name another rescued.data.column"):
        put(orders, {"id": 1, "_rescued": "x"}, schema=schema)


def test_values_are_written_as_spark_writes_json(run: Run, rows: Rows, lake: Path) -> None:
    table_of(lake, id=[0])
    orders = run(**{key.replace(".", "__"): value for key, value in KEEP.items()})
    at = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, dt.UTC)
    more = {
        "raw": (BYTES, b"\x00\xff"),
        "f": (FLOAT32, float("inf")),
        "d": (logical.decimal(2), Decimal("-12.30")),
        "day": (logical.DATE, at.date()),
        "time": (logical.TIME, at.time()),
        "at": (logical.TIMESTAMP, at),
        "in": (Schema.struct({"x": OPTIONAL_STRING, "y": STRING}), {"x": None, "y": 'ä"'}),
        "map": (Schema.map(STRING, INT64), {"k": 1}),
    }
    schema = Schema.struct({"id": INT64, **{name: kind for name, (kind, _) in more.items()}})
    orders.put({"id": 1, **{name: value for name, (_, value) in more.items()}}, schema=schema)
    orders.commit()
    assert rows()[1]["_rescued"] == (
        '{"raw":"AP8=","f":"Infinity","d":-12.30,"day":"2026-01-02","time":11045678,'
        '"at":"2026-01-02T03:04:05.678Z","in":{"y":"ä\\""},"map":{"k":1}}'
    )


def test_a_map_whose_keys_are_no_texts_is_rescued_whole(run: Run, rows: Rows, lake: Path) -> None:
    kind = pa.map_(pa.string(), pa.int32())
    table_of(lake, id=[0], m=pa.array([[("k", 1)]], kind), s=pa.array([{"m": [("k", 1)]}], pa.struct([("m", kind)])))
    orders = run(**{key.replace(".", "__"): value for key, value in KEEP.items()})
    numbered = Schema.map(INT32, INT32).as_optional()
    schema = Schema.struct({"id": INT64, "m": numbered, "s": Schema.struct({"m": numbered}).as_optional()})
    put(orders, {"id": 1, "m": {7: 1}, "s": {"m": {8: 2}}}, schema=schema)
    put(orders, {"id": 2, "m": {7: 1}, "s": {"m": {8: 2}}})
    lost = {"m": {"7": 1}, "s.m": {"8": 2}}
    assert rescued(rows()) == {0: None, 1: lost, 2: lost}
    assert [(row["m"], row["s"]) for row in rows()][1:] == [(None, {"m": None})] * 2
