"""Tables that change with their records, as far as schema.evolution says; what does not fit is told by row."""

import decimal
import logging
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import SchemaError

ID = {"id": pa.int64()}


def one(**value: Any) -> list[dict[str, Any]]:
    return [{"value": value}]


def test_fields_are_added_at_any_depth(tables: Any) -> None:
    writer = tables.writer()
    inner = pa.struct([("q", pa.int32())])
    writer(tables.batch({"s": pa.struct([("a", pa.int64())]), "l": pa.list_(inner)}, one(s={"a": 1}, l=[{"q": 1}])), 0)
    wider = pa.struct([("q", pa.int32()), ("r", pa.struct([("x", pa.date32())]))])
    batch = {
        "new": pa.map_(pa.string(), wider),
        "s": pa.struct([("b", pa.string()), ("a", pa.int64())]),
        "l": pa.list_(wider),
    }
    value = {"new": [("k", {"q": 3, "r": None})], "s": {"a": 2, "b": "x"}, "l": [{"q": 2, "r": {"x": None}}, None]}
    writer(tables.batch(batch, [{"value": value}]), 1)
    assert tables.read() == [
        {"s": {"a": 1, "b": None}, "l": [{"q": 1, "r": None}], "new": None},
        {"s": {"a": 2, "b": "x"}, "l": [{"q": 2, "r": {"x": None}}, None], "new": [("k", {"q": 3, "r": None})]},
    ]
    # Records of the old kind go on.
    writer(tables.batch({"s": pa.struct([("a", pa.int64())]), "l": pa.list_(inner)}, one(s=None, l=[{"q": 5}])), 2)
    assert {"s": None, "l": [{"q": 5, "r": None}], "new": None} in tables.read()


@pytest.mark.slow
def test_all_changes_of_a_batch_are_made_at_once(tables: Any) -> None:
    writer = tables.writer()
    writer(tables.batch(ID, one(id=1)), 0)
    writer(tables.batch({**ID, "a": pa.int32(), "b": pa.string()}, one(id=2, a=1, b="x")), 1)
    assert tables.operations() == ["CREATE TABLE", "WRITE", "ADD COLUMNS", "WRITE"]


@pytest.mark.slow
def test_types_are_widened_where_that_is_allowed(tables: Any) -> None:
    narrow = {
        "i": pa.int32(),
        "f": pa.float32(),
        "d": pa.decimal128(10, 2),
        "l": pa.list_(pa.struct([("x", pa.int16())])),
    }
    wide = {
        "i": pa.int64(),
        "f": pa.float64(),
        "d": pa.decimal128(12, 4),
        "l": pa.list_(pa.struct([("x", pa.int32())])),
    }
    big = {"i": 2**40, "f": 0.1, "d": decimal.Decimal("12345678.1234"), "l": [{"x": 2**20}]}
    small = {"i": 1, "f": 0.5, "d": decimal.Decimal("1.25"), "l": [{"x": 1}]}
    writer = tables.writer(schema__evolution="add,widen")
    writer(tables.batch(narrow, [{"value": small}]), 0)
    writer(tables.batch(wide, [{"value": big}]), 1)
    writer(tables.batch(narrow, [{"value": small}]), 2)
    assert sorted(tables.read_by_spark(), key=lambda row: row["i"]) == [small, small, big]


@pytest.mark.slow
def test_without_leave_to_widen_values_are_looked_at(tables: Any) -> None:
    writer = tables.writer()
    writer(tables.batch({"i": pa.int32(), "d": pa.decimal128(4, 1)}, one(i=1, d=decimal.Decimal("1.0"))), 0)
    wide = {"i": pa.int64(), "d": pa.decimal128(10, 3)}
    writer(tables.batch(wide, one(i=2**31 - 1, d=decimal.Decimal("999.900"))), 1)
    with pytest.raises(SchemaError, match='offset 0: .*"i" is of type int, and the value of type bigint is too large'):
        writer(tables.batch(wide, one(i=2**31, d=None)), 2)
    with pytest.raises(SchemaError, match='"d" is of type decimal\\(4,1\\)'):
        writer(tables.batch(wide, one(i=1, d=decimal.Decimal("0.050"))), 2)
    assert [row["i"] for row in tables.read()] == [1, 2**31 - 1]


@pytest.mark.slow
def test_a_field_that_may_not_be_added_is_an_error_where_it_is_not_null(tables: Any) -> None:
    writer = tables.writer(schema__evolution="none")
    writer(tables.batch({"s": pa.struct([("a", pa.int64())])}, one(s={"a": 1})), 0)
    more = {"s": pa.struct([("a", pa.int64()), ("b", pa.string())])}
    writer(tables.batch(more, [*one(s={"a": 2, "b": None}), *one(s=None)]), 1)
    with pytest.raises(SchemaError, match='partition 0, offset 1: .*no column "s.b".*Allow more with schema.evolution'):
        writer(tables.batch(more, [*one(s={"a": 3, "b": None}), *one(s={"a": 4, "b": "x"})]), 2)
    assert [row["s"] for row in tables.read()] == [None, {"a": 1}, {"a": 2}]


@pytest.mark.slow
def test_fields_that_are_ignored_are_named_in_the_log_once(tables: Any, caplog: pytest.LogCaptureFixture) -> None:
    writer = tables.writer(schema__evolution="none", schema__evolution__unknown__fields="ignore")
    writer(tables.batch(ID, one(id=1)), 0)
    with caplog.at_level(logging.WARNING, "spark_sink.tables"):
        for number in (1, 2):
            writer(tables.batch({**ID, "more": pa.string()}, one(id=2, more="x")), number)
    assert [r.getMessage() for r in caplog.records if "Not written" in r.getMessage()] == [
        f"Not written to {tables.path()}: more (the table has no such column)."
    ]
    assert tables.read() == [{"id": 1}, {"id": 2}, {"id": 2}]


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [True, False])
def test_not_null_is_taken_away_where_that_is_allowed(tables: Any, allowed: bool) -> None:
    tables.spark.sql(
        f"CREATE TABLE delta.`{tables.path()}` (id bigint NOT NULL, s struct<a: int NOT NULL>) USING delta"
    )
    writer = tables.writer(schema__evolution="nullable" if allowed else "none")
    kinds = {**ID, "s": pa.struct([("a", pa.int32())])}
    writer(tables.batch(kinds, one(id=1, s={"a": 1})), 0)
    batch = tables.batch(kinds, [*one(id=2, s={"a": 1}), *one(id=None, s={"a": None})])
    if allowed:
        writer(batch, 1)
        assert {"id": None, "s": {"a": None}} in tables.read()
    else:
        with pytest.raises(SchemaError, match='offset 1: .*"id" is null, and the table requires it'):
            writer(batch, 1)


@pytest.mark.slow
def test_case_is_no_difference_and_the_tables_is_kept(tables: Any) -> None:
    writer = tables.writer()
    writer(tables.batch({"Id": pa.int64(), "S": pa.struct([("A", pa.int64())])}, one(Id=1, S={"A": 1})), 0)
    writer(tables.batch({"s": pa.struct([("a", pa.int64())]), "ID": pa.int64()}, one(ID=2, s={"a": 2})), 1)
    assert tables.read() == [{"Id": 1, "S": {"A": 1}}, {"Id": 2, "S": {"A": 2}}]


def test_fields_that_differ_in_case_only_are_refused(tables: Any) -> None:
    with pytest.raises(SchemaError, match='"a" and "A" differ in upper and lower case'):
        tables.writer()(tables.batch({"a": pa.int64(), "A": pa.int64()}, one(a=1, A=2)), 0)


@pytest.mark.slow
def test_another_writer_may_add_the_same_column_first(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_sink.tables.table import Table

    writer = tables.writer()
    writer(tables.batch(ID, one(id=1)), 0)
    alter = Table.alter

    def overtaken(self: Any, changes: Any) -> None:
        monkeypatch.setattr(Table, "alter", alter)
        tables.spark.sql(f"ALTER TABLE delta.`{tables.path()}` ADD COLUMNS (more string)")
        alter(self, changes)

    monkeypatch.setattr(Table, "alter", overtaken)
    writer(tables.batch({**ID, "more": pa.string()}, one(id=2, more="x")), 1)
    assert tables.read() == [{"id": 1, "more": None}, {"id": 2, "more": "x"}]
