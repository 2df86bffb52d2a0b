"""Change capture on a real MariaDB: nothing lost, nothing out of order, whatever breaks."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError, RetriableError, SourceRecord
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture import MySqlCdcSourceConnector
from connectors.jdbc.mysql_capture.login import connection_options
from connectors.jdbc.mysql_capture.replication import ReplicationConnection
from tests.servers.mariadb import MariaServer
from tests.support.waiting import until

from .captured import PATIENCE, ids, ops
from .mysql_captured import CapturedMaria, CutOnce, durable_server, numbers


@pytest.fixture
def captured(captured_mariadb: CapturedMaria) -> CapturedMaria:
    return captured_mariadb


@pytest.fixture(scope="module")
def own_server(mariadb: MariaServer) -> Iterator[MariaServer]:
    """A server that tests may kill. The usual one is asked for so that its programs are there."""
    server = durable_server()
    yield server
    server.close()


@pytest.mark.quick
def test_reading_continues_behind_any_row(line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data", max_batch_size="100").start()
    run.poll()
    line.execute("BEGIN", numbers(10001, 12000, "big"), "UPDATE line SET id = -id WHERE id = 10001", "COMMIT")
    line.until(run, lambda: -10001 in ids(run.records))
    offsets = [offset for batch in run.polled for offset in batch.source_offsets]
    found = [record.key["id"] for record in run.records]
    assert found == [*range(10001, 12001), 10001, 10001, -10001]  # the deletion has a tombstone
    run.stop()
    for row in (0, 129, 816, 817, 818, 1998, 1999, len(found) - 3, len(found) - 2):
        again = SourceRun(line.connector, line.config(), offsets=[({"server": "shop"}, offsets[row])], timeout=PATIENCE)
        with again:
            line.until(again, lambda again=again: -10001 in ids(again.records))
        # A key that changes is three events of one row, which is done with the last of them.
        begin = min(row + 1, 2000)
        assert [record.key["id"] for record in again.records] == found[begin:]


def test_connections_that_are_killed_cost_no_row(line: CapturedMaria) -> None:
    run = line.run(max_batch_size="100").start()
    run.poll_until(5000)
    for turn in range(1, 6):
        line.execute(numbers(turn * 10_000, turn * 10_000 + 999, "x"))
        line.until(run, lambda turn=turn: turn * 10_000 + 333 in ids(run.records))
        for (number,) in line.database.execute(
            "SELECT id FROM information_schema.processlist WHERE command LIKE 'Bin%'"
        ):
            line.execute(f"KILL {number}")
    line.until(run, lambda: 50_999 in ids(run.records))
    assert ids(run.records) == [*range(1, 5001), *(turn * 10_000 + i for turn in range(1, 6) for i in range(1000))]


@pytest.mark.quick
def test_a_connection_that_breaks_in_the_middle_of_a_batch_costs_no_row(
    line: CapturedMaria, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    cut = CutOnce(monkeypatch)
    line.execute(numbers(10_001, 13_000, "x"))
    line.until(run, lambda: 13_000 in ids(run.records))
    assert cut.received > 3
    assert ids(run.records) == list(range(10_001, 13_001))


def test_a_deletion_is_done_only_with_its_tombstone(line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.execute("DELETE FROM line WHERE id = 3")
    run.poll_until(2)
    (batch,) = run.polled
    first, second = batch.source_offsets
    assert ("row" in first, second["row"]) == (False, 1)


def test_transactions_that_are_rolled_back_are_not_seen(line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.execute(
        "BEGIN",
        "INSERT INTO line VALUES (6001, 'no')",
        "ROLLBACK",
        "BEGIN",
        "INSERT INTO line VALUES (6002, 'yes')",
        "SAVEPOINT one",
        "INSERT INTO line VALUES (6003, 'no')",
        "ROLLBACK TO one",
        "INSERT INTO line VALUES (6004, 'yes')",
        "COMMIT",
        "XA START 'x'",
        "INSERT INTO line VALUES (6005, 'yes')",
        "XA END 'x'",
        "XA PREPARE 'x'",
        "XA COMMIT 'x'",
        "INSERT INTO line VALUES (6006, 'last')",
    )
    line.until(run, lambda: 6006 in ids(run.records))
    assert ids(run.records) == [6002, 6004, 6005, 6006]


def test_tables_without_transactions_are_captured(captured: CapturedMaria) -> None:
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text) ENGINE=Aria TRANSACTIONAL=0")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1, 'a'), (2, 'b')", "UPDATE line SET word = 'c' WHERE id = 2")
    assert ops(run.poll_until(3)) == ["c", "c", "u"]


def test_files_of_the_log_that_end_are_followed(line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data", max_batch_size="10").start()
    run.poll()
    for number in range(6001, 6010):
        line.execute(f"INSERT INTO line VALUES ({number}, 'x')", "FLUSH BINARY LOGS")
        line.until(run, lambda number=number: number in ids(run.records))
        if number % 3 == 0:
            run.crash()
            run.restart()
    assert ids(run.records) == list(range(6001, 6010))
    assert len({r.value["source"]["file"] for r in run.records}) == 9


def test_compressed_events_are_read(mariadb: MariaServer, line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    mariadb.execute("SET GLOBAL log_bin_compress = ON")
    try:
        line.execute("SET SESSION sql_log_bin = 1", f"INSERT INTO line VALUES (6001, '{'x' * 5000}')")
        line.execute("ALTER TABLE line ADD COLUMN more varchar(5000) DEFAULT '" + "y" * 3000 + "'")
        line.execute("UPDATE line SET more = repeat('z', 4000) WHERE id = 6001", "DELETE FROM line WHERE id = 6001")
        records = run.poll_until(4)
    finally:
        mariadb.execute("SET GLOBAL log_bin_compress = OFF")
    assert ops(records) == ["c", "u", "d", None]
    assert records[0].value["after"]["word"] == "x" * 5000
    assert records[1].value["after"]["more"] == "z" * 4000
    assert records[1].value["before"]["more"] == "y" * 3000


def test_truncations_are_events_if_they_are_wanted(line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data", skipped_operations="none").start()
    run.poll()
    line.execute("TRUNCATE TABLE line", "INSERT INTO line VALUES (1, 'again')")
    records = run.poll_until(2)
    assert ops(records) == ["t", "c"]
    assert (records[0].key, records[0].value["before"], records[0].value["after"]) == (None, None, None)


def test_under_mysqls_name_blocks_say_so(line: CapturedMaria) -> None:
    line.connector = MySqlCdcSourceConnector  # type: ignore[assignment]
    run = line.run().start()
    records: list[SourceRecord] = run.poll_until(5000)
    assert records[0].value["source"]["connector"] == "mysql"
    schema = records[0].value_schema
    assert schema is not None
    assert schema.field("source").schema.name == "io.debezium.connector.mysql.Source"


def test_a_server_that_is_away_is_waited_for(own_server: MariaServer) -> None:
    database = own_server.database(f"away_{uuid.uuid4().hex[:8]}")
    captured = CapturedMaria(database)
    try:
        captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
        run = captured.run(snapshot_mode="no_data").start()
        run.poll()
        own_server.kill()
        for _ in range(3):
            run.poll()
        refused: Any = run._tasks[0].task.refused
        assert isinstance(refused, RetriableError)
        assert refused.waits_for == f"MySQL 127.0.0.1:{own_server.port}"
        own_server.start()
        captured.execute("INSERT INTO line VALUES (1, 'after')")
        assert ids(run.poll_until(1)) == [1]
    finally:
        captured.close()
        database.drop()


def test_a_log_that_is_purged_is_an_error_unless_a_new_snapshot_may_be_made(own_server: MariaServer) -> None:
    database = own_server.database(f"purged_{uuid.uuid4().hex[:8]}")
    line = CapturedMaria(database)
    try:
        line.execute("CREATE TABLE line (id int PRIMARY KEY, word text)", numbers(1, 100, "before"))
        run = line.run().start()
        run.poll_until(100)
        run.stop()
        line.execute("INSERT INTO line VALUES (6001, 'while it was away')", "FLUSH BINARY LOGS")
        ((file, *_),) = database.execute("SHOW MASTER STATUS")

        def purged() -> bool:  # as soon as no reader is left
            line.execute(f"PURGE BINARY LOGS TO '{file}'")
            return bool(database.execute("SHOW BINARY LOGS")[0][0] == file)

        until(purged, PATIENCE)
        run.restart()
        with pytest.raises(ConnectError, match=r"(?s)not in the server's binary log.*snapshot.mode=when_needed"):
            line.until(run, lambda: False)
        run.restart({"snapshot.mode": "when_needed"})
        line.until(run, lambda: len(run.records) >= 201)
        assert 6001 in ids(run.records)
    finally:
        line.close()
        database.drop()


def test_another_reader_of_the_same_number_is_named(line: CapturedMaria) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    other = ReplicationConnection(connection_options(line.config()), line.server_id)
    ((file, *_),) = line.database.execute("SHOW MASTER STATUS")
    other.start(file, 4)
    line.until(run, lambda: run._tasks[0].task.refused is not None)
    refused = run._tasks[0].task.refused
    assert isinstance(refused, RetriableError)
    other.close()
    line.execute("INSERT INTO line VALUES (6001, 'x')")
    run.poll_until(1)


def test_a_user_with_few_rights_is_told_which_are_missing(line: CapturedMaria) -> None:
    name = line.database.name
    user = {"database_user": "capturing", "database_password": "capturing"}
    line.execute("CREATE USER capturing IDENTIFIED BY 'capturing'")
    try:
        assert "GRANT BINLOG MONITOR" in line.errors(**user)["database.hostname"][0]
        line.execute("GRANT BINLOG MONITOR ON *.* TO capturing")
        assert "GRANT REPLICATION SLAVE" in line.errors(**user)["database.hostname"][0]
        line.execute("GRANT REPLICATION SLAVE ON *.* TO capturing", f"GRANT SELECT ON {name}.* TO capturing")
        assert line.errors(**user) == {}
        run = line.run(**user).start()
        with pytest.raises(ConnectError, match="GRANT RELOAD"):
            run.poll()
        run.restart({"snapshot.locking.mode": "none"})
        run.poll_until(5000)
        line.execute("INSERT INTO line VALUES (6001, 'x')")
        run.poll_until(5001)
        run.stop()
    finally:
        line.execute("DROP USER capturing")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"skip-log-bin": "1"}, "The binary log of the server is off"),
        ({"binlog-format": "STATEMENT"}, "binlog_format of the server is STATEMENT. Set binlog_format=ROW"),
        ({"binlog-row-image": "MINIMAL"}, "binlog_row_image of the server is MINIMAL. Set binlog_row_image=FULL"),
    ],
)
def test_validation_says_what_the_server_lacks(own_server: MariaServer, settings: dict[str, str], said: str) -> None:
    captured = CapturedMaria(own_server)
    own_server.stop()
    own_server.start(**settings)
    try:
        (error,) = captured.errors()["database.hostname"]
        assert said in error
    finally:
        own_server.stop()
        for key in settings:
            own_server._settings.pop(key)
        own_server.start(**{"binlog-format": "ROW"})
    assert captured.errors() == {}


def test_validation_says_what_is_wrong(captured: CapturedMaria) -> None:
    errors = captured.errors
    assert "Access denied" in errors(database_password="wrong")["database.hostname"][0]
    assert "server's own" in errors(database_server_id="1")["database.hostname"][0]
    assert "is not a file" in errors(database_ssl_ca="/nowhere.pem")["database.ssl.ca"][0]


def test_a_password_may_have_any_letter_and_tls_is_as_it_is_wanted(line: CapturedMaria) -> None:
    user = {"database_user": "foreign", "database_password": "größe€λ"}
    with line.database.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER `foreign` IDENTIFIED BY 'größe€λ'")
        cursor.execute("GRANT ALL ON *.* TO `foreign`")
    try:
        assert line.errors(**user) == {}
        assert line.errors(**user, database_ssl_mode="required") == {}
        assert line.errors(**user, database_ssl_mode="disabled") == {}
        (refused,) = line.errors(**user, database_ssl_mode="verify_ca")["database.hostname"]
        assert "a certificate that is not trusted" in refused
        trusted = str(line.database.server.certificate)
        assert line.errors(**user, database_ssl_mode="verify_identity", database_ssl_ca=trusted) == {}
        (refused,) = line.errors(**{**user, "database_password": "größe€"})["database.hostname"]
        assert "Access denied" in refused
        assert "gr" not in refused
    finally:
        line.execute("DROP USER `foreign`")


def test_a_server_without_tls_is_reached_without_unless_it_is_required(own_server: MariaServer) -> None:
    captured = CapturedMaria(own_server)
    own_server.stop()
    own_server.start(**{"skip-ssl": "1"})
    try:
        assert captured.errors() == {}
        (refused,) = captured.errors(database_ssl_mode="required")["database.hostname"]
        assert "does not use TLS" in refused
    finally:
        own_server.stop()
        own_server._settings.pop("skip-ssl")
        own_server.start()


def test_databases_and_tables_are_listed(line: CapturedMaria) -> None:
    name = line.database.name
    connector = line.connector()
    assert name in connector.choices("database.include.list", line.config())
    assert f"{name}.line" in connector.choices("table.include.list", line.config())
    assert not any(each.startswith("mysql.") for each in connector.choices("table.exclude.list", line.config()))
