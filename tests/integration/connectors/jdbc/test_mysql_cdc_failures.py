"""What a real MariaDB must be like to be captured: what is missing is said, by validation or by the task that waits."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from connect import ConnectError, RetriableError
from connectors.jdbc.mysql_capture.login import connection_options
from connectors.jdbc.mysql_capture.replication import ReplicationConnection
from tests.servers.mariadb import MariaServer
from tests.support.waiting import until

from .captured import PATIENCE, Writer, ids, ops
from .mysql_captured import CapturedMaria, durable_server, numbers


@pytest.fixture
def captured(captured_mariadb: CapturedMaria) -> CapturedMaria:
    return captured_mariadb


@pytest.fixture(scope="module")
def own_server(mariadb: MariaServer) -> Iterator[MariaServer]:
    """A server that tests may kill. The usual one is asked for so that its programs are there."""
    server = durable_server()
    yield server
    server.close()


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


def test_without_the_right_to_lock_all_tables_the_captured_ones_are_locked(line: CapturedMaria) -> None:
    """As on the servers of some providers, which give nobody the right to FLUSH TABLES WITH READ LOCK."""
    name = line.database.name
    line.execute(
        "CREATE USER locking IDENTIFIED BY 'locking'",
        "GRANT BINLOG MONITOR, REPLICATION SLAVE ON *.* TO locking",
        f"GRANT SELECT, LOCK TABLES ON {name}.* TO locking",
        "CREATE TABLE `other``one` (id int PRIMARY KEY)",
    )
    writer = Writer(line.database)
    try:
        with line.database.connect(autocommit=False) as late, late.cursor() as cursor:
            cursor.execute("INSERT INTO line VALUES (6001, 'not committed yet')")
            run = line.run(database_user="locking", database_password="locking").start()
            with ThreadPoolExecutor(1) as threads:
                waiting = "SELECT 1 FROM information_schema.processlist WHERE user = 'locking' AND state LIKE '%lock%'"
                read = threads.submit(run.poll_until, 5001)
                until(lambda: line.database.execute(waiting), PATIENCE)
                late.commit()
                read.result(PATIENCE)
        line.until(run, lambda: "c" in ops(run.records))
        written = writer.stop()
        line.until(run, lambda: len(run.records) >= 5001 + len(written))
        assert Counter(ids(run.records)) == Counter([*range(1, 5001), 6001, *written])
        run.stop()
    finally:
        writer.stop()
        line.execute("DROP USER locking")


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


@pytest.mark.parametrize("logs", ["OFF", "ON"])
def test_a_replica_whose_log_has_nothing_of_its_primary_is_told(
    own_server: MariaServer, logs: str, caplog: pytest.LogCaptureFixture
) -> None:
    replica = MariaServer(**{"server-id": "2", "log-slave-updates": logs})
    try:
        replica.execute(
            f"CHANGE MASTER TO MASTER_HOST = '{own_server.host}', MASTER_PORT = {own_server.port}, "
            f"MASTER_USER = '{own_server.user}', MASTER_PASSWORD = '{own_server.password}', MASTER_USE_GTID = no"
        )
        replica.execute("START SLAVE")
        until(
            lambda: replica.execute("SHOW GLOBAL STATUS LIKE 'Slaves_running'") == [("Slaves_running", "1")], PATIENCE
        )
        captured = CapturedMaria(replica)
        captured.run(snapshot_mode="no_data").start().poll()
        assert ("is a replica without log_slave_updates" in caplog.text) == (logs == "OFF")
        captured.close()
    finally:
        replica.close()


def test_validation_says_what_is_wrong(captured: CapturedMaria) -> None:
    errors = captured.errors
    assert "Access denied" in errors(database_password="wrong")["database.hostname"][0]
    assert "server's own" in errors(database_server_id="1")["database.hostname"][0]
    assert "is not a file" in errors(database_ssl_ca="/nowhere.pem")["database.ssl.ca"][0]
    assert "minimal" in errors(snapshot_locking_mode="custom")["snapshot.locking.mode"][0]
    for mode in ("minimal", "extended", "none"):
        assert errors(snapshot_locking_mode=mode) == {}


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
