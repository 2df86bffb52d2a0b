"""Change capture on a real MariaDB: what is in its log, and what becomes of rows when connections break."""

from __future__ import annotations

import pytest

from connect import SourceRecord
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture import MySqlCdcSourceConnector
from tests.servers.mariadb import MariaServer

from .captured import PATIENCE, ids, ops
from .mysql_captured import CapturedMaria, CutOnce, numbers


@pytest.fixture
def captured(captured_mariadb: CapturedMaria) -> CapturedMaria:
    return captured_mariadb


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


def test_a_truncation_comes_once_however_often_the_connector_starts(line: CapturedMaria) -> None:
    wanted = {"snapshot_mode": "no_data", "skipped_operations": "none"}
    run = line.run(**wanted).start()
    run.poll()
    line.execute("TRUNCATE TABLE line")
    assert ops(run.poll_until(1)) == ["t"]
    block = run.records[0].value["source"]
    run.stop()
    later = SourceRun(line.connector, line.config(**wanted), offsets=run.offsets, timeout=PATIENCE)
    with later:
        later.poll()
        line.execute("INSERT INTO line VALUES (1, 'again')")
        records = later.poll_until(1)
        assert ops(records) == ["c"]
        assert (block["file"], block["pos"]) < (records[0].value["source"]["file"], records[0].value["source"]["pos"])
        assert (block["snapshot"], block["table"]) == ("false", "line")


def test_under_mysqls_name_blocks_say_so(line: CapturedMaria) -> None:
    line.connector = MySqlCdcSourceConnector  # type: ignore[assignment]
    run = line.run().start()
    records: list[SourceRecord] = run.poll_until(5000)
    assert records[0].value["source"]["connector"] == "mysql"
    schema = records[0].value_schema
    assert schema is not None
    assert schema.field("source").schema.name == "io.debezium.connector.mysql.Source"
