"""What each type of column becomes, in Connect's types and values."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from connect import ConnectError, DataError, Type, logical

CASES: dict[str, list[tuple[str, str, str, Any]]] = {
    "postgresql": [
        ("boolean", "true", "BOOLEAN", True),
        ("smallint", "-1", "INT16", -1),
        ("int", "2147483647", "INT32", 2147483647),
        ("bigint", "-9223372036854775808", "INT64", -9223372036854775808),
        ("real", "1.5", "FLOAT32", 1.5),
        ("double precision", "'NaN'", "FLOAT64", None),
        ("numeric(10,2)", "9.9", "Decimal:2", Decimal("9.90")),
        (
            "numeric(45,3)",
            "123456789012345678901234567890123456789012.345",
            "Decimal:3",
            Decimal("123456789012345678901234567890123456789012.345"),
        ),
        ("numeric", "1.25", "Decimal:30", Decimal("1.25")),
        ("text", "E'a\"b,\\n\\\\.\\u00e9'", "STRING", 'a"b,\n\\.é'),
        ("text", "''", "STRING", ""),
        ("char(3)", "'a'", "STRING", "a  "),
        ("bytea", "'\\x00ff'", "BYTES", b"\x00\xff"),
        ("date", "'1582-10-04'", "Date", dt.date(1582, 10, 4)),
        ("time", "'12:34:56.789999'", "Time", dt.time(12, 34, 56, 789000)),
        ("timetz", "'12:00:00+02'", "Time", dt.time(10)),
        ("timestamp", "'1969-12-31 23:59:59.9999'", "Timestamp", dt.datetime(1969, 12, 31, 23, 59, 59, 999000, dt.UTC)),
        ("timestamptz", "'2024-05-01 12:00+02'", "Timestamp", dt.datetime(2024, 5, 1, 10, tzinfo=dt.UTC)),
        ("uuid", "'11111111-2222-3333-4444-555555555555'", "STRING", "11111111-2222-3333-4444-555555555555"),
        ("jsonb", """'{"a": [1]}'""", "STRING", '{"a": [1]}'),
        ("int[]", "'{1,2}'", "STRING", "{1,2}"),
        ("interval", "'1 day 2 hours'", "STRING", "1 day 02:00:00"),
        ("inet", "'10.0.0.1'", "STRING", "10.0.0.1"),
    ],
    "mariadb": [
        ("boolean", "true", "INT8", 1),
        ("tinyint unsigned", "200", "INT16", 200),
        ("smallint unsigned", "65535", "INT32", 65535),
        ("mediumint", "-5", "INT32", -5),
        ("int unsigned", "4294967295", "INT64", 4294967295),
        ("bigint", "5", "INT64", 5),
        ("float", "1.5", "FLOAT32", 1.5),
        ("double", "2.5", "FLOAT64", 2.5),
        ("decimal(10,2)", "9.9", "Decimal:2", Decimal("9.90")),
        ("varchar(9)", "'é😀'", "STRING", "é😀"),
        ("longtext", "'t'", "STRING", "t"),
        ("enum('a','b')", "'b'", "STRING", "b"),
        ("json", "'{}'", "STRING", "{}"),
        ("blob", "x'00ff'", "BYTES", b"\x00\xff"),
        ("bit(1)", "1", "INT8", 1),
        ("bit(9)", "257", "BYTES", b"\x01\x01"),
        ("date", "'2024-05-01'", "Date", dt.date(2024, 5, 1)),
        ("time(6)", "'12:34:56.789999'", "Time", dt.time(12, 34, 56, 789000)),
        ("datetime(6)", "'2024-05-01 12:00:00.1239'", "Timestamp", dt.datetime(2024, 5, 1, 12, 0, 0, 123000, dt.UTC)),
        ("timestamp(6) NULL", "'2024-05-01 12:00:00'", "Timestamp", dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)),
        ("year", "2024", "INT16", 2024),
    ],
    "sqlite": [
        ("boolean", "1", "BOOLEAN", True),
        ("integer", "9223372036854775807", "INT64", 9223372036854775807),
        ("smallint", "7", "INT16", 7),
        ("real", "1.5", "FLOAT64", 1.5),
        ("decimal(10,2)", "9.9", "Decimal:2", Decimal("9.90")),
        ("text", "'x'", "STRING", "x"),
        ("blob", "x'00ff'", "BYTES", b"\x00\xff"),
        ("date", "'2024-05-01'", "Date", dt.date(2024, 5, 1)),
        ("timestamp", "'2024-05-01T12:00:00Z'", "Timestamp", dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)),
    ],
}


@pytest.mark.parametrize("kind", [*CASES, "postgresql without Arrow"])
def test_each_type(request: pytest.FixtureRequest, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "postgresql without Arrow":
        kind = "postgresql"
        monkeypatch.setattr("connectors.jdbc.source.servers.postgresql.find_spec", lambda name: None)
    shop = request.getfixturevalue(f"{kind}_shop")
    cases = CASES[kind]
    columns = ", ".join(f"c{at} {declared}" for at, (declared, *_) in enumerate(cases))
    shop.execute(f"CREATE TABLE t ({columns})")
    shop.execute(f"INSERT INTO t VALUES ({', '.join(written for _, written, *_ in cases)})")
    shop.execute(f"INSERT INTO t VALUES ({', '.join(['NULL'] * len(cases))})")
    with shop.run(mode="bulk", poll_interval_ms="3600000") as run:
        full, empty = sorted(run.poll_until(2), key=lambda record: record.value["c1"] is None)
    assert full.value_schema is not None
    for at, (declared, _, expected, value) in enumerate(cases):
        field = full.value_schema.field(f"c{at}")
        assert field is not None
        assert _named(field.schema) == expected, declared
        assert field.schema.optional, declared
        assert empty.value[f"c{at}"] is None, declared
        found = full.value[f"c{at}"]
        assert found == value or (value is None and found != found), f"{declared}: {found!r}"


def _named(schema: Any) -> str:
    if schema.name == logical.DECIMAL_NAME:
        return f"Decimal:{schema.parameters['scale']}"
    return schema.name.rpartition(".")[2] if schema.name else schema.type.name


def test_columns_that_are_never_null_are_required(shop: Any) -> None:
    shop.execute("CREATE TABLE t (a varchar(5) NOT NULL, b varchar(5))")
    shop.execute("INSERT INTO t VALUES ('x', 'y')")
    with shop.run(mode="bulk") as run:
        schema = run.poll_until(1)[0].value_schema
    assert schema is not None
    assert [field.schema.optional for field in schema.fields] == [False, True]


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({}, "Decimal:0 Decimal:0 Decimal:0 Decimal:0 Decimal:0 Decimal:2 Decimal:2"),
        ({"numeric_precision_mapping": "true"}, "INT8 INT16 INT32 INT64 Decimal:0 Decimal:2 Decimal:2"),
        ({"numeric_mapping": "precision_only"}, "INT8 INT16 INT32 INT64 Decimal:0 Decimal:2 Decimal:2"),
        ({"numeric_mapping": "best_fit"}, "INT8 INT16 INT32 INT64 Decimal:0 FLOAT64 Decimal:2"),
        ({"numeric_mapping": "best_fit_eager_double"}, "INT8 INT16 INT32 INT64 Decimal:0 FLOAT64 FLOAT64"),
    ],
)
def test_numbers_by_their_digits(shop: Any, mapping: dict[str, str], expected: str) -> None:
    types = ("(2,0)", "(4,0)", "(9,0)", "(18,0)", "(19,0)", "(10,2)", "(30,2)")
    shop.execute(f"CREATE TABLE t ({', '.join(f'c{at} decimal{digits}' for at, digits in enumerate(types))})")
    shop.execute("INSERT INTO t VALUES (1, 2, 3, 4, 5, 6.25, 7.25)")
    with shop.run(mode="bulk", **mapping) as run:
        (record,) = run.poll_until(1)[:1]
    assert record.value_schema is not None
    assert " ".join(_named(field.schema) for field in record.value_schema.fields) == expected
    assert list(map(float, record.value.values())) == [1, 2, 3, 4, 5, 6.25, 7.25]


@pytest.mark.parametrize(
    ("granularity", "kind", "value"),
    [
        ("micros_long", Type.INT64, 1714564800123456),
        ("nanos_long", Type.INT64, 1714564800123456000),
        ("micros_string", Type.STRING, "1714564800123456"),
        ("nanos_string", Type.STRING, "1714564800123456000"),
        ("micros_iso_datetime_string", Type.STRING, "2024-05-01T14:00:00.123456"),
        ("nanos_iso_datetime_string", Type.STRING, "2024-05-01T14:00:00.123456000"),
    ],
)
def test_timestamps_in_full(shop: Any, granularity: str, kind: Type, value: Any) -> None:
    shop.execute(f"CREATE TABLE t (at {shop.stamp})")
    shop.execute("INSERT INTO t VALUES ('2024-05-01 14:00:00.123456')")
    with shop.run(mode="bulk", timestamp_granularity=granularity, db_timezone="Europe/Berlin") as run:
        (record,) = run.poll_until(1)[:1]
    assert record.value == {"at": value}
    assert record.value_schema is not None
    assert record.value_schema.fields[0].schema.type is kind


def test_what_has_no_place_is_told_with_its_column(postgresql_shop: Any) -> None:
    for declared, written in [("timestamp", "'infinity'"), ("date", "'0044-03-15 BC'"), ("numeric", "'NaN'")]:
        postgresql_shop.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t (id int, odd {declared})")
        postgresql_shop.execute(f"INSERT INTO t VALUES (1, {written})")
        with pytest.raises(DataError, match=rf'"odd" \({declared}'), postgresql_shop.run(mode="bulk") as run:
            run.poll()
    twice = {"query": "SELECT 1 AS id, 2 AS id", "topic_prefix": "q"}
    with (
        pytest.raises(ConnectError, match='Two columns are called "id"'),
        postgresql_shop.run(mode="bulk", **twice) as run,
    ):
        run.poll()


def test_an_unsigned_number_that_is_too_large_is_told(mariadb_shop: Any) -> None:
    mariadb_shop.execute("CREATE TABLE t (n bigint unsigned)")
    mariadb_shop.execute(f"INSERT INTO t VALUES ({2**63 - 1})")
    with mariadb_shop.run(mode="bulk") as run:
        assert run.poll_until(1)[0].value == {"n": 2**63 - 1}
    mariadb_shop.execute(f"INSERT INTO t VALUES ({2**63})")
    with (
        pytest.raises(DataError, match=f'"n" .* has no place in a record: {2**63} '),
        mariadb_shop.run(mode="bulk") as run,
    ):
        run.poll()


@pytest.mark.parametrize("count", [10, 100_000])
def test_an_error_in_the_middle_of_a_table_is_told(postgresql_shop: Any, count: int) -> None:
    query = f"SELECT n, 1 / (n - {count}) AS d FROM generate_series(1, {count + 10}) n"
    with (
        pytest.raises(ConnectError, match="The query cannot be read from PostgreSQL .*: division by zero"),
        postgresql_shop.run(mode="bulk", query=query, topic_prefix="q") as run,
    ):
        run.poll_all()


@pytest.mark.parametrize("rows", [1, 9, 10, 11, 19, 20, 21])
def test_the_end_of_a_table_is_known_with_its_last_row(shop: Any, rows: int) -> None:
    shop.execute("CREATE TABLE t (id integer PRIMARY KEY)")
    shop.execute(f"INSERT INTO t VALUES {', '.join(f'({n})' for n in range(1, rows + 1))}")
    with shop.run(mode="snapshot", batch_max_rows="10") as run:
        run.poll_until(rows)
        assert run.offsets == [(shop.partition("t"), {"snapshot": "completed", "incrementing": rows})]
        assert [record.value["id"] for record in run.records] == list(range(1, rows + 1))


def test_columns_become_json_and_avro_as_single_values_would(postgresql_shop: Any) -> None:
    """A batch of columns is written as the same records are one by one."""
    postgresql_shop.execute("CREATE TABLE t (id int PRIMARY KEY, name text, price numeric(10,2), at timestamptz)")
    postgresql_shop.execute(
        "INSERT INTO t SELECT n, CASE WHEN n % 3 = 0 THEN NULL ELSE 'n' || n END, n / 4.0, '2024-05-01'::timestamptz +"
        " n * interval '1 s' FROM generate_series(1, 300) n"
    )
    converter = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
    converter |= {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    converter |= {"value.converter.decimal.format": "NUMERIC"}
    with postgresql_shop.run(mode="snapshot", **converter) as run:
        run.poll_until(300)
        for number, message in enumerate(run.messages, 1):
            assert json.loads(message.value or b"") == {
                "id": number,
                "name": None if number % 3 == 0 else f"n{number}",
                "price": number / 4,
                "at": 1714521600000 + number * 1000,
            }
