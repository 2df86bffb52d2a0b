"""Databases that go away, rows that no table takes, tasks in each other's way: nothing is lost, nothing doubled."""

import hashlib
import sys
import threading
import traceback
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from connect import ConnectError, Schema, SinkRecord, TopicPartition, Type
from connect.testing import SinkRun
from connectors.jdbc.database import connection
from connectors.jdbc.sink import JdbcSinkConnector
from tests.integration.connectors.jdbc.sink_fixtures import target
from tests.integration.connectors.jdbc.sink_targets import Maria, Postgres, Sqlite, Target, person
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresDatabase, PostgresServer
from tests.support.waiting import until

__all__ = ["target"]

#: What a worker needs to have records reported.
TOLERANT = {"errors.tolerance": "all", "errors.log.enable": "true"}


def run(target: Target, **more: str) -> SinkRun:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return SinkRun(
        JdbcSinkConnector,
        {"topics": "people", "connection.backoff.ms": "50", "retry.backoff.ms": "50", **target.config, **keys},
        timeout=120,
    )


@pytest.mark.parametrize("mode", ["insert", "upsert"])
@pytest.mark.parametrize("count", [40, 700])
def test_poison_rows_are_found_and_cost_no_other(target: Target, mode: str, count: int) -> None:
    limit = "CHECK (length(name) < 10)" if target.kind != "mysql" else "CHECK (char_length(name) < 10)"
    target.execute(f"CREATE TABLE people (id integer PRIMARY KEY, name varchar(50) {limit}, balance decimal(5, 2))")
    bad = {3, 17, 18, count - 1}
    records = [person(n, "far too long a name" if n in bad else "Ada") for n in range(count)]
    with run(target, insert_mode=mode, pk_mode="record_key", **TOLERANT) as sink:
        sink.put(*records)
        sink.commit()
        assert sorted(record.value["id"] for record, _ in sink.errant) == sorted(bad)
        sink.put(person(count, "Bob"))
    assert target.execute("SELECT count(*) FROM people") == [(count + 1 - len(bad),)]
    why = str(sink.errant[0][1])
    assert 'partition 0, offset 3: Table "people" of ' in why


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_an_idle_connection_that_the_server_has_ended_costs_no_try(
    request: pytest.FixtureRequest, mariadb: MariaServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_IDLE_S", 0)
    target: Target = Maria(mariadb) if kind == "mariadb" else Postgres(request.getfixturevalue("postgres_database"))
    name = f"idle_{uuid.uuid4().hex[:12]}"
    with run(target, max_retries="0", auto_create="true", table_name_format=name) as sink:
        sink.put(person(1))
        if kind == "mariadb":
            ((number,),) = target.execute(
                f"SELECT id FROM information_schema.processlist WHERE db = '{mariadb.name}' AND id <> CONNECTION_ID()"
            )
            target.execute(f"KILL {number}")
        else:
            target.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        sink.put(person(2))
        assert sink.retries == 0
    assert target.execute(f"SELECT id FROM {name} ORDER BY id") == [(1,), (2,)]
    target.execute(f"DROP TABLE {name}")


def test_staging_tables_do_not_become_more(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name text NOT NULL, balance numeric)")
    staging = "SELECT count(*) FROM pg_class WHERE relname LIKE 'connect_staging%'"
    with run(target, insert_mode="upsert", pk_mode="record_key", **TOLERANT) as sink:
        for number in range(0, 50, 5):
            sink.put(*map(person, range(number, number + 4)), person(number + 4, None))
        assert len(sink.errant) == 10
        assert target.execute(staging) == [(1,)]
        target.execute("ALTER TABLE people ALTER COLUMN name TYPE varchar(3)")
        sink.put(person(100, "Bob"))
        assert target.execute(staging) == [(1,)]
    assert target.execute("SELECT count(*) FROM people") == [(41,)]


@pytest.mark.parametrize("exact", ["true", "false"])
def test_a_row_that_a_deferred_constraint_refuses_costs_no_other(
    postgres_database: PostgresDatabase, exact: str
) -> None:
    """It is checked at the end of the transaction, which says nothing of the row."""
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE known (id integer PRIMARY KEY); INSERT INTO known SELECT generate_series(0, 99)")
    target.execute(
        "CREATE TABLE people (id integer PRIMARY KEY REFERENCES known DEFERRABLE INITIALLY DEFERRED,"
        " name text NOT NULL, balance numeric)"
    )
    with run(target, insert_mode="upsert", pk_mode="record_key", exactly_once=exact, **TOLERANT) as sink:
        sink.put(*map(person, range(30)), person(200), person(31, None), *map(person, range(40, 60)))
        assert [record.value["id"] for record, _ in sink.errant] == [200, 31]
        assert 'violates foreign key constraint "people_id_fkey"' in str(sink.errant[0][1])
        sink.put(person(60))
    assert target.execute("SELECT count(*) FROM people") == [(51,)]


def test_fields_that_come_and_go_leave_no_end_of_staging_tables(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit empties each of them: with a thousand it takes a tenth of a second."""
    monkeypatch.setattr("connectors.jdbc.sink.staging.MOST", 3)
    target, fields = Postgres(postgres_database), "abcd"
    target.execute(f"CREATE TABLE people (id integer PRIMARY KEY, {', '.join(f'{name} int' for name in fields)})")
    staging = "SELECT count(*) FROM pg_class WHERE relname LIKE 'connect_staging%'"
    keys = {"insert_mode": "upsert", "pk_mode": "record_value", "pk_fields": "id", "schemaless_inference": "true"}
    with run(target, **keys) as sink:
        for turn in (1, 2):
            for number in range(16):
                some = {name: turn for at, name in enumerate(fields) if number >> at & 1}
                sink.put({"id": number, **some}, topic="people")
                assert target.execute(staging)[0][0] <= 3
    assert target.execute("SELECT count(*), sum(a), sum(b), sum(c), sum(d) FROM people") == [(16, 16, 16, 16, 16)]


@pytest.mark.parametrize("count", [40, 700])
def test_a_user_without_temporary_tables_upserts_all_the_same(mariadb: MariaServer, count: int) -> None:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    target = Maria(database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), balance decimal(5, 2))")
    mariadb.execute(f"CREATE USER {database.name}@'%' IDENTIFIED BY 'pw'")
    mariadb.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {database.name}.* TO {database.name}@'%'")
    user = {"connection.user": database.name, "connection.password": "pw"}
    with run(target, insert_mode="upsert", pk_mode="record_key", **user) as sink:
        for name in ("Ada", "Bob"):
            sink.put(*(person(number, name) for number in range(count)))
            sink.commit()
    assert target.execute("SELECT name, count(*) FROM people GROUP BY name") == [("Bob", count)]
    mariadb.execute(f"DROP USER {database.name}@'%'")
    database.drop()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("name enum('Ada', 'Bob')", "Eve"),  # 1265
        ("name varchar(3) CHECK (name <> 'Eve')", "Eve"),
        ("name varchar(10) CHARACTER SET latin1", "\U0001f600"),  # 1366
        ("name varchar(10), other int", "Eve"),  # what a trigger signals
    ],
)
def test_what_mysql_says_of_a_value_costs_no_other_row(mariadb: MariaServer, column: str, value: str) -> None:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    target = Maria(database)
    signal = "IF NEW.name = 'Eve' THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'no'; END IF"
    target.execute(f"CREATE TABLE people (id integer PRIMARY KEY, {column})")
    if "other" in column:
        target.execute(f"CREATE TRIGGER judge BEFORE INSERT ON people FOR EACH ROW {signal}")
    schema = Schema.struct({"id": Schema(Type.INT32), "name": Schema(Type.STRING)})
    with run(target, **TOLERANT) as sink:
        sink.put(*({"id": n, "name": value if n == 1 else "Ada"} for n in range(3)), schema=schema, topic="people")
        sink.commit()
        assert [record.value["id"] for record, _ in sink.errant] == [1]
    assert target.execute("SELECT id FROM people ORDER BY id") == [(0,), (2,)]
    database.drop()


def test_a_lock_of_mysql_that_could_not_be_had_in_time_is_asked_for_again(mariadb: MariaServer) -> None:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    target = Maria(database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), balance decimal(5, 2))")
    target.execute("INSERT INTO people VALUES (1, 'old', 0)")
    mariadb.execute("SET GLOBAL innodb_lock_wait_timeout = 1")
    try:
        with database.connect(autocommit=False) as other, other.cursor() as cursor:
            cursor.execute("UPDATE people SET balance = 1")
            release = threading.Timer(2.5, other.commit)
            release.start()
            with run(target, insert_mode="upsert", pk_mode="record_key") as sink:
                sink.put(person(1, "Ada"))
                sink.commit()
            release.join()
    finally:
        mariadb.execute("SET GLOBAL innodb_lock_wait_timeout = DEFAULT")
    assert target.execute("SELECT name FROM people") == [("Ada",)]
    database.drop()


@pytest.mark.parametrize("value", ["x" * 1_500_000, "'" * 700_000, "\U0001f600" * 300_000])
def test_a_row_that_is_too_large_for_a_statement_of_mysql_costs_no_other(mariadb: MariaServer, value: str) -> None:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    target = Maria(database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name longtext)")
    schema = Schema.struct({"id": Schema(Type.INT32), "name": Schema(Type.STRING)})
    mariadb.execute("SET GLOBAL max_allowed_packet = 1048576")
    try:
        with run(target, **TOLERANT) as sink:
            rows = [{"id": n, "name": value if n == 1 else "x" * 900_000 * (n == 2)} for n in range(4)]
            sink.put(*rows, schema=schema, topic="people")
            sink.commit()
            assert [record.value["id"] for record, _ in sink.errant] == [1]
    finally:
        mariadb.execute("SET GLOBAL max_allowed_packet = DEFAULT")
    assert target.execute("SELECT id FROM people ORDER BY id") == [(0,), (2,), (3,)]
    database.drop()


def test_a_key_that_is_too_large_for_its_index_costs_no_other_row(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE people (name text PRIMARY KEY)")
    large = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(200))
    schema = Schema.struct({"name": Schema(Type.STRING)})
    with run(target, insert_mode="upsert", pk_mode="record_value", **TOLERANT) as sink:
        sink.put({"name": "Ada"}, {"name": large}, {"name": "Bob"}, schema=schema, topic="people")
        sink.commit()
        assert [record.value["name"] for record, _ in sink.errant] == [large]
    assert target.execute("SELECT count(*) FROM people") == [(2,)]


def test_fields_that_are_ignored_differ_among_records_of_which_one_is_refused(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50) NOT NULL)")
    ignoring = {"schemaless.inference": "true", "schema.evolution.unknown.fields": "ignore"}
    with run(target, **TOLERANT, **ignoring) as sink:
        sink.put(
            {"id": 1, "name": "Ada", "x": 1}, {"id": 1, "name": "Bob", "y": 1}, {"id": 2, "name": "Eve"}, topic="people"
        )
        sink.commit()
        assert [record.value["name"] for record, _ in sink.errant] == ["Bob"]
    assert target.execute("SELECT * FROM people ORDER BY id") == [(1, "Ada"), (2, "Eve")]


def test_records_that_fit_no_table_at_all_are_reported_too(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), balance decimal(5, 2))")
    other = SinkRecord(
        "people", {"id": 5, "strange": 1}, Schema.struct({"id": Schema(Type.INT32), "strange": Schema(Type.INT32)})
    )
    with run(
        target, topics="people,elsewhere", insert_mode="upsert", pk_mode="record_value", pk_fields="id", **TOLERANT
    ) as sink:
        sink.put(
            person(1),
            other,
            SinkRecord("people", None),
            SinkRecord("people", {"schemaless": 1}),
            SinkRecord("people", "text", Schema(Type.INT32)),
            person(2),
            person(3, topic="elsewhere"),
        )
    assert target.execute("SELECT id FROM people ORDER BY id") == [(1,), (2,)]
    assert [record.offset for record, _ in sink.errant if record.topic == "people"] == [1, 2, 3, 4]
    assert ["is missing" in str(error) for record, error in sink.errant if record.topic == "elsewhere"] == [True]


def test_without_a_reporter_a_poison_row_fails_the_task_and_nothing_of_its_batch_is_written(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50) NOT NULL, balance decimal(5, 2))")
    why = r'Topic people, partition 0, offset 1: Table "people" of .*(?i:null)'
    with pytest.raises(ConnectError, match=why), run(target) as sink:
        sink.put(person(1), person(2, None), person(3))
    assert target.execute("SELECT * FROM people") == []


def test_errors_can_be_without_values(target: Target) -> None:
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name varchar(50), balance decimal(5, 2))")
    secret = Schema.struct({"id": Schema(Type.INT32), "name": Schema(Type.STRING), "balance": Schema(Type.STRING)})
    values = {"id": 1, "name": "top secret", "balance": "top secret"}
    for trimmed in ("true", "false"):
        with pytest.raises(ConnectError) as caught, run(target, trim_sensitive_log=trimmed) as sink:
            sink.put({**values, "balance": "1"}, {**values, "balance": "1"}, schema=secret, topic="people")
        cause = caught.value.__cause__
        assert caught.value.__context__ is None or trimmed == "false" or caught.value.__suppress_context__
        if trimmed == "true":
            assert cause is None
            assert "top secret" not in str(caught.value)
    assert "offset 1" in str(caught.value)


def test_a_value_that_is_not_what_its_schema_says_is_not_quoted_where_errors_are_trimmed(tmp_path: Path) -> None:
    target, value = Sqlite(tmp_path / "test.db"), "top secret"
    zoned = Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp", version=1)
    for schema in (Schema(Type.INT32), zoned):
        target.execute("DROP TABLE IF EXISTS people")
        target.execute("CREATE TABLE people (at timestamp)")
        with (
            pytest.raises(ConnectError, match='its field "at" is not of the type') as caught,
            run(target, trim_sensitive_log="true", debezium_records="true") as sink,
        ):
            sink.put({"at": value}, schema=Schema.struct({"at": schema}), topic="people")
        assert value not in "".join(traceback.format_exception(caught.value))


def test_a_password_is_in_no_error(postgres_database: PostgresDatabase) -> None:
    config = {**Postgres(postgres_database).config, "connection.password": "very-secret", "topics": "people"}
    refused = pytest.raises(ConnectError, match="refuses the connection")
    with refused as caught, SinkRun(JdbcSinkConnector, config, timeout=60) as sink:
        sink.put(person(1))
    assert "very-secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
@pytest.mark.parametrize("mode", ["upsert", "exactly once"])
def test_a_database_that_dies_in_the_middle_loses_and_doubles_nothing(kind: str, mode: str) -> None:
    server: Any = (
        PostgresServer(fsync="on") if kind == "postgresql" else MariaServer(**{"innodb-flush-log-at-trx-commit": "1"})
    )
    try:
        target: Target = Postgres(server) if kind == "postgresql" else Maria(server)
        keys = {"insert.mode": "upsert", "pk.mode": "record_key"} if mode == "upsert" else {"exactly.once": "true"}
        stop, died = threading.Event(), []

        def kill() -> None:
            while not stop.wait(0.4):
                server.kill()
                server.start()
                died.append(1)

        config = {
            "topics": "people",
            "auto.create": "true",
            "connection.attempts": "300",
            "connection.backoff.ms": "200",
            **target.config,
            **keys,
        }
        with SinkRun(JdbcSinkConnector, config, timeout=240) as sink:
            killer = threading.Thread(target=kill)
            killer.start()
            try:
                number = 0
                while len(died) < 3:
                    sink.put(*(person(n, f"of {number}") for n in range(number, number + 600)))
                    number += 600
                    if number % 1800 == 0:
                        sink.commit()
            finally:
                stop.set()
                killer.join(120)
            sink.commit()
        found = [row[0] for row in target.execute("SELECT id FROM people ORDER BY id")]
        assert found == list(range(number))
    finally:
        server.close()


def test_a_lost_connection_is_made_again(postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_IDLE_S", float("inf"))
    target = Postgres(postgres_database)
    with run(target, auto_create="true", insert_mode="upsert", pk_mode="record_key") as sink:
        sink.put(person(1))
        for number in (2, 3):
            target.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            sink.put(person(number))
    assert sink.retries == 2
    assert sink.metric("jdbc_write_errors_total") == 2
    assert target.execute("SELECT id FROM people ORDER BY id") == [(1,), (2,), (3,)]


def test_retries_end(postgres_database: PostgresDatabase) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name text, balance numeric)")
    with postgres_database.connect(autocommit=False) as blocker:
        blocker.execute("LOCK TABLE people")
        url = {"connection.url": f"{target.config['connection.url']}?options=-clock_timeout%3D50"}
        with pytest.raises(ConnectError, match="Given up after 2 retries"), run(target, max_retries="2", **url) as sink:
            sink.put(person(1))
        assert sink.retries == 2
        blocker.rollback()
        with run(target, max_retries="2", **url) as sink:
            sink.put(person(1), tries=1)
    assert target.execute("SELECT id FROM people") == [(1,)]


@pytest.mark.parametrize("mode", ["upsert", "update"])
def test_tasks_that_write_the_same_rows_do_not_stop_each_other(postgres_database: PostgresDatabase, mode: str) -> None:
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name text, balance numeric)")
    target.execute("INSERT INTO people SELECT generate_series(0, 399), 'old', 0")
    errors: list[BaseException] = []

    def work(order: int) -> None:
        try:
            with run(target, insert_mode=mode, pk_mode="record_key") as sink:
                for turn in range(15):
                    sink.put(*(person(n, f"{order} {turn}") for n in range(400)[::order]))
            retries.append(sink.retries)
        except BaseException as error:
            errors.append(error)

    retries: list[int] = []
    threads = [threading.Thread(target=work, args=[order]) for order in (1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors
    # Rows are locked in the order of their keys, whatever the order of the records.
    assert retries == [0, 0]
    assert {name for (name,) in target.execute("SELECT DISTINCT name FROM people")} <= {"1 14", "-1 14"}


class Rotating:
    """Hands out the password of now."""

    password = ""

    def configure(self, config: Mapping[str, str]) -> None:
        self._user = config["user"]

    def credentials(self) -> tuple[str, str]:
        return self._user, Rotating.password


def test_a_class_is_asked_for_credentials_at_each_connection(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Postgres(postgres_database)
    role = f"turning_{postgres_database.name}"
    target.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'first' SUPERUSER")
    monkeypatch.setitem(sys.modules, "rotating_passwords", sys.modules[__name__])
    Rotating.password = "first"
    keys = {
        "jdbc.credentials.provider.class": "rotating_passwords:Rotating",
        "jdbc.credentials.provider.user": role,
        "connection.user": "",
        "connection.password": "",
    }
    try:
        config = {**target.config, **keys, "topics": "people", "auto.create": "true", "retry.backoff.ms": "1"}
        with SinkRun(JdbcSinkConnector, config) as sink:
            sink.put(person(1))
            target.execute(f"ALTER ROLE {role} PASSWORD 'second'")
            Rotating.password = "second"
            ended = target.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'")
            assert ended == [(True,)]
            sink.put(person(2))
        assert target.execute("SELECT count(*) FROM people") == [(2,)]
    finally:
        target.execute(f"DROP OWNED BY {role}")
        target.execute(f"DROP ROLE {role}")


def test_what_waits_of_partitions_that_were_lost_is_not_written(postgres_database: PostgresDatabase) -> None:
    """The transaction that runs is finished, the one behind it never begins."""
    target = Postgres(postgres_database)
    target.execute("CREATE TABLE people (id integer PRIMARY KEY, name text, balance numeric)")
    with postgres_database.connect(autocommit=False) as blocker, run(target) as sink:
        sink.put(person(-1))
        blocker.execute("LOCK TABLE people")
        sink.put(*map(person, range(600)))
        background = sink.task._background  # type: ignore[attr-defined]
        until(lambda: background._writing and not background._size)
        sink.put(*map(person, range(600, 1200)))
        assert background._size == 1

        def release() -> None:
            until(lambda: not background._size)
            blocker.rollback()

        releasing = threading.Thread(target=release)
        releasing.start()
        sink.lose(TopicPartition("people", 0))
        releasing.join(60)
    assert target.execute("SELECT count(*), max(id) FROM people") == [(601, 599)]
