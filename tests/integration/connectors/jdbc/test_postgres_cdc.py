"""Change capture on a real PostgreSQL: nothing told done too early, and what becomes of slots and publications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from connect import ConnectError, RetriableError
from connect.data.unavailable import Placeholder
from connect.telemetry.outages import outages
from connect.testing import SourceRun
from connectors.jdbc.capture import PostgresCdcSourceConnector, PostgresCdcSourceTask
from connectors.jdbc.capture.replication import ConnectionLost, ReplicationConnection, parameters
from tests.servers.postgresql import PostgresServer, PostgresStandby
from tests.support.open_files import many_open_files
from tests.support.waiting import until

from .captured import PATIENCE, fields, ids, ops
from .postgres_captured import ACTIVE, CapturedPostgres


@pytest.fixture
def captured(captured_postgres: CapturedPostgres) -> CapturedPostgres:
    return captured_postgres


@pytest.fixture(scope="module")
def own_server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that a test may stop. The usual one is asked for so that its programs are there."""
    server = PostgresServer()
    yield server
    server.close()


def test_upstream_is_told_only_what_is_stored(line: CapturedPostgres) -> None:
    run = line.run().start()
    line.until(run, lambda: len(run.records) == 5000 and bool(run.offsets))
    line.until(run, lambda: line.confirmed() > 0)
    run.hold()
    stored = dict(run.offsets[0][1])
    before = line.end_of_log()
    for number in range(6000, 6010):
        line.database.execute("INSERT INTO line VALUES (%s, 'held')", [number])
    line.until(run, lambda: sum(map(len, run.polled)) >= 5010)
    for _ in range(20):
        run.poll()
        assert line.confirmed() <= before
    assert run.offsets[0][1] == stored
    run.acknowledge()
    line.until(run, lambda: line.confirmed() > before)
    assert run.offsets[0][1]["lsn"] > before - 1


def test_a_connection_that_breaks_while_rows_are_handed_out_costs_none(
    line: CapturedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ConnectionLost("it broke")

    run = line.run(max_batch_size="100", snapshot_fetch_size="1000")
    with monkeypatch.context() as patch:
        patch.setattr(ReplicationConnection, "start", broken)
        run.start().poll_until(5000)  # the last of the snapshot, behind which the stream begins
        run.poll()
    line.until(run, line.streaming)
    with monkeypatch.context() as patch:
        patch.setattr(ReplicationConnection, "say", broken)
        task: Any = run.task
        task._stream.asked = True
        line.database.execute("INSERT INTO line SELECT i, 'x' FROM generate_series(6001, 6500) i")
        line.until(run, lambda: 6300 in ids(run.records))
    line.until(run, lambda: 6500 in ids(run.records))
    assert Counter(ids(run.records)) == Counter([*range(1, 5001), *range(6001, 6501)])


def test_the_schema_changes_in_the_stream(line: CapturedPostgres) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.database.execute("INSERT INTO line VALUES (6001, 'old')")
    line.database.execute("ALTER TABLE line ADD COLUMN price numeric(6, 2) NOT NULL DEFAULT 1.5")
    line.database.execute("INSERT INTO line VALUES (6002, 'new', 2.25)")
    line.database.execute("ALTER TABLE line DROP COLUMN word")
    line.database.execute("INSERT INTO line VALUES (6003, 3)")
    records = run.poll_until(3)
    assert [fields(r) for r in records] == [["id", "word"], ["id", "word", "price"], ["id", "price"]]
    assert [str(r.value["after"].get("price")) for r in records] == ["None", "2.25", "3.00"]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_rows_from_before_their_key_was_renamed_have_the_key_of_their_time(
    line: CapturedPostgres, identity: str
) -> None:
    """As far as the log tells it: with FULL all columns identify a row there, and no key is made of those."""
    line.execute(f"ALTER TABLE line REPLICA IDENTITY {identity}")
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    run.stop()
    line.execute(
        "DELETE FROM line WHERE id = 7", "ALTER TABLE line RENAME id TO number", "INSERT INTO line VALUES (-1, 'x')"
    )
    run.restart()
    key = {"id": 7} if identity == "DEFAULT" else None
    line.until(run, lambda: any(r.value and r.value["op"] == "c" for r in run.records))
    *deletion, insertion = run.records
    assert [r.key for r in deletion] == ([key] * 2 if key else [None])
    assert insertion.key == {"number": -1}


def test_a_deletion_is_done_only_with_its_tombstone(line: CapturedPostgres) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.database.execute("DELETE FROM line WHERE id = 3")
    run.poll_until(2)
    (batch,) = run.polled
    first, second = batch.source_offsets
    assert (first["lsn_change"], second["lsn_change"]) == (0, 1)
    assert "lsn_commit" not in first or first["lsn_commit"] < second["lsn_commit"]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_large_values_that_did_not_change_have_a_placeholder(captured: CapturedPostgres, identity: str) -> None:
    captured.database.execute("CREATE TABLE large (id int PRIMARY KEY, number int, body text)")
    captured.database.execute("ALTER TABLE large ALTER body SET STORAGE EXTERNAL")
    captured.database.execute(f"ALTER TABLE large REPLICA IDENTITY {identity}")
    captured.database.execute("INSERT INTO large VALUES (1, 1, repeat('x', 10000))")
    run = captured.run(unavailable_value_placeholder="not sent").start()
    run.poll_until(1)
    captured.database.execute("UPDATE large SET number = 2")
    after = run.poll_until(2)[1].value["after"]
    assert after == {"id": 1, "number": 2, "body": "not sent" if identity == "DEFAULT" else "x" * 10000}


def test_large_arrays_that_did_not_change_have_debezium_s_placeholders(captured: CapturedPostgres) -> None:
    items = {
        "text": "md5(n::text)",
        "bytea": "decode(md5(n::text), 'hex')",
        "int": "n",
        "bigint": "n",
        "date": "date '2026-01-01' + n",
        "uuid": "md5(n::text)::uuid",
    }
    columns = ", ".join(f"{kind}s {kind}[]" for kind in items)
    external = ", ".join(f"ALTER {kind}s SET STORAGE EXTERNAL" for kind in items)
    values = ", ".join(f"(SELECT array_agg({item}) FROM generate_series(1, 3000) AS n)" for item in items.values())
    captured.execute(
        f"CREATE TABLE arrays (id int PRIMARY KEY, number int, {columns})",
        f"ALTER TABLE arrays {external}",
        f"INSERT INTO arrays VALUES (1, 1, {values})",
    )
    run = captured.run(unavailable_value_placeholder="gone", snapshot_mode="no_data").start()
    run.poll()
    captured.execute("UPDATE arrays SET number = 2")
    (record,) = run.poll_until(1)
    after = record.value["after"]
    numbers = [103, 111, 110, 101]
    assert after == {
        "id": 1,
        "number": 2,
        "texts": ["gone"],
        "byteas": [b"gone"],
        "ints": numbers,
        "bigints": numbers,
        "dates": numbers,
        "uuids": ["50c1f58b-e7f5-347e-8f53-d64c094783c2"],
    }
    assert sorted(Placeholder("gone").fields_of(after)) == ["bigints", "byteas", "dates", "ints", "texts", "uuids"]


def test_a_large_key_that_did_not_change_is_the_key(captured: CapturedPostgres) -> None:
    key = "".join(chr(97 + number * number % 26) for number in range(2500))
    captured.execute(
        "CREATE TABLE big (name text PRIMARY KEY, n int)",
        "ALTER TABLE big ALTER COLUMN name SET STORAGE EXTERNAL",
        f"INSERT INTO big VALUES ('{key}', 1)",
    )
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.execute("UPDATE big SET n = 2", "DELETE FROM big")
    records = run.poll_until(3)
    assert ops(records) == ["u", "d", None]
    assert [record.key for record in records] == [{"name": key}] * 3
    assert records[0].value["after"] == {"name": key, "n": 2}


def test_a_truncation_of_several_tables_is_done_only_with_the_last_of_them(captured: CapturedPostgres) -> None:
    captured.execute("CREATE TABLE one (id int)", "CREATE TABLE two (id int)")
    wanted = {"snapshot_mode": "no_data", "skipped_operations": "none"}
    run = captured.run(**wanted).start()
    run.poll()
    run.hold()  # so that the server keeps it
    captured.execute("TRUNCATE one, two")
    captured.until(run, lambda: len(run.records) == 2)
    offsets = [dict(offset) for batch in run.polled for offset in batch.source_offsets]
    run.stop()
    for offset, left in zip(offsets, (["one", "two"], []), strict=True):
        stored = [({"server": "shop"}, offset)]
        with SourceRun(captured.connector, captured.config(**wanted), offsets=stored, timeout=PATIENCE) as later:
            later.hold()
            for _ in range(10):
                later.poll()
            assert [record.topic.rpartition(".")[2] for record in later.records] == left


def test_the_slot_stays_small_while_other_databases_are_busy(line: CapturedPostgres, postgres: PostgresServer) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.database.execute("INSERT INTO line VALUES (6001, 'x')")
    run.poll_until(1)
    for _ in range(3):
        postgres.execute("CREATE TABLE IF NOT EXISTS busy (a text); INSERT INTO busy VALUES (repeat('x', 1000))")
        end = line.end_of_log()
        line.until(run, lambda end=end: line.confirmed() >= end)
    postgres.execute("DROP TABLE busy")
    assert len(run.records) == 1


def test_a_slot_in_use_is_waited_for(line: CapturedPostgres) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    run.stop()
    other = ReplicationConnection(parameters(line.config()))
    other.start(line.slot, 0, "dbz_publication")
    run.restart()
    run.poll()
    refused = run._tasks[0].task.refused
    assert isinstance(refused, RetriableError)
    assert line.slot in str(refused)
    assert "in use by another connection" in str(refused)
    other.close()
    line.database.execute("INSERT INTO line VALUES (6001, 'x')")
    run.poll_until(1)


def test_a_slot_that_is_gone_is_an_error_unless_a_new_snapshot_may_be_made(line: CapturedPostgres) -> None:
    run = line.run().start()
    run.poll_until(5000)
    run.stop()
    line.database.execute("SELECT pg_drop_replication_slot(%s)", [line.slot])
    line.database.execute("INSERT INTO line VALUES (6001, 'while the slot was gone')")
    run.restart()
    with pytest.raises(Exception, match="does not exist any more"):
        run.poll()
    run.restart({"snapshot.mode": "when_needed"})
    line.until(run, lambda: len(run.records) >= 10001)
    assert 6001 in ids(run.records)


def test_a_snapshot_without_a_stream_leaves_no_slot(line: CapturedPostgres) -> None:
    run = line.run(snapshot_mode="initial_only").start()
    run.poll_until(5000)
    for _ in range(3):
        run.poll()
    assert line.database.execute(ACTIVE, [line.slot]) == []


def test_a_snapshot_is_read_from_a_standby(own_server: PostgresServer) -> None:
    own_server.execute("CREATE TABLE IF NOT EXISTS line (id int PRIMARY KEY, word text)")
    own_server.execute("INSERT INTO line SELECT i, 'x' FROM generate_series(1, 10) i")
    standby = PostgresStandby(own_server)
    try:
        captured = CapturedPostgres(standby)
        run = captured.run(snapshot_mode="initial_only").start()
        assert ids(run.poll_until(10)) == list(range(1, 11))
        assert run.records[0].value["source"]["lsn"] > 0
        run.stop()
    finally:
        standby.close()


def test_a_slot_is_dropped_when_the_task_stops_if_that_is_wanted(line: CapturedPostgres) -> None:
    run = line.run(slot_drop_on_stop="true", snapshot_mode="no_data").start()
    run.poll()
    slots = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
    assert line.database.execute(slots, [line.slot]) != []
    run.stop()
    assert line.database.execute(slots, [line.slot]) == []


def test_labels_that_an_enum_is_given_are_allowed(captured: CapturedPostgres) -> None:
    captured.database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE person (id int PRIMARY KEY, feels mood)"
    )
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    captured.database.execute("INSERT INTO person VALUES (1, 'sad')")
    run.poll_until(1)
    captured.database.execute("ALTER TYPE mood ADD VALUE 'angry' BEFORE 'sad'")
    captured.database.execute("ALTER TABLE person ADD COLUMN age int")
    captured.database.execute("INSERT INTO person VALUES (2, 'angry', 30)")
    allowed = [
        record.value_schema.field("after").schema.field("feels").schema.parameters["allowed"]  # type: ignore[union-attr]
        for record in run.poll_until(2)
    ]
    assert allowed == ["sad,happy", "angry,sad,happy"]


def test_rows_of_an_enum_that_was_replaced_by_another_are_read(captured: CapturedPostgres) -> None:
    """As it is done to take a label away: rows that were written before have the type that is gone."""
    captured.database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE person (id int PRIMARY KEY, feels mood)"
    )
    run = captured.run(snapshot_mode="no_data").start()
    run.poll()
    run.stop()
    captured.database.execute("INSERT INTO person VALUES (1, 'happy')")
    captured.database.execute(
        "CREATE TYPE temper AS ENUM ('happy');"
        "ALTER TABLE person ALTER COLUMN feels TYPE temper USING feels::text::temper; DROP TYPE mood"
    )
    captured.database.execute("INSERT INTO person VALUES (2, 'happy')")
    run.restart()
    # The table was written anew, which is no change of its rows.
    assert [record.value["after"] for record in run.poll_until(2)] == [
        {"id": 1, "feels": "happy"},
        {"id": 2, "feels": "happy"},
    ]


def test_a_process_with_many_open_files_captures_all_the_same(line: CapturedPostgres) -> None:
    with many_open_files():
        run = line.run().start()
        run.poll_until(5000)
        line.database.execute("INSERT INTO line VALUES (6001, 'x')")
        assert ids(run.poll_until(5001))[-1] == 6001
        run.stop()


def test_a_table_that_may_not_be_read_is_an_error(line: CapturedPostgres) -> None:
    line.database.execute("CREATE ROLE capturing REPLICATION LOGIN PASSWORD 'capturing'")
    try:
        line.database.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
        run = line.run(database_user="capturing", database_password="capturing").start()
        with pytest.raises(ConnectError, match="line cannot be read: .*permission denied"):
            run.poll()
        line.database.execute("GRANT SELECT ON line TO capturing")
        run.restart()
        run.poll_until(5000)
        run.stop()
    finally:
        line.database.execute("DROP OWNED BY capturing; DROP ROLE capturing")


def test_a_publication_of_the_captured_tables_follows_them(
    line: CapturedPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    database = line.database
    database.execute("CREATE TABLE other (id int PRIMARY KEY); CREATE TABLE third (id int PRIMARY KEY)")
    published = "SELECT tablename FROM pg_publication_tables WHERE pubname = 'dbz_publication' ORDER BY 1"
    settings = {"snapshot_mode": "no_data", "publication_autocreate_mode": "filtered"}
    run = line.run(**settings, table_include_list="public\\.(line|other)").start()
    run.poll()
    assert database.execute(published) == [("line",), ("other",)]
    assert "is left without" not in caplog.text
    run.restart({"table.include.list": "public.line,PUBLIC.third"})
    run.poll()
    assert database.execute(published) == [("line",), ("third",)]
    # Two connectors with one publication would take each other's tables out of it.
    assert '"dbz_publication" is left without public.other, which this connector does not capture' in caplog.text


def test_a_publication_of_the_captured_tables_has_partitions_to_come(captured: CapturedPostgres) -> None:
    database = captured.database
    database.execute("CREATE TABLE line (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part)")
    database.execute("CREATE TABLE line_1 PARTITION OF line FOR VALUES IN (1)")
    database.execute("CREATE TABLE archive (id int, part int) PARTITION BY LIST (part)")
    database.execute("CREATE TABLE archive_1 PARTITION OF archive FOR VALUES IN (1)")
    database.execute("CREATE TABLE archive_2 PARTITION OF archive FOR VALUES IN (2)")
    told = {"publication_autocreate_mode": "filtered", "snapshot_mode": "no_data"}
    run = captured.run(**told, table_include_list="public.line.*,public.archive,public.archive_1").start()
    run.poll()
    database.execute("CREATE TABLE line_2 PARTITION OF line FOR VALUES IN (2)")
    database.execute("INSERT INTO line VALUES (1, 1), (2, 2)")
    assert [(record.topic, record.key["id"]) for record in run.poll_until(2)] == [
        ("shop.public.line_1", 1),
        ("shop.public.line_2", 2),
    ]
    # Of a table whose partitions are not all captured the others are none of the connector's business.
    published = "SELECT tablename FROM pg_publication_tables WHERE pubname = 'dbz_publication' ORDER BY 1"
    assert database.execute(published) == [("archive_1",), ("line_1",), ("line_2",)]


def test_a_paused_task_stays_connected(line: CapturedPostgres) -> None:
    run = line.run(snapshot_mode="no_data", status_update_interval_ms="100").start()
    run.poll()
    run.pause()
    replies = "SELECT pid, reply_time FROM pg_stat_replication JOIN pg_replication_slots ON pid = active_pid"
    replies += " WHERE slot_name = %s"
    first = line.database.execute(replies, [line.slot])
    until(lambda: line.database.execute(replies, [line.slot]) != first, PATIENCE)
    assert line.database.execute(replies, [line.slot])[0][0] == first[0][0]


def test_a_task_that_is_paused_for_long_lets_the_server_go(
    line: CapturedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A server that shuts down waits for whoever is connected and has not confirmed all of its log.
    monkeypatch.setattr(PostgresCdcSourceTask, "away_seconds", 0.2)
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    run.pause()
    until(lambda: line.database.execute(ACTIVE, [line.slot]) == [(False,)], PATIENCE)
    line.database.execute("INSERT INTO line VALUES (6001, 'while it was paused')")
    run.resume()
    assert ids(run.poll_until(1)) == [6001]


def test_partitions_go_to_the_topic_of_their_table(captured: CapturedPostgres) -> None:
    captured.database.execute("CREATE TABLE line (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part)")
    captured.database.execute("CREATE TABLE line_1 PARTITION OF line FOR VALUES IN (1)")
    captured.database.execute("INSERT INTO line VALUES (1, 1)")
    run = captured.run(publish_via_partition_root="true").start()
    run.poll_until(1)
    captured.database.execute("INSERT INTO line VALUES (2, 1)")
    run.poll_until(2)
    assert [(r.topic, r.key["id"]) for r in run.records] == [("shop.public.line", 1), ("shop.public.line", 2)]


def test_rows_of_a_table_that_inherits_from_another_are_its_own(captured: CapturedPostgres) -> None:
    """In the stream they are; in a snapshot of the other one nothing would ever change or delete them."""
    captured.execute(
        "CREATE TABLE line (id int PRIMARY KEY)",
        "CREATE TABLE longer (PRIMARY KEY (id)) INHERITS (line)",
        "CREATE TABLE signals (id text, type text, data text)",
        "INSERT INTO line VALUES (1)",
        "INSERT INTO longer VALUES (2)",
    )
    told = {"signal_data_collection": "public.signals", "table_include_list": "public.line,public.longer"}
    run = captured.run(**told).start()
    run.poll_until(2)
    captured.execute("""INSERT INTO signals VALUES ('1', 'execute-snapshot', '{"data-collections": ["public.*"]}')""")
    captured.until(run, lambda: ids(run.records, "longer") == [2, 2])
    captured.execute("INSERT INTO longer VALUES (3)", "INSERT INTO line VALUES (4)")
    captured.until(run, lambda: 4 in ids(run.records))
    assert ids(run.records) == [1, 1, 4]
    assert ids(run.records, "longer") == [2, 2, 3]


def test_validation_says_that_the_server_does_not_log_enough(own_server: PostgresServer) -> None:
    own_server.stop()
    own_server.start(wal_level="replica")
    try:
        captured = CapturedPostgres(own_server)
        (error,) = captured.errors()["database.hostname"]
        assert "wal_level of the server is replica. Set wal_level=logical" in error
    finally:
        own_server.stop()
        own_server.start(wal_level="logical")
    assert captured.errors() == {}


def test_validation_says_what_is_wrong(captured: CapturedPostgres) -> None:
    errors = captured.errors
    assert "password authentication failed" in errors(database_password="wrong")["database.hostname"][0]
    assert "pgoutput" in errors(plugin_name="decoderbufs")["plugin.name"][0]
    captured.database.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    try:
        refused = errors(database_user="reader", database_password="reader")["database.hostname"][0]
        assert 'ALTER ROLE "reader" REPLICATION' in refused
    finally:
        captured.database.execute("DROP ROLE reader")
    url = captured.config(
        connection_url=f"jdbc:postgresql://127.0.0.1:{captured.database.port}/{captured.database.name}"
    )
    for key in ("database.hostname", "database.port", "database.dbname"):
        url.pop(key)
    assert not any(each.errors for each in PostgresCdcSourceConnector().validate(url))


def test_a_snapshot_does_not_stand_still_before_a_locked_table(line: CapturedPostgres) -> None:
    line.execute("CREATE TABLE second (id int PRIMARY KEY)", "INSERT INTO second VALUES (1)")
    run = line.run(snapshot_mode="initial_only").start()
    with line.database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE second")
        run.poll_until(4999)  # the last one shows when the next table begins
        line.until(run, lambda: (wait := outages.longest()) is not None and "a lock on public.second" in wait.why)
    assert ids(run.poll_until(5001), "second") == [1]
    assert outages.longest() is None
    run.stop()


def test_transactions_that_keep_a_slot_from_being_made_are_named() -> None:
    """A prepared one stays when its session is gone, and after a restart of the server."""
    server = PostgresServer(max_prepared_transactions="2")
    try:
        captured = CapturedPostgres(server.database("shop"))
        captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
        captured.execute("BEGIN; INSERT INTO line VALUES (1, 'prepared'); PREPARE TRANSACTION 'left'")
        run = captured.run().start()
        with ThreadPoolExecutor(1) as threads:
            read = threads.submit(captured.until, run, lambda: len(run.records) == 1)
            try:
                until(lambda: (wait := outages.longest()) is not None and "transaction 'left'" in wait.why)
            finally:
                captured.execute("COMMIT PREPARED 'left'")
            read.result(PATIENCE)
        until(lambda: outages.longest() is None)
        run.stop()
    finally:
        server.close()
