"""Change capture on a real MariaDB: nothing lost, nothing out of order, whatever breaks."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError, RetriableError, SourceRecord
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture import MySqlCdcSourceConnector, binlog
from connectors.jdbc.mysql_capture.login import connection_options
from connectors.jdbc.mysql_capture.replication import ReplicationConnection
from tests.servers.mariadb import MariaServer
from tests.support.waiting import until

from .mysql_captured import PATIENCE, Captured, Writer, ids, numbers, ops


@pytest.fixture
def captured(mariadb: MariaServer) -> Iterator[Captured]:
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    made = Captured(database)
    yield made
    made.close()
    database.drop()


@pytest.fixture(scope="module")
def own_server(mariadb: MariaServer) -> Iterator[MariaServer]:
    """A server that tests may kill. The usual one is asked for so that its programs are there."""
    server = MariaServer(**{"innodb-flush-log-at-trx-commit": "1", "sync-binlog": "1"})
    yield server
    server.close()


@pytest.fixture
def line(captured: Captured) -> Captured:
    """With a table of lines, of which there are some already."""
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)", numbers(1, 5000, "before"))
    return captured


@pytest.mark.quick
@pytest.mark.parametrize("locking", ["minimal", "none"])
def test_nothing_falls_between_snapshot_and_stream(line: Captured, locking: str) -> None:
    writer = Writer(line.database)
    try:
        until(lambda: len(writer.written) >= 50, 150)
        run = line.run(snapshot_fetch_size="500", snapshot_locking_mode=locking).start()
        run.poll_until(5000)
        line.until(run, lambda: any(r.value["op"] == "c" for r in run.records))
        before = len(writer.written)
        until(lambda: len(writer.written) >= before + 50, 150)
    finally:
        written = writer.stop()
    wanted = Counter([*range(1, 5001), *written])
    line.until(run, lambda: len(run.records) >= wanted.total())
    run.poll()
    assert Counter(ids(run.records)) == wanted
    kinds = ops(run.records)
    assert kinds == sorted(kinds, reverse=True), "all of the snapshot comes first"
    marks = [r.value["source"]["snapshot"] for r in run.records]
    assert marks[0] == "first"
    assert marks.count("last") == 1
    assert set(marks[kinds.index("c") :]) == {"false"}


def test_a_task_that_dies_in_a_big_transaction_goes_on_where_it_was(line: Captured) -> None:
    run = line.run(max_batch_size="100").start()
    run.poll_until(5000)
    line.execute("BEGIN", numbers(10001, 13000, "big"), numbers(20001, 23000, "bigger"), "COMMIT")
    while len(run.records) < 11000:
        run.poll_until(min(len(run.records) + 250, 11000))
        run.crash()
        run.restart()
    found = Counter(ids(run.records))
    assert set(found) == {*range(1, 5001), *range(10001, 13001), *range(20001, 23001)}
    # Each poll is stored at once here, and so none of it comes again.
    assert found.total() == len(found)


def test_what_was_not_stored_comes_again_after_a_crash(line: Captured) -> None:
    run = line.run(max_batch_size="100").start()
    run.poll_until(5000)
    run.hold()
    line.execute(numbers(10001, 12000, "big"))
    line.until(run, lambda: sum(map(len, run.polled)) >= 5500)
    run.acknowledge(130)
    run.crash()
    run.acknowledge()
    run.restart()
    line.until(run, lambda: 12000 in ids(run.records))
    assert set(ids(run.records)) == {*range(1, 5001), *range(10001, 12001)}


@pytest.mark.quick
def test_reading_continues_behind_any_row(line: Captured) -> None:
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


def test_a_server_that_is_killed_costs_nothing(own_server: MariaServer) -> None:
    database = own_server.database(f"killed_{uuid.uuid4().hex[:8]}")
    captured = Captured(database)
    try:
        captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)", numbers(1, 2000, "before"))
        run = captured.run(max_batch_size="100").start()
        run.poll_until(2000)
        for turn in range(1, 4):
            captured.execute(numbers(turn * 10_000, turn * 10_000 + 999, "x"))
            captured.until(run, lambda turn=turn: turn * 10000 + 300 in ids(run.records))
            own_server.kill()
            run.poll()  # it finds out, and waits for the server
            own_server.start()
        captured.until(run, lambda: 30999 in ids(run.records))
        found = Counter(ids(run.records))
        assert found == Counter([*range(1, 2001), *(turn * 10000 + i for turn in (1, 2, 3) for i in range(1000))])
    finally:
        captured.close()
        database.drop()


def test_a_server_that_is_away_is_waited_for(own_server: MariaServer) -> None:
    database = own_server.database(f"away_{uuid.uuid4().hex[:8]}")
    captured = Captured(database)
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


def test_connections_that_are_killed_cost_no_row(line: Captured) -> None:
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
    line: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    receive, received = ReplicationConnection.receive, 0

    def breaking(stream: ReplicationConnection, wait: float = 0.0) -> bytes | None:
        nonlocal received
        found = receive(stream, wait)
        received += found is not None and found[4] in binlog.ROWS
        if received == 2:
            received += 1
            stream._lost("it was cut")
        return found

    monkeypatch.setattr(ReplicationConnection, "receive", breaking)
    line.execute(numbers(10_001, 13_000, "x"))
    line.until(run, lambda: 13_000 in ids(run.records))
    assert received > 3
    assert ids(run.records) == list(range(10_001, 13_001))


def test_a_snapshot_that_was_interrupted_begins_anew(line: Captured) -> None:
    run = line.run(snapshot_fetch_size="500").start()
    run.poll_until(1000)
    assert run.offsets[0][1]["snapshot_completed"] is False
    run.crash()
    line.execute("DELETE FROM line WHERE id <= 10", "INSERT INTO line VALUES (7777, 'later')")
    count = len(run.records)
    run.restart()
    line.until(run, lambda: any(r.value["source"]["snapshot"] == "last" for r in run.records))
    again = run.records[count:]
    assert Counter(ids(again)) == Counter([*range(11, 5001), 7777])
    line.execute("INSERT INTO line VALUES (8888, 'streamed')")
    run.poll_until(len(run.records) + 1)
    assert run.records[-1].value["op"] == "c"


@pytest.mark.quick
def test_updates_deletions_and_keys_that_change(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.execute(
        "UPDATE line SET word = 'changed' WHERE id = 1",
        "UPDATE line SET id = 9001 WHERE id = 2",
        "DELETE FROM line WHERE id = 3",
    )
    records = run.poll_until(6)
    assert [(r.key["id"], op) for r, op in zip(records, ops(records), strict=True)] == [
        *((1, "u"), (2, "d"), (2, None), (9001, "c"), (3, "d"), (3, None))
    ]
    assert records[0].value["before"] == {"id": 1, "word": "before"}
    assert records[0].value["after"] == {"id": 1, "word": "changed"}
    assert records[4].value["before"] == {"id": 3, "word": "before"}
    assert records[1].headers.last("__debezium.newkey").value == {"id": 9001}  # type: ignore[union-attr]
    assert records[3].headers.last("__debezium.oldkey").value == {"id": 2}  # type: ignore[union-attr]
    assert {r.value["source"]["connector"] for r in records if r.value} == {"mariadb"}


def test_a_deletion_is_done_only_with_its_tombstone(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.execute("DELETE FROM line WHERE id = 3")
    run.poll_until(2)
    (batch,) = run.polled
    first, second = batch.source_offsets
    assert ("row" in first, second["row"]) == (False, 1)


def test_transactions_that_are_rolled_back_are_not_seen(line: Captured) -> None:
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


def test_tables_without_transactions_are_captured(captured: Captured) -> None:
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text) ENGINE=Aria TRANSACTIONAL=0")
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("INSERT INTO line VALUES (1, 'a'), (2, 'b')", "UPDATE line SET word = 'c' WHERE id = 2")
    assert ops(run.poll_until(3)) == ["c", "c", "u"]


def test_heartbeats_move_the_stored_offset(line: Captured) -> None:
    line.execute("CREATE TABLE beats (id int PRIMARY KEY, at timestamp(6))", "INSERT INTO beats VALUES (1, now(6))")
    run = line.run(
        snapshot_mode="no_data",
        heartbeat_interval_ms="10",
        heartbeat_action_query=f"UPDATE {line.database.name}.beats SET at = now(6)",
        table_include_list=f"{line.database.name}.line",
    ).start()
    beat = "__debezium-heartbeat.shop"

    def ended() -> tuple[str, int]:
        ((file, position, *_),) = line.database.execute("SHOW MASTER STATUS")
        return file, position

    end = ended()
    line.until(run, lambda: bool(run.offsets) and (run.offsets[0][1]["file"], run.offsets[0][1]["pos"]) > end)
    assert {r.topic for r in run.records} == {beat}
    assert run.records[0].key == {"serverName": "shop"}
    line.execute("INSERT INTO line VALUES (6001, 'x')")
    line.until(run, lambda: 6001 in ids(run.records))
    # From the offset of a heartbeat reading goes on as from any other.
    line.until(run, lambda: run.records[-1].topic == beat)
    run.crash()
    line.execute("INSERT INTO line VALUES (6002, 'x')")
    run.restart()
    line.until(run, lambda: 6002 in ids(run.records))
    assert ids(run.records) == [6001, 6002]


def test_files_of_the_log_that_end_are_followed(line: Captured) -> None:
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


def test_a_log_that_is_purged_is_an_error_unless_a_new_snapshot_may_be_made(own_server: MariaServer) -> None:
    database = own_server.database(f"purged_{uuid.uuid4().hex[:8]}")
    line = Captured(database)
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


@pytest.mark.parametrize("mode", ["initial_only", "always"])
def test_other_modes_of_the_snapshot(line: Captured, mode: str) -> None:
    run = line.run(snapshot_mode=mode).start()
    run.poll_until(5000)
    if mode == "always":
        run.poll()  # the stream begins
    line.execute("INSERT INTO line VALUES (6001, 'x')")
    if mode == "initial_only":
        for _ in range(3):
            run.poll()
        assert len(run.records) == 5000
        run.restart()
        run.poll()
        assert len(run.records) == 5000
    else:
        run.poll_until(5001)
        run.restart()
        run.poll_until(10002)
        line.execute("INSERT INTO line VALUES (6002, 'x')")
        run.poll_until(10003)
        assert ops(run.records) == ["r"] * 5000 + ["c"] + ["r"] * 5001 + ["c"]


def test_another_reader_of_the_same_number_is_named(line: Captured) -> None:
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


def test_compressed_events_are_read(mariadb: MariaServer, line: Captured) -> None:
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


def test_truncations_are_events_if_they_are_wanted(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data", skipped_operations="none").start()
    run.poll()
    line.execute("TRUNCATE TABLE line", "INSERT INTO line VALUES (1, 'again')")
    records = run.poll_until(2)
    assert ops(records) == ["t", "c"]
    assert (records[0].key, records[0].value["before"], records[0].value["after"]) == (None, None, None)


def test_a_user_with_few_rights_is_told_which_are_missing(line: Captured) -> None:
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
    captured = Captured(own_server)
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


def test_validation_says_what_is_wrong(captured: Captured) -> None:
    errors = captured.errors
    assert "Access denied" in errors(database_password="wrong")["database.hostname"][0]
    assert (
        "not possible together" in errors(table_include_list="a.b", table_exclude_list="c.d")["table.exclude.list"][0]
    )
    assert "is not a regular expression" in errors(table_include_list="(")["table.include.list"][0]
    assert "server's own" in errors(database_server_id="1")["database.hostname"][0]
    assert "is not a file" in errors(database_ssl_ca="/nowhere.pem")["database.ssl.ca"][0]


def test_a_password_may_have_any_letter_and_tls_is_as_it_is_wanted(line: Captured) -> None:
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
    captured = Captured(own_server)
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


def test_databases_and_tables_are_listed(line: Captured) -> None:
    name = line.database.name
    connector = line.connector()
    assert name in connector.choices("database.include.list", line.config())
    assert f"{name}.line" in connector.choices("table.include.list", line.config())
    assert not any(each.startswith("mysql.") for each in connector.choices("table.exclude.list", line.config()))


def test_under_mysqls_name_blocks_say_so(line: Captured) -> None:
    line.connector = MySqlCdcSourceConnector  # type: ignore[assignment]
    run = line.run().start()
    records: list[SourceRecord] = run.poll_until(5000)
    assert records[0].value["source"]["connector"] == "mysql"
    schema = records[0].value_schema
    assert schema is not None
    assert schema.field("source").schema.name == "io.debezium.connector.mysql.Source"
