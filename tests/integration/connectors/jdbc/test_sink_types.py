"""Every type of Connect's in a column and back, exactly; time zones; defaults."""

import datetime as dt
import json
from decimal import Context, Decimal
from typing import Any

import pytest

from connect import ConnectError, Schema, SinkRecord, Type, logical
from connect.testing import SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Maria, Postgres, Target
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresDatabase

__all__ = ["target"]

INSTANT = dt.datetime(2024, 3, 31, 1, 30, 15, 123456, tzinfo=dt.UTC)
VALUES: dict[str, tuple[Schema, list[Any]]] = {
    "i8": (Schema(Type.INT8, optional=True), [-128, 127, None]),
    "i16": (Schema(Type.INT16, optional=True), [-32768, 32767, None]),
    "i32": (Schema(Type.INT32, optional=True), [-(2**31), 2**31 - 1, None]),
    "i64": (Schema(Type.INT64, optional=True), [-(2**63), 2**63 - 1, None]),
    "f32": (Schema(Type.FLOAT32, optional=True), [0.5, -1.25, None]),
    "f64": (Schema(Type.FLOAT64, optional=True), [0.1, 1.7976931348623157e308, None]),
    "yes": (Schema(Type.BOOLEAN, optional=True), [True, False, None]),
    "text": (Schema(Type.STRING, optional=True), ["", "q\"u'o\\te,\n\t😀%s\\N", None]),
    "raw": (Schema(Type.BYTES, optional=True), [b"", bytes(range(256)), None]),
    "exact": (logical.decimal(4, optional=True), [Decimal("-0.0001"), Decimal("12345678901234567890.1234"), None]),
    "day": (logical.DATE.as_optional(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "clock": (logical.TIME.as_optional(), [dt.time(0, 0), dt.time(23, 59, 59, 999000), None]),
    "moment": (logical.TIMESTAMP.as_optional(), [INSTANT, dt.datetime(1900, 1, 1, tzinfo=dt.UTC), None]),
    "words": (Schema.array(Schema(Type.STRING), optional=True), [["a,b", '"', "\\", ""], [], None]),
    "nested": (
        Schema.struct({"x": logical.decimal(2)}, optional=True),
        [{"x": Decimal("1.10")}, {"x": Decimal("0.00")}, None],
    ),
    "map": (Schema.map(Schema(Type.STRING), Schema(Type.INT32), optional=True), [{"a": 1}, {}, None]),
}
#: Who reports what no table takes.
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}
SCHEMA = Schema.struct({"id": Schema(Type.INT32), **{name: schema for name, (schema, _) in VALUES.items()}})


def records(times: int = 1) -> list[SinkRecord]:
    return [
        SinkRecord("types", {"id": number, **{name: items[number % 3] for name, (_, items) in VALUES.items()}}, SCHEMA)
        for number in range(3 * times)
    ]


def run(target: Target, **more: str) -> SinkRun:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return SinkRun(JdbcSinkConnector, {"topics": "types", **target.config, "auto.create": "true", **keys}, timeout=60)


def plain(name: str, found: Any) -> Any:
    """What a database's driver gives, as what was written."""
    if found is None:
        return None
    if name == "yes":
        return bool(found)
    if name == "f32":
        return float(found)
    if name == "exact":
        return Decimal(str(found))
    if name in ("words", "nested", "map"):
        read = json.loads(found, parse_float=Decimal) if isinstance(found, str) else found
        return {"x": Decimal(str(read["x"]))} if name == "nested" else read
    if name == "day" and isinstance(found, str):
        return dt.date.fromisoformat(found)
    if name == "clock":
        if isinstance(found, dt.timedelta):
            return (dt.datetime(2000, 1, 1, tzinfo=dt.UTC) + found).time()
        return dt.time.fromisoformat(found) if isinstance(found, str) else found
    if name == "moment":
        read = dt.datetime.fromisoformat(found) if isinstance(found, str) else found
        return read.replace(tzinfo=dt.UTC)
    return found


@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_every_type_comes_back_exactly(target: Target, mode: str, times: int) -> None:
    """A hundred times: columns that are Arrow's, and not lists."""
    # SQLite as a database that nothing is known of keeps decimals as what it has: doubles.
    names = [name for name in VALUES if name != "exact" or target.kind != "generic"]
    with run(target, insert_mode=mode, pk_mode="record_value", pk_fields="id") as sink:
        sink.put(*records(times))
    rows = target.execute(f"SELECT {', '.join(names)} FROM types ORDER BY id")
    assert len(rows) == 3 * times
    for number, row in enumerate(rows):
        found = {name: plain(name, value) for name, value in zip(names, row, strict=True)}
        assert found == {name: VALUES[name][1][number % 3] for name in names}


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        (Schema.array(Schema(Type.STRING)), ["a", "b"], ["a", "B"]),
        (Schema.map(Schema(Type.STRING), Schema(Type.INT32)), {"a": 1}, {"a": 2}),
        (Schema.struct({"x": Schema(Type.INT32), "y": Schema(Type.STRING)}), {"x": 1, "y": "ü"}, {"x": 1, "y": "u"}),
        (Schema(Type.STRING, name="io.debezium.data.Json"), '{"a": 1}', '{"a": 2}'),
    ],
    ids=["array", "map", "struct", "json"],
)
def test_what_becomes_json_may_be_a_key(target: Target, schema: Schema, one: Any, other: Any) -> None:
    """MySQL and MariaDB have no JSON in a primary key."""
    key_schema = Schema.struct({"k": schema})
    value_schema = Schema.struct({"v": Schema(Type.INT32)}, optional=True)

    def row(key: Any, value: int | None) -> SinkRecord:
        written = None if value is None else {"v": value}
        return SinkRecord("types", written, value_schema, {"k": key}, key_schema)

    with run(
        target, insert_mode="upsert", pk_mode="record_key", delete_enabled="true", debezium_records="true"
    ) as sink:
        sink.put(row(one, 1), row(other, 2))
        sink.put(row(one, 3))
        assert sorted(target.execute("SELECT v FROM types")) == [(2,), (3,)]
        sink.put(row(one, None))
    assert target.execute("SELECT v FROM types") == [(2,)]


def test_numbers_that_are_none_are_written_where_there_are_such(target: Target) -> None:
    schema = Schema.struct({"x": Schema(Type.FLOAT64)})
    with run(target) as sink:
        if target.kind in ("mysql", "sqlite"):
            with pytest.raises(ConnectError, match="nan, a number|takes for null"):
                sink.put({"x": float("nan")}, schema=schema)
            return
        sink.put({"x": float("inf")}, {"x": float("-inf")}, schema=schema)
    assert sorted(target.execute("SELECT x FROM types")) == [(float("-inf"),), (float("inf"),)]


def test_an_instant_is_the_wall_clock_of_db_timezone(target: Target) -> None:
    schema = Schema.struct({"at": logical.TIMESTAMP, "day": logical.DATE})
    with run(target, db_timezone="America/New_York") as sink:
        sink.put({"at": INSTANT, "day": dt.date(2024, 3, 31)}, schema=schema)
    with run(target, db_timezone="America/New_York", date_timezone="UTC") as sink:
        sink.put({"at": INSTANT, "day": dt.date(2024, 3, 31)}, schema=schema)
    rows = [(plain("moment", at), plain("day", day)) for at, day in target.execute("SELECT at, day FROM types")]
    here = dt.datetime(2024, 3, 30, 21, 30, 15, 123456, tzinfo=dt.UTC)
    assert sorted(rows) == [(here, dt.date(2024, 3, 30)), (here, dt.date(2024, 3, 31))]


def test_instants_in_an_array_are_read_in_db_timezone_like_single_ones(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE types (at timestamp, several timestamp[], zoned timestamptz[], days date[])")
    several = Schema.array(logical.TIMESTAMP.as_optional())
    schema = Schema.struct(
        {"at": logical.TIMESTAMP, "several": several, "zoned": several, "days": Schema.array(logical.DATE)}
    )
    value = {"at": INSTANT, "several": [INSTANT, None], "zoned": [INSTANT], "days": [dt.date(2024, 3, 31)]}
    with run(target, db_timezone="America/New_York") as sink:
        sink.put(value, schema=schema, topic="types")
    clock = INSTANT.replace(tzinfo=None) - dt.timedelta(hours=4)
    assert target.execute("SELECT * FROM types") == [(clock, [clock, None], [INSTANT], [dt.date(2024, 3, 30)])]


def test_a_time_with_a_zone_may_have_a_default(target: Target) -> None:
    """As Debezium's has for a column whose default is the time."""
    ends = "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"
    first, second = (
        Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp", version=1, default=end) for end in ends
    )
    with run(target, auto_evolve="true", debezium_records="true") as sink:
        for fields in ({"made": first}, {"made": first, "seen": second}):
            schema = Schema.struct(fields)
            sink.put(dict.fromkeys(fields, "2024-02-29T12:00:00+02:00"), schema=schema, topic="types")
    written = "2024-02-29 10:00:00"
    assert [str(made)[:19] for (made,) in target.execute("SELECT made FROM types")] == [written, written]
    assert written in [str(seen)[:19] for (seen,) in target.execute("SELECT seen FROM types")]


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 12), ("Asia/Tokyo", 3)])
def test_debezium_s_times_without_a_zone_are_those_of_db_timezone_in_a_column_with_one(
    postgres_database: PostgresDatabase, zone: str, hour: int
) -> None:
    """Whatever the zone of the server's sessions is."""
    target = Postgres(postgres_database)
    target.execute(f"ALTER DATABASE {postgres_database.name} SET timezone = 'America/New_York'")
    target.execute("CREATE TABLE types (micros timestamptz, several timestamptz[])")
    micros = Schema(Type.INT64, name="io.debezium.time.MicroTimestamp", version=1)
    schema = Schema.struct({"micros": micros, "several": Schema.array(micros)})
    written = int(dt.datetime(2024, 3, 31, 12, tzinfo=dt.UTC).timestamp()) * 1_000_000
    infinity = 9223372036825200000
    with run(target, debezium_records="true", db_timezone=zone) as sink:
        values = ({"micros": each, "several": [written]} for each in (written, infinity))
        sink.put(*values, schema=schema, topic="types")
    at = f"2024-03-31 {hour:02d}:00:00+00"
    found = target.execute("SET timezone = 'UTC'; SELECT micros::text, several::text FROM types")
    assert found == [(at, f'{{"{at}"}}'), ("infinity", f'{{"{at}"}}')]


def test_columns_of_postgresql_of_any_bits_or_with_infinity_as_default_are_written_again(
    postgres_database: PostgresDatabase,
) -> None:
    """As the capture of PostgreSQL tells of `varbit`, `date DEFAULT 'infinity'` and so on."""
    target = Postgres(postgres_database)
    times = {"day": (Type.INT32, "Date", 2**31 - 1), "at": (Type.INT64, "MicroTimestamp", 9223372036825200000)}
    schema = Schema.struct(
        {
            "bits": Schema(Type.BYTES, name="io.debezium.data.Bits", parameters={"length": str(2**31 - 1)}),
            **{
                name: Schema(of, name=f"io.debezium.time.{kind}", version=1, optional=True, default=default)
                for name, (of, kind, default) in times.items()
            },
        }
    )
    with run(target, debezium_records="true") as sink:
        sink.put({"bits": b"\x05", "day": None, "at": None}, schema=schema, topic="types")
        sink.put({"bits": b"", "day": 1, "at": 1}, schema=schema, topic="types")
    assert target.execute("SELECT bits::text, day::text, at::text FROM types") == [
        ("101", "infinity", "infinity"),
        ("0", "1970-01-02", "1970-01-01 00:00:00.000001"),
    ]


def test_a_column_of_a_domain_takes_what_its_type_takes(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute(f"ALTER DATABASE {postgres_database.name} SET timezone = 'America/New_York'")
    target.execute(
        "CREATE DOMAIN moment AS timestamptz; CREATE DOMAIN late AS moment CHECK (VALUE > '2020-01-01');"
        "CREATE DOMAIN sizes AS int[]; CREATE TABLE types (at late, sizes sizes)"
    )
    schema = Schema.struct({"at": logical.TIMESTAMP, "sizes": Schema.array(Schema(Type.INT32))})
    with run(target) as sink:
        sink.put({"at": INSTANT, "sizes": [1, 2]}, schema=schema, topic="types")
    assert target.execute("SELECT at::timestamptz, sizes::int[] FROM types") == [(INSTANT, [1, 2])]


def test_a_column_with_a_zone_holds_every_instant_that_postgresql_has(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    schema = Schema.struct({"at": Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp", version=1)})
    told = ["2024-01-01T01:00:00.5+01:00", "infinity", "-infinity", "-0043-03-15T10:00:00Z", "+12024-02-29T12:00:00Z"]
    with run(target, debezium_records="true", **TOLERANT) as sink:
        sink.put(*({"at": at} for at in (*told, "soon")), schema=schema, topic="types")
        sink.commit()
        assert [record.value["at"] for record, _ in sink.errant] == ["soon"]
    assert target.execute("SELECT (at AT TIME ZONE 'UTC')::text FROM types") == [
        ("2024-01-01 00:00:00.5",),
        ("infinity",),
        ("-infinity",),
        ("0044-03-15 10:00:00 BC",),
        ("12024-02-29 12:00:00",),
    ]


def test_a_column_with_a_zone_holds_the_instant_itself(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE types (at timestamptz)")
    with run(target, db_timezone="Asia/Tokyo") as sink:
        sink.put({"at": INSTANT}, schema=Schema.struct({"at": logical.TIMESTAMP}))
    assert target.execute("SELECT at AT TIME ZONE 'UTC' FROM types") == [(INSTANT.replace(tzinfo=None),)]


def test_numbers_since_1970_are_instants_where_they_are_said_to_be(target: Target) -> None:
    schema = Schema.struct({"us": Schema(Type.INT64), "other": Schema(Type.INT64)})
    micros = int(INSTANT.timestamp()) * 1_000_000 + 123456
    with run(target, timestamp_fields_list="us") as sink:
        sink.put({"us": micros, "other": 5}, schema=schema)
    with run(target, timestamp_fields_list="us", timestamp_precision_mode="nanoseconds") as sink:
        sink.put({"us": micros * 1000 + 789, "other": 5}, schema=schema)
    assert [(plain("moment", at), other) for at, other in target.execute("SELECT us, other FROM types")] == [
        (INSTANT, 5)
    ] * 2


def test_decimals_with_a_scale_each_are_exact(target: Target) -> None:
    fields = {"scale": Schema(Type.INT32), "value": Schema(Type.BYTES)}
    schema = Schema.struct({"n": Schema.struct(fields, name="io.debezium.data.VariableScaleDecimal")})
    values = [Decimal("-123456789012345678901234567890.12345"), Decimal("0.001"), Decimal(70)]
    with run(target, debezium_records="true", table_name_format="exact") as sink:
        for value in values:
            _, digits, scale = value.as_tuple()
            unscaled = int(value.scaleb(-int(scale), Context(prec=60)))
            assert len(digits) < 60
            encoded = {"scale": -int(scale), "value": unscaled.to_bytes(20, "big", signed=True)}
            sink.put({"n": encoded}, schema=schema)
    if target.kind != "generic":  # SQLite's own numbers are doubles
        assert sorted(Decimal(str(found)) for (found,) in target.execute("SELECT n FROM exact")) == sorted(values)


def test_texts_are_read_as_what_the_column_is(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
    target.execute("CREATE TABLE types (u uuid, j jsonb, i inet, m mood, n numeric(4,1), d date)")
    names = ["u", "j", "i", "m", "n", "d"]
    texts = ["0b1c2d3e-0000-0000-0000-000000000001", '{"a": 1}', "10.0.0.1", "bad", "12.5", "2024-02-29"]
    with run(target) as sink:
        sink.put(dict(zip(names, texts, strict=True)), schema=Schema.struct(dict.fromkeys(names, Schema(Type.STRING))))
    assert target.execute("SELECT u::text, j, i::text, m::text, n, d FROM types") == [
        (texts[0], {"a": 1}, "10.0.0.1/32", "bad", Decimal("12.5"), dt.date(2024, 2, 29))
    ]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_null_becomes_the_default_of_its_field_unless_that_is_switched_off(target: Target, replaced: bool) -> None:
    schema = Schema.struct(
        {
            "id": Schema(Type.INT32),
            "s": Schema(Type.STRING, optional=True, default="50% d'or"),
            "n": Schema(Type.INT32, optional=True, default=7),
        }
    )
    with run(target, replace_null_with_default=str(replaced).lower()) as sink:
        sink.put({"id": 1, "s": None, "n": None}, {"id": 2, "s": "x", "n": 0}, schema=schema)
    expected = ("50% d'or", 7) if replaced else (None, None)
    assert target.execute("SELECT s, n FROM types ORDER BY id") == [expected, ("x", 0)]
    if target.kind != "mysql":
        target.execute("INSERT INTO types (id) VALUES (3)")
        assert target.execute("SELECT s, n FROM types WHERE id = 3") == [("50% d'or", 7)]


def test_a_table_of_java_s_connector_in_sqlite_gets_the_numbers_that_it_has(tmp_path: Any) -> None:
    from tests.integration.connectors.jdbc.sink_targets import Sqlite

    target = Sqlite(tmp_path / "java.db")
    target.execute("CREATE TABLE types (at NUMERIC, day NUMERIC, clock NUMERIC)")
    schema = Schema.struct({"at": logical.TIMESTAMP, "day": logical.DATE, "clock": logical.TIME})
    with run(target) as sink:
        sink.put({"at": INSTANT, "day": dt.date(1970, 1, 3), "clock": dt.time(0, 0, 1)}, schema=schema)
    assert target.execute("SELECT * FROM types") == [(int(INSTANT.timestamp() * 1000), 2 * 86_400_000, 1000)]


def test_a_server_is_sent_no_file_but_the_rows_it_was_offered(mariadb: MariaServer, tmp_path: Any) -> None:
    """By a statement that is not ours, as a server that was taken over would ask for it."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    database, many = mariadb.database("asks_for_files"), "many \\t \\N \t \\\n \r\n \0 ."
    try:
        target = Maria(database)
        target.execute("CREATE TABLE types (line longtext)")
        with run(target) as sink:
            sink.put({"line": "one"}, schema=Schema.struct({"line": Schema(Type.STRING)}))
            sink.put(*[{"line": many}] * 200, schema=Schema.struct({"line": Schema(Type.STRING)}))
            with (
                pytest.raises(Exception, match="local_infile option is false|Packet sequence number"),
                sink.task._database.transaction() as connection,  # type: ignore[attr-defined]
            ):
                connection.exec_driver_sql(f"LOAD DATA LOCAL INFILE '{secret}' INTO TABLE types")
        assert target.execute("SELECT line, count(*) FROM types GROUP BY line ORDER BY 1") == [
            (many, 200),
            ("one", 1),
        ]
    finally:
        database.drop()


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_rows_are_found_by_keys_of_bits(mariadb: MariaServer, mode: str) -> None:
    database = mariadb.database(f"bits_of_{mode}")
    target = Maria(database)
    target.execute("CREATE TABLE types (id bit(12) PRIMARY KEY, word text)")
    target.execute("INSERT INTO types VALUES (b'100000001', 'old'), (2, 'gone'), (3, 'stays')")
    key = Schema.struct({"id": Schema(Type.BYTES, name="io.debezium.data.Bits", parameters={"length": "12"})})
    schema = Schema.struct({"word": Schema(Type.STRING)})
    keys = {"pk_mode": "record_key", "insert_mode": mode, "delete_enabled": "true"}
    with run(target, debezium_records="true", **keys) as sink:
        sink.put(
            SinkRecord("types", {"word": "new"}, schema, {"id": b"\x01\x01"}, key),
            SinkRecord("types", None, None, {"id": b"\x02\x00"}, key),
        )
    assert target.execute("SELECT id + 0, word FROM types ORDER BY id") == [(3, "stays"), (257, "new")]
    database.drop()


def test_numbers_come_into_a_column_of_bits_as_numbers(mariadb: MariaServer) -> None:
    """Loaded from a text, 1 would be its character's code, without a warning."""
    database = mariadb.database("bits")
    try:
        target = Maria(database)
        target.execute("CREATE TABLE types (n bit(16), yes bit(8))")
        schema = Schema.struct({"n": Schema(Type.INT32), "yes": Schema(Type.BOOLEAN)})
        with run(target) as sink:
            sink.put(*[{"n": 7, "yes": True}] * 200, schema=schema)
        assert target.execute("SELECT n + 0, yes + 0, count(*) FROM types GROUP BY n, yes") == [(7, 1, 200)]
    finally:
        database.drop()


@pytest.mark.parametrize("count", [1, 200])
def test_times_that_are_none_of_a_day_are_written_or_refused_but_never_others(target: Target, count: int) -> None:
    time = Schema(Type.INT64, name="io.debezium.time.MicroTime", version=1)
    schema = Schema.struct({"id": Schema(Type.INT32), "at": time})
    hours = {1: 1.0, 2: -1.0, 3: 30 + 0.5 / 3600, 4: 24.0}
    with run(target, debezium_records="true", **TOLERANT) as sink:
        sink.put(
            *(SinkRecord("types", {"id": at, "at": round(h * 3.6e9)}, schema) for at, h in hours.items()),
            *(SinkRecord("types", {"id": 9, "at": 0}, schema) for _ in range(count)),
        )
        sink.commit()
        refused = {record.value["id"] for record, _ in sink.errant}
    assert refused == {"mysql": set(), "postgresql": {2, 3}}.get(target.kind, {2, 3, 4})
    found = target.execute("SELECT id, CAST(at AS char(20)) FROM types WHERE id < 9 ORDER BY id")
    wanted = [dt.timedelta(hours=hours[at]) for at in hours if at not in refused]
    assert [_span(text.strip()) for _, text in found] == wanted


def _span(text: str) -> dt.timedelta:
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    hours, minutes, seconds = text.split(":")
    return sign * dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))


@pytest.mark.parametrize(("kind", "of"), [("Date", Type.INT32), ("MicroTimestamp", Type.INT64)])
def test_a_date_beyond_9999_that_a_database_does_not_take_costs_no_other_row(
    target: Target, kind: str, of: Type
) -> None:
    schema = Schema.struct({"id": Schema(Type.INT32), "at": Schema(of, name=f"io.debezium.time.{kind}", version=1)})
    far = 2**31 - 2 if kind == "Date" else 9223372036825199999
    with run(target, debezium_records="true", **TOLERANT) as sink:
        sink.put(*(SinkRecord("types", {"id": n, "at": far if n == 2 else 1}, schema) for n in (1, 2, 3)))
        sink.commit()
        assert [record.value["id"] for record, _ in sink.errant] == [2]
    assert sorted(target.execute("SELECT id FROM types")) == [(1,), (3,)]


@pytest.mark.parametrize(
    ("written", "schema", "value"),
    [
        (
            "date",
            Schema(Type.INT32, name="io.debezium.time.Date"),
            {"0044-03-15 BC": -735160, "0001-12-31 BC": -719163},
        ),
        (
            "timestamp",
            Schema(Type.INT64, name="io.debezium.time.MicroTimestamp"),
            {
                "0044-03-15 01:02:03.000004 BC": -735160 * 86_400_000_000 + 3_723_000_004,
                "infinity": 9223372036825200000,
            },
        ),
        (
            "bit(11)",
            Schema(Type.BYTES, name="io.debezium.data.Bits", parameters={"length": "11"}),
            {"10000000101": b"\5\4"},
        ),
        ("xml", Schema(Type.STRING, name="io.debezium.data.Xml"), {'<a b="c">d, e</a>': '<a b="c">d, e</a>'}),
    ],
    ids=["date", "timestamp", "bit", "xml"],
)
def test_what_postgresql_captured_comes_into_columns_alike_alone_and_in_arrays(
    postgres_database: PostgresDatabase, written: str, schema: Schema, value: dict[str, Any]
) -> None:
    target = Postgres(postgres_database)
    row = Schema.struct({"one": schema, "many": Schema.array(schema.as_optional())})
    with run(target, debezium_records="true") as sink:
        for each in value.values():
            sink.put({"one": each, "many": [each, None]}, schema=row, topic="types")
        sink.commit()
        sink.put(*({"one": each, "many": [each]} for each in value.values()), schema=row, topic="types")
    kind = target.execute("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname = 'one'")
    assert kind[0][0].startswith(written)
    found = target.execute("SELECT one::text, many[1]::text, many[2]::text FROM types")
    assert sorted(found) == sorted([(text, text, None) for text in value] * 2)


@pytest.mark.parametrize(
    ("kind", "of", "ends"),
    [
        ("Date", Type.INT32, (2**31 - 1, -(2**31))),
        ("Timestamp", Type.INT64, (9223372036825200, -9223372036832400)),
        ("MicroTimestamp", Type.INT64, (9223372036825200000, -9223372036832400000)),
    ],
)
def test_infinity_of_a_date_or_time_is_infinity_in_postgresql(
    postgres_database: PostgresDatabase, kind: str, of: Type, ends: tuple[int, int]
) -> None:
    """By what Debezium, and our capture, write for it."""
    target = Postgres(postgres_database)
    times = Schema(of, name=f"io.debezium.time.{kind}", version=1, optional=True)
    schema = Schema.struct({"id": Schema(Type.INT32), "at": times, "many": Schema.array(times, optional=True)})
    with run(target, debezium_records="true", insert_mode="upsert", pk_mode="record_value", pk_fields="id") as sink:
        sink.put(
            *(
                SinkRecord("types", {"id": n, "at": at, "many": [at, 0]}, schema)
                for n, at in enumerate((*ends, 86_400_000 if of is Type.INT64 else 1, None))
            )
        )
        sink.commit()
    rows = target.execute("SELECT at::text, many[1]::text FROM types ORDER BY id")
    assert rows[:2] == [("infinity", "infinity"), ("-infinity", "-infinity")]
    assert rows[2][0].startswith("1970-01-0")
    assert rows[3] == (None, None)
