"""Types that a user says, columns that Delta computes, and a column for what does not fit: on a real Spark."""

import datetime
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import ConfigError, SchemaError

pytestmark = pytest.mark.slow

ID = {"id": pa.int64()}


def one(**value: Any) -> list[dict[str, Any]]:
    return [{"value": value}]


def rescued(row: dict[str, Any], column: str = "_rescued") -> Any:
    return None if row[column] is None else json.loads(row[column])


def test_a_new_table_has_the_types_of_hints(tables: Any) -> None:
    writer = tables.writer(schema__hints="Amount decimal(10,2), day date, tags map<string, int>")
    value = {**ID, "amount": pa.string(), "day": pa.string()}
    writer(tables.batch(value, one(id=1, amount="12.5", day="2026-01-02")), 0)
    assert tables.read() == [{"id": 1, "amount": decimal.Decimal("12.50"), "day": datetime.date(2026, 1, 2)}]


def test_a_value_that_is_no_such_type_does_not_fit(tables: Any) -> None:
    writer = tables.writer(schema__hints="day date")
    value = {**ID, "day": pa.string()}
    with pytest.raises(SchemaError, match='Topic t, partition 0, offset 1.*column "day" cannot be cast to date'):
        writer(tables.batch(value, one(id=1, day="2026-01-02") + one(id=2, day="soon")), 0)


def test_a_type_that_spark_does_not_know_is_named(tables: Any) -> None:
    with pytest.raises(ConfigError, match='schema.hints.*"dates", of the column "day"'):
        tables.writer(schema__hints="day dates")(tables.batch(ID, one(id=1)), 0)


def test_a_key_is_merged_by_its_hinted_type(tables: Any) -> None:
    writer = tables.writer(schema__hints="id bigint", mode="upsert")
    key = {"id": pa.string()}
    value = {"id": pa.string(), "n": pa.int64()}
    for batch, n in enumerate((1, 2)):
        written = "7" if n == 1 else "07"
        writer(tables.batch(value, [{"key": {"id": written}, "value": {"id": written, "n": n}}], key), batch)
    assert tables.read() == [{"id": 7, "n": 2}]


def test_what_does_not_fit_is_rescued(tables: Any) -> None:
    writer = tables.writer(rescued__data__column="_rescued", schema__evolution="none", schema__hints="day date")
    value = {**ID, "n": pa.int32(), "day": pa.string(), "s": pa.struct([("a", pa.int32())])}
    writer(tables.batch(value, one(id=1, n=1, day="2026-01-01", s={"a": 1})), 0)
    other = {
        **ID,
        "n": pa.string(),
        "day": pa.string(),
        "s": pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]),
        "new": pa.float64(),
    }
    rows = [
        {"id": 2, "n": "many", "day": "soon", "s": {"a": 1 << 40, "b": ["x"]}, "new": 0.5},
        {"id": 3, "n": None, "day": None, "s": {"a": 5, "b": None}, "new": None},
    ]
    writer(tables.batch(other, [{"value": row} for row in rows]), 1)
    found = {row["id"]: row for row in tables.read()}
    assert [rescued(found[id_]) for id_ in (1, 3)] == [None, None]
    assert rescued(found[2]) == {"n": "many", "day": "soon", "s.a": 1 << 40, "s.b": ["x"], "new": 0.5}
    assert found[2] | {"_rescued": 0} == {"id": 2, "n": None, "day": None, "s": {"a": None}, "_rescued": 0}
    assert found[3]["s"] == {"a": 5}


def test_fields_that_may_be_added_are_not_rescued(tables: Any) -> None:
    writer = tables.writer(rescued__data__column="_rescued")
    writer(tables.batch(ID, one(id=1)), 0)
    writer(tables.batch({**ID, "new": pa.int64()}, one(id=2, new=3)), 1)
    assert [(row["new"], row["_rescued"]) for row in tables.read()] == [(None, None), (3, None)]


def test_a_table_that_exists_gets_the_column(tables: Any) -> None:
    tables.writer()(tables.batch(ID, one(id=1)), 0)
    writer = tables.writer("connect/c/000002-bb/q", rescued__data__column="lost", schema__evolution="none")
    writer(tables.batch({"id": pa.string()}, one(id="two")), 0)
    assert {(row["id"], row["lost"]) for row in tables.read()} == {(1, None), (None, '{"id":"two"}')}


def test_a_list_is_rescued_as_a_whole(tables: Any) -> None:
    writer = tables.writer(rescued__data__column="_rescued", schema__evolution="none")
    writer(tables.batch({"l": pa.list_(pa.int32())}, one(l=[1])), 0)
    writer(tables.batch({"l": pa.list_(pa.int64())}, [*one(l=[1, 1 << 40]), *one(l=[2])]), 1)
    assert {(tuple(row["l"]), row["_rescued"]) for row in tables.read()} == {
        ((1,), None),
        ((2,), None),
        ((1, None), '{"l":[1,1099511627776]}'),
    }


def test_a_map_is_rescued_as_a_whole(tables: Any) -> None:
    writer = tables.writer(rescued__data__column="_rescued", schema__evolution="none")
    writer(tables.batch({"m": pa.map_(pa.string(), pa.int32())}, one(m=[("a", 1)])), 0)
    writer(tables.batch({"m": pa.map_(pa.string(), pa.int64())}, [*one(m=[("b", 1), ("c", 1 << 40)])]), 1)
    writer(tables.batch({"m": pa.map_(pa.int32(), pa.int32())}, [*one(m=[(7, 1)]), *one(m=None)]), 2)
    expected = [
        ({"a": 1}, None),
        ({"b": 1, "c": None}, {"m": {"b": 1, "c": 1 << 40}}),
        (None, {"m": {"7": 1}}),
        (None, None),
    ]
    found = [(row["m"] and dict(row["m"]), rescued(row)) for row in tables.read()]
    assert len(found) == len(expected)
    assert all(each in found for each in expected)


def test_a_required_column_takes_no_null_in_place_of_a_value(tables: Any) -> None:
    tables.spark.sql(f"CREATE TABLE delta.`{tables.path()}` (id BIGINT NOT NULL) USING delta")
    writer = tables.writer(rescued__data__column="_rescued", schema__evolution="none")
    with pytest.raises(SchemaError, match='column "id" is of type bigint, and the value is of type string'):
        writer(tables.batch({"id": pa.string()}, one(id="two")), 0)


def test_what_was_rescued_goes_with_the_next_version_of_a_row(tables: Any) -> None:
    writer = tables.writer(rescued__data__column="_rescued", schema__evolution="none", mode="upsert")
    key = {"id": pa.int64()}
    writer(tables.batch({**ID, "n": pa.int32()}, [{"key": {"id": 1}, "value": {"id": 1, "n": 1}}], key), 0)
    writer(tables.batch({**ID, "n": pa.string()}, [{"key": {"id": 1}, "value": {"id": 1, "n": "x"}}], key), 1)
    assert tables.read() == [{"id": 1, "n": None, "_rescued": '{"n":"x"}'}]
    writer(tables.batch({**ID, "n": pa.int32()}, [{"key": {"id": 1}, "value": {"id": 1, "n": 3}}], key), 2)
    assert tables.read() == [{"id": 1, "n": 3, "_rescued": None}]


def test_a_field_of_the_same_name_is_refused(tables: Any) -> None:
    with pytest.raises(SchemaError, match="Name another rescued.data.column"):
        tables.writer(rescued__data__column="ID")(tables.batch(ID, one(id=1)), 0)


NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def test_partitions_by_a_column_that_delta_computes(tables: Any) -> None:
    writer = tables.writer(generated__column__day="CAST(at AS DATE)", partition__by="day")
    value = {**ID, "at": pa.timestamp("us", "UTC")}
    writer(tables.batch(value, one(id=1, at=NOON)), 0)
    writer(tables.batch(value, one(id=2, at=NOON + datetime.timedelta(days=1))), 1)
    assert tables.detail().partitionColumns == ["day"]
    found = {row["id"]: row["day"] for row in tables.read_by_spark()}
    assert found == {1: NOON.date(), 2: NOON.date() + datetime.timedelta(days=1)}


def test_a_merge_computes_the_column_anew(tables: Any) -> None:
    writer = tables.writer(generated__column__day="CAST(at AS DATE)", mode="upsert")
    value, key = {**ID, "at": pa.timestamp("us", "UTC")}, {"id": pa.int64()}
    for batch in range(2):
        at = NOON + datetime.timedelta(days=batch)
        writer(tables.batch(value, [{"key": {"id": 1}, "value": {"id": 1, "at": at}}], key), batch)
    assert [(row["id"], row["day"]) for row in tables.read_by_spark()] == [
        (1, NOON.date() + datetime.timedelta(days=1))
    ]


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"generated__column__day": "CAST(at AS"}, "generated.column.day.*is no expression"),
        ({"generated__column__day": "nothing + 1"}, "generated.column.day.*is no expression.*nothing"),
        ({"generated__column__ID": "1"}, "generated.column.ID.*is a field of the records"),
    ],
)
def test_an_expression_that_is_wrong_is_named(tables: Any, keys: dict[str, str], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        tables.writer(**keys)(tables.batch(ID, one(id=1)), 0)
