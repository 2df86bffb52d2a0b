"""Tables that are missing or too small for records: created, changed, or named in an error."""

import datetime as dt
import logging
import uuid
from decimal import Decimal

import pytest

from connect import ConnectError, Schema, SinkRecord, Type, logical
from connect.testing import SinkRun
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Maria, Postgres, Target, person
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresDatabase

__all__ = ["target"]


def run(target: Target, **more: str) -> SinkRun:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return SinkRun(JdbcSinkConnector, {"topics": "people", **target.config, **keys}, timeout=60)


def test_a_table_that_is_missing_is_named(target: Target) -> None:
    with pytest.raises(ConnectError, match='Table "people" is missing in .*auto.create=true'), run(target) as sink:
        sink.put(person(1))


def test_a_created_table_has_the_key_and_knows_what_may_be_null(target: Target) -> None:
    with run(target, auto_create="true", pk_mode="record_key", insert_mode="upsert") as sink:
        sink.put(person(1))
    with pytest.raises(Exception, match=r"(?i)null|unique|duplicate"):
        target.execute("INSERT INTO people (id) VALUES (1)")
    target.execute("INSERT INTO people (id) VALUES (2)")


def test_a_column_that_is_missing_is_named_or_added(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer)")
    target.execute("INSERT INTO people VALUES (0)")
    with pytest.raises(ConnectError, match='Table "people" has no column "name", "balance"'), run(target) as sink:
        sink.put(person(1))
    with run(target, auto_evolve="true") as sink:
        sink.put(person(1))
    assert target.execute("SELECT id, name FROM people ORDER BY id") == [(0, None), (1, "Ada")]


def test_fields_without_a_column_may_be_left_out(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer)")
    with run(target, schema_evolution_unknown_fields="ignore") as sink:
        sink.put(person(1))
    assert target.execute("SELECT id FROM people") == [(1,)]


def test_a_field_finds_a_column_in_another_case(target: Target) -> None:
    target.execute('CREATE TABLE people ("ID" integer, "Name" varchar(20), "BALANCE" integer)')
    with run(target) as sink:
        sink.put(person(1))
    assert target.execute('SELECT "ID", "Name" FROM people') == [(1, "Ada")]


def test_somebody_else_s_new_column_is_found(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer)")
    one = Schema.struct({"id": Schema(Type.INT32)})
    with run(target) as sink:
        sink.put(SinkRecord("people", {"id": 1}, one))
        target.execute("ALTER TABLE people ADD COLUMN name varchar(20)")
        target.execute("ALTER TABLE people ADD COLUMN balance integer")
        sink.put(person(2))
    assert target.execute("SELECT id, name FROM people ORDER BY id") == [(1, None), (2, "Ada")]


@pytest.mark.parametrize("exists", [True, False])
def test_a_table_may_be_named_with_the_database(postgres_database: PostgresDatabase, exists: bool) -> None:
    """As topics of Debezium are called, where topic.prefix is the name of the database."""
    target, topic = Postgres(postgres_database), f"{postgres_database.name}.public.people"
    if exists:
        target.execute("CREATE TABLE people (id integer PRIMARY KEY, name text)")
    keys = {"topics": topic, "insert_mode": "upsert", "pk_mode": "record_key", "auto_create": "true"}
    offsets = f"{postgres_database.name}.public.offsets"
    with run(target, auto_evolve="true", exactly_once="true", offsets_table=offsets, **keys) as sink:
        sink.put(person(1, topic=topic))
    assert target.execute("SELECT id, balance FROM public.people") == [(1, None)]
    assert target.execute("SELECT topic, next_offset FROM public.offsets") == [(topic, 1)]


def test_a_name_that_postgresql_would_cut_off_is_refused(postgres_database: PostgresDatabase) -> None:
    """What is left of it may be that of another table, or another field."""
    target, long = Postgres(postgres_database), "ö" * 32
    schema = Schema.struct({"id": Schema(Type.INT32), long: Schema(Type.INT32)})
    keys = {"auto_create": "true", "auto_evolve": "true", "errors_tolerance": "all", "errors_log_enable": "true"}
    with run(target, topics=f"people,{long}", **keys) as sink:
        sink.put(person(1), person(2, topic=long))
        sink.put(SinkRecord("people", {"id": 3, long: 1}, schema), person(4))
        refused = [str(error) for _, error in sink.errant]
    assert [f'"{long}" is longer than the 63 bytes' in each for each in refused] == [True, True]
    assert target.execute("SELECT id FROM people ORDER BY id") == [(1,), (4,)]
    assert target.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(1,)]


@pytest.mark.parametrize("mode", ["insert", "upsert"])
@pytest.mark.parametrize("count", [1, 200])
@pytest.mark.parametrize("what", ["TABLE people", "COLUMN name"])
def test_what_somebody_dropped_is_made_again(target: Target, mode: str, count: int, what: str) -> None:
    keys = {"insert_mode": mode, "pk_mode": "record_key", "auto_create": "true", "auto_evolve": "true"}
    with run(target, **keys) as sink:
        sink.put(*map(person, range(count)))
        target.execute(f"DROP {what}" if what.startswith("TABLE") else f"ALTER TABLE people DROP {what}")
        sink.put(*map(person, range(1000, 1000 + count)))
        sink.commit()
        assert sink.retries == 0
    assert target.execute("SELECT name, count(*) FROM people WHERE id >= 1000 GROUP BY name") == [("Ada", count)]


@pytest.mark.parametrize("target", ["postgresql", "mariadb"], indirect=True)
@pytest.mark.parametrize("count", [1, 200])
@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_a_column_that_somebody_gave_more_digits_gets_them(target: Target, count: int, mode: str) -> None:
    stamp = "timestamp" if target.kind == "postgresql" else "datetime"
    target.execute(f"CREATE TABLE people (id integer PRIMARY KEY, price decimal(5, 2), at {stamp}(0))")
    at = dt.datetime(2024, 1, 2, 3, 4, 5, 678000, dt.UTC)

    def record(number: int, scale: int) -> SinkRecord:
        fields = {"id": Schema(Type.INT32), "price": logical.decimal(scale), "at": logical.TIMESTAMP}
        value = {"id": number, "price": Decimal("1.25") if scale == 2 else Decimal("1.2345"), "at": at}
        return SinkRecord("people", value, Schema.struct(fields))

    with run(target, insert_mode=mode, pk_mode="record_value", pk_fields="id") as sink:
        target.execute(f"INSERT INTO people (id) VALUES {', '.join(f'({n})' for n in range(5000, 5000 + 2 * count))}")
        first = 5000 if mode == "update" else 0
        sink.put(*(record(first + number, 2) for number in range(count)))
        sink.commit()
        alter = "ALTER COLUMN {} TYPE {}" if target.kind == "postgresql" else "MODIFY COLUMN {0} {1}"
        target.execute(f"ALTER TABLE people {alter.format('price', 'decimal(8, 4)')}")
        target.execute(f"ALTER TABLE people {alter.format('at', f'{stamp}(6)')}")
        sink.put(*(record(first + number, 4) for number in range(count, 2 * count)))
        sink.commit()
    found = target.execute(f"SELECT DISTINCT price, at FROM people WHERE id >= {first + count} AND price IS NOT NULL")
    assert found == [(Decimal("1.2345"), at.replace(tzinfo=None))]


WIDE = Schema.struct(
    {
        "id": Schema(Type.INT64),
        "price": logical.decimal(4),
        "ratio": Schema(Type.FLOAT64),
        "name": Schema(Type.STRING, optional=True),
    }
)


@pytest.mark.parametrize("target", ["postgresql", "mariadb"], indirect=True)
def test_columns_grow_when_a_value_needs_it_and_not_before(target: Target) -> None:
    target.execute("CREATE TABLE people (id smallint, price decimal(5, 2), ratio float(24), name varchar(3) NOT NULL)")
    types = (
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'people' "
        f"AND table_schema = {'current_schema()' if target.kind == 'postgresql' else 'database()'} ORDER BY 1"
    )
    before = target.execute(types)
    small = {"id": 1, "price": Decimal("1.5000"), "ratio": 0.5, "name": "Ada"}
    large = {"id": 2**40, "price": Decimal("123456.7891"), "ratio": 0.1, "name": None}
    with run(target, auto_evolve="true") as sink:
        sink.put(small, schema=WIDE)
        assert target.execute(types) == before
        sink.put(large, {**small, "name": "Adaline"}, schema=WIDE)
    assert target.execute("SELECT id, price, ratio, name FROM people ORDER BY id, name") == [
        (1, Decimal("1.5000"), 0.5, "Ada"),
        (1, Decimal("1.5000"), 0.5, "Adaline"),
        (2**40, Decimal("123456.7891"), 0.1, None),
    ]


@pytest.mark.parametrize("target", ["postgresql", "mariadb"], indirect=True)
def test_only_what_is_allowed_is_changed(target: Target) -> None:
    target.execute("CREATE TABLE people (id smallint, extra integer NOT NULL)")
    schema = Schema.struct({"id": Schema(Type.INT64)})
    with pytest.raises(ConnectError, match="offset 0"), run(target, schema_evolution="add,nullable") as sink:
        sink.put({"id": 2**40}, schema=schema, topic="people")
    with run(target, schema_evolution="widen,nullable") as sink:
        sink.put({"id": 2**40}, schema=schema, topic="people")
    assert target.execute("SELECT * FROM people") == [(2**40, None)]


def test_debezium_s_basic_evolution_creates_and_adds(target: Target) -> None:
    with run(target, schema_evolution="basic") as sink:
        sink.put(SinkRecord("people", {"id": 1}, Schema.struct({"id": Schema(Type.INT32)})))
        sink.put(person(2))
    assert target.execute("SELECT id, name FROM people ORDER BY id") == [(1, None), (2, "Ada")]


def test_two_tasks_that_create_one_table_both_go_on(target: Target) -> None:
    with (
        run(target, auto_create="true", auto_evolve="true", tasks_max="1") as one,
        run(target, auto_create="true", auto_evolve="true") as two,
    ):
        small = Schema.struct({"id": Schema(Type.INT32)})
        one.put(SinkRecord("people", {"id": 1}, small))
        two.put(person(2))
        one.put(person(3))
    assert len(target.execute("SELECT name FROM people")) == 3


def test_a_view_is_written_to_only_if_that_is_said(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE real (id integer PRIMARY KEY, name text, balance numeric)")
    target.execute("CREATE VIEW people AS SELECT * FROM real")
    with pytest.raises(ConnectError, match="is a view"), run(target) as sink:
        sink.put(person(1))
    with run(target, table_types="TABLE,VIEW") as sink:
        sink.put(person(1))
    assert target.execute("SELECT id, name FROM people") == [(1, "Ada")]


def test_partitioned_tables_and_other_schemas_are_written_to(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE SCHEMA shop")
    target.execute(
        "CREATE TABLE shop.people (id integer PRIMARY KEY, name text, balance numeric) PARTITION BY HASH (id)"
    )
    target.execute("CREATE TABLE shop.people_0 PARTITION OF shop.people FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
    for mode in ("insert", "upsert"):
        with run(target, table_name_format="shop.${topic}", insert_mode=mode, pk_mode="record_key") as sink:
            sink.put(person(1 if mode == "insert" else 2))
    assert target.execute("SELECT id, name FROM shop.people ORDER BY id") == [(1, "Ada"), (2, "Ada")]


def test_the_schema_of_the_url_may_have_blanks(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute('CREATE SCHEMA "My Shop"')
    url = f"{postgres_database.jdbc_url}?currentSchema=%22My%20Shop%22,%20public"
    with run(target, connection_url=url, auto_create="true") as sink:
        sink.put(person(1), person(2))
    assert target.execute('SELECT id FROM "My Shop".people ORDER BY id') == [(1,), (2,)]


NUMBERS = Schema.struct({"id": Schema(Type.INT64, optional=True), "name": Schema(Type.STRING, optional=True)})
FITS = {"id": 1, "name": "Ada"}
#: What does not fit a table people (id smallint NOT NULL, name varchar(3)), and what is said of it.
UNFIT = [
    ({"id": 2**40, "name": "Ada"}, 'field "id" holds a value'),
    ({"id": None, "name": "Ada"}, 'field "id" is null'),
    ({"id": 2, "name": "Adaline"}, 'field "name" holds a value'),
]
CHANGEABLE = pytest.mark.parametrize("target", ["postgresql", "mariadb"], indirect=True)


def table_of(target: Target) -> list[tuple[str, ...]]:
    """The columns of `people`, with their types and whether they may be null."""
    schema = "current_schema()" if target.kind == "postgresql" else "database()"
    return target.execute(
        "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = 'people' "
        f"AND table_schema = {schema} ORDER BY 1"
    )


@CHANGEABLE
@pytest.mark.parametrize(("value", "why"), UNFIT)
def test_a_record_that_does_not_fit_goes_where_on_mismatch_says(target: Target, value: dict, why: str) -> None:
    target.execute("CREATE TABLE people (id smallint NOT NULL, name varchar(3))")
    before = table_of(target)
    tolerant = {"errors_tolerance": "all", "errors_log_enable": "true"}
    with run(target, schema_evolution_on_mismatch="quarantine", **tolerant) as sink:
        sink.put(FITS, value, {**FITS, "id": 3}, schema=NUMBERS, topic="people")
        ((record, error),) = sink.errant
    assert (record.original_offset, why in str(error)) == (1, True), error
    assert target.execute("SELECT id FROM people ORDER BY id") == [(1,), (3,)]
    failing = run(target, schema_evolution_on_mismatch="fail", **tolerant)
    with pytest.raises(ConnectError, match=f"offset 0: .*{why}"), failing as sink:
        sink.put(value, FITS, schema=NUMBERS, topic="people")
    assert target.execute("SELECT id FROM people ORDER BY id") == [(1,), (3,)]
    assert table_of(target) == before


@CHANGEABLE
def test_a_record_fits_a_table_that_somebody_has_changed_for_it(target: Target) -> None:
    target.execute("CREATE TABLE people (id smallint NOT NULL, name varchar(3))")
    tolerant = {"errors_tolerance": "all", "errors_log_enable": "true"}
    with run(target, schema_evolution_on_mismatch="quarantine", **tolerant) as sink:
        sink.put({**FITS, "name": "Adaline"}, schema=NUMBERS, topic="people")
        assert len(sink.errant) == 1
        word = "ALTER COLUMN name TYPE" if target.kind == "postgresql" else "MODIFY COLUMN name"
        target.execute(f"ALTER TABLE people {word} varchar(30)")
        sink.put({**FITS, "name": "Adaline"}, schema=NUMBERS, topic="people")
        assert len(sink.errant) == 1
    assert target.execute("SELECT name FROM people") == [("Adaline",)]


@CHANGEABLE
def test_text_is_no_number_unless_the_database_decides(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer)")
    text = Schema.struct({"id": Schema(Type.STRING)})
    with (
        pytest.raises(ConnectError, match='"id" is string, and its column .* holds numbers'),
        run(target, schema_evolution="full", schema_evolution_on_mismatch="fail") as sink,
    ):
        sink.put({"id": "7"}, schema=text, topic="people")
    with run(target, schema_evolution_on_mismatch="pass") as sink:
        sink.put({"id": "7"}, schema=text, topic="people")
    assert target.execute("SELECT id FROM people") == [(7,)]


@CHANGEABLE
def test_what_is_allowed_is_changed_and_what_is_not_goes_aside(target: Target) -> None:
    target.execute("CREATE TABLE people (id smallint, extra integer NOT NULL)")
    wide = Schema.struct({"id": Schema(Type.INT64), "new": Schema(Type.STRING)})
    fits = Schema.struct({"id": Schema(Type.INT16), "new": Schema(Type.STRING), "extra": Schema(Type.INT32)})
    aside = {"errors_tolerance": "all", "errors_log_enable": "true", "schema_evolution_on_mismatch": "quarantine"}
    with run(target, schema_evolution="add", **aside) as sink:
        sink.put({"id": 2**40, "new": "x"}, schema=wide, topic="people")
        assert len(sink.errant) == 1
        assert [name for name, *_ in table_of(target)] == ["extra", "id"]  # what does not fit changes nothing
        sink.put({"id": 1, "new": "x", "extra": 5}, schema=fits, topic="people")
        assert len(sink.errant) == 1
    assert [name for name, *_ in table_of(target)] == ["extra", "id", "new"]
    with run(target, schema_evolution="full", **aside) as sink:
        sink.put({"id": 2**40, "new": "y"}, schema=wide, topic="people")
        assert sink.errant == []
    assert target.execute("SELECT id, new, extra FROM people ORDER BY id") == [(1, "x", 5), (2**40, "y", None)]


def test_an_unknown_field_is_a_mismatch_or_left_out(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer)")
    with (
        pytest.raises(ConnectError, match='has no column "name", "balance"'),
        run(target, schema_evolution_on_mismatch="fail", errors_tolerance="all", errors_log_enable="true") as sink,
    ):
        sink.put(person(1))
    ignoring = {"schema_evolution_unknown_fields": "ignore", "schema_evolution_on_mismatch": "fail"}
    with run(target, **ignoring) as sink:
        sink.put(person(1))
    assert target.execute("SELECT id FROM people") == [(1,)]


def test_a_column_that_is_changed_keeps_the_rest_of_its_definition(mariadb: MariaServer) -> None:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    target = Maria(database)
    target.execute(
        "CREATE TABLE people (id int AUTO_INCREMENT PRIMARY KEY, size int NOT NULL DEFAULT 5 COMMENT 'it''s 5%', "
        "word varchar(3) COLLATE utf8mb4_bin NOT NULL DEFAULT '%', many int unsigned, "
        "at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)"
    )
    whole, at = Schema(Type.INT64, optional=True), logical.TIMESTAMP.as_optional()
    schema = Schema.struct({"id": whole, "size": whole, "word": Schema(Type.STRING), "many": whole, "at": at})
    record = {"id": 2**40, "size": None, "word": "word", "many": 2**32 - 1, "at": None}
    with run(target, auto_evolve="true", pk_mode="none") as sink:
        sink.put(record, schema=schema, topic="people")
    ((_, made),) = target.execute("SHOW CREATE TABLE people")
    written = {line.split("`")[1]: line.strip(" ,") for line in made.splitlines() if line.startswith("  `")}
    assert written == {
        "id": "`id` bigint(20) NOT NULL AUTO_INCREMENT",
        "size": "`size` int(11) DEFAULT 5 COMMENT 'it''s 5%'",
        "word": "`word` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '%'",
        "many": "`many` int(10) unsigned DEFAULT NULL",
        "at": "`at` timestamp NULL DEFAULT current_timestamp() ON UPDATE current_timestamp()",
    }
    assert target.execute("SELECT size, word, at FROM people") == [(None, "word", None)]
    database.drop()


def test_a_column_by_which_mysql_numbers_rows_is_not_changed_for_a_null(
    mariadb: MariaServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    target = Maria(database)
    target.execute("CREATE TABLE people (id int AUTO_INCREMENT PRIMARY KEY, name varchar(10))")
    schema = Schema.struct({"id": Schema(Type.INT32, optional=True), "name": Schema(Type.STRING)})
    with run(target, auto_evolve="true") as sink:
        sink.put(
            {"id": None, "name": "Ada"},
            {"id": 7, "name": "Bob"},
            {"id": None, "name": "Eve"},
            schema=schema,
            topic="people",
        )
    assert target.execute("SELECT * FROM people") == [(1, "Ada"), (7, "Bob"), (8, "Eve")]
    assert "changed" not in caplog.text
    database.drop()
