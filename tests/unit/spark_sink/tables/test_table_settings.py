"""What a writer of tables is told by a configuration."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from connect.errors import ConfigError, SchemaError
from spark_sink.sink.checks import problems
from spark_sink.table_rules import table_for
from spark_sink.table_settings import TableOptions
from spark_sink.tables.rows import Rows
from spark_sink.tables.settings import TableSettings
from spark_sink.tables.writer import TableWriter


def of(**keys: str) -> TableSettings:
    written = {key.replace("__", "."): value for key, value in keys.items()}
    return TableSettings.of({"name": "c", "table": "/lake/orders", **written})


def fields(**kinds: Any) -> list[dict[str, Any]]:
    return [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]


def struct(**kinds: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": fields(**kinds)}


def test_what_contradicts_itself_is_an_error() -> None:
    with pytest.raises(ConfigError, match="needs partition.by"):
        of(mode="overwrite")


def test_a_path_is_made_absolute_for_sql() -> None:
    assert of(table="lake/orders").table == str(Path.cwd() / "lake" / "orders")
    assert of(table="s3a://lake/orders").table == "s3a://lake/orders"
    assert of(table="shop.orders", checkpoint__location="/c").table == "shop.orders"


def test_properties_come_from_several_keys() -> None:
    found = of(table__property__delta__appendOnly="true", column__mapping="name", vacuum__interval__ms="1")
    assert dict(found.properties) == {
        "delta.appendOnly": "true",
        "delta.columnMapping.mode": "name",
        "delta.deletedFileRetentionDuration": "interval 168 hours",
    }


def test_tombstones_delete_only_where_they_name_a_row() -> None:
    assert of(mode="upsert").deletes
    assert not of(mode="upsert", delete__enabled="false").deletes
    assert not of(mode="upsert", pk__mode="record_value", pk__fields="id").deletes
    assert not of(mode="upsert", table="/lake/${field}", table__field="country").deletes
    assert not of().deletes


@pytest.mark.parametrize(
    ("keys", "wants"),
    [
        ({}, (False, False, False)),
        ({"mode": "upsert"}, (True, True, False)),
        ({"mode": "upsert", "pk__mode": "record_value", "pk__fields": "id"}, (False, True, False)),
        ({"metadata__columns": "key"}, (True, True, False)),
        ({"metadata__columns": "offset"}, (False, True, False)),
        ({"table": "/lake/${topic}"}, (False, True, False)),
        ({"errors__deadletter__table": "/lake/dead", "errors__tolerance": "all"}, (False, True, True)),
    ],
)
def test_a_reader_is_asked_for_what_is_needed_only(keys: dict[str, str], wants: tuple[bool, bool, bool]) -> None:
    found = of(**keys)
    assert (found.wants_keys, found.wants_metadata, found.wants_failures) == wants


def test_variables_are_filled_in() -> None:
    assert (
        table_for(of(table="/lake/${topic}/${field}", table__field="c").table, "shop.orders", "DE")
        == "/lake/shop.orders/DE"
    )
    named = of(table="shop.${topic}", checkpoint__location="/c")
    assert table_for(named.table, "a.b-c", None) == "shop.a_b_c"


def test_a_writer_travels() -> None:
    writer = TableWriter(of(), "c", "connect/c/1/q")
    assert pickle.loads(pickle.dumps(writer)) == writer


def test_the_key_may_be_a_part_of_the_records_key() -> None:
    columns = fields(_key=struct(a="long", b="string"), _value=struct(b="string", c="date"))
    assert [key.name for key in Rows.of(columns, of(mode="upsert")).key_columns()] == ["a", "b"]
    rows = Rows.of(columns, of(mode="upsert", pk__fields="B"))
    assert [key.sql for key in rows.key_columns()] == ["_key.`b`"]
    assert [column.sql for column in rows.incoming()] == ["_key.`b`", "_value.`c`"]
    with pytest.raises(ConfigError, match="pk.fields.*which has: a, b"):
        Rows.of(columns, of(mode="upsert", pk__fields="id")).key_columns()


def test_without_keys_there_is_no_upsert_by_them() -> None:
    with pytest.raises(ConfigError, match="record_value"):
        Rows.of(fields(_value=struct(c="date")), of(mode="upsert")).key_columns()


def test_values_must_be_structs() -> None:
    with pytest.raises(SchemaError, match="HoistField"):
        Rows.of(fields(_value="string"), of())


def test_a_key_that_is_no_struct_is_itself_among_the_metadata() -> None:
    wrapped = fields(_key=struct(key="string"), _value=struct(c="date"))
    rows = Rows.of(wrapped, of(metadata__columns="key,offset:at"))
    assert [(column.name, column.type, column.sql) for column in rows.incoming()] == [
        ("c", "date", "_value.`c`"),
        ("_key", "string", "_key.`key`"),
        ("at", "long", "_origin.offset"),
    ]


def test_metadata_must_not_hide_a_field() -> None:
    with pytest.raises(ConfigError, match="offset:another_name"):
        Rows.of(fields(_value=struct(_Offset="long")), of(metadata__columns="offset")).incoming()


def test_a_field_for_the_table_must_be_there() -> None:
    rows = Rows.of(fields(_value=struct(a=struct(b="string"))), of(table="/lake/${field}", table__field="a.c"))
    with pytest.raises(ConfigError, match=r'"a.c" is not a field.*: b'):
        rows.parts()


@pytest.mark.parametrize(
    ("written", "hints"),
    [
        ("", ()),
        ("amount decimal(18,2), day date", (("amount", "decimal(18,2)"), ("day", "date"))),
        (
            "`a b` struct<x: int, y: array<map<string, decimal(3,1)>>>,`c``d` BIGINT ,",
            (("a b", "struct<x: int, y: array<map<string, decimal(3,1)>>>"), ("c`d", "BIGINT")),
        ),
    ],
)
def test_hints_are_columns_and_types(written: str, hints: tuple[tuple[str, str], ...]) -> None:
    assert of(schema__hints=written).hints == hints


@pytest.mark.parametrize(
    ("written", "why"),
    [("amount", "is not a column and its type"), ("a int; DROP TABLE x", "is not"), ("a int, A date", "column twice")],
)
def test_hints_that_are_none_are_refused(written: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        of(schema__hints=written)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"schema.hints": "a timestamp_ntz"}, "schema.hints"),
        ({"generated.column.day": "CAST(at AS DATE)"}, "generated.column.day"),
    ],
)
def test_what_only_spark_does_is_refused_without(keys: dict[str, str], key: str) -> None:
    options = TableOptions.parse({"name": "c", "topics": "t", "table": "/lake/t", **keys})
    assert [problem for problem, _ in problems(options, "spark")] == []
    assert [problem for problem, _ in problems(options, "worker")] == [key]
