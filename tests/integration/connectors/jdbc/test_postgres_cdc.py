"""Change capture on a real PostgreSQL: nothing lost, nothing told done too early, whatever breaks."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError, RetriableError, SourceRecord
from connectors.jdbc.capture import PostgresCdcSourceConnector, PostgresCdcSourceTask
from connectors.jdbc.capture.replication import ConnectionLost, ReplicationConnection, parameters
from tests.integration.connectors.jdbc.captured import PATIENCE, Captured, Writer, ids, ops
from tests.servers.postgresql import PostgresDatabase, PostgresServer
from tests.support.waiting import until

ACTIVE = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"


@pytest.fixture
def captured(postgres_database: PostgresDatabase) -> Iterator[Captured]:
    made = Captured(postgres_database)
    yield made
    made.close()


@pytest.fixture(scope="module")
def own_server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that tests may kill. The usual one is asked for so that its programs are there."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
def line(captured: Captured) -> Captured:
    """With a table of lines, of which there are some already."""
    captured.database.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
    captured.database.execute("INSERT INTO line SELECT i, 'before' FROM generate_series(1, 5000) i")
    return captured


@pytest.mark.quick
@pytest.mark.parametrize("slot", ["new", "there already"])
def test_nothing_falls_between_snapshot_and_stream(line: Captured, slot: str) -> None:
    if slot == "there already":
        line.database.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
        line.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [line.slot])
    writer = Writer(line.database)
    try:
        until(lambda: len(writer.written) >= 50, 150)
        run = line.run(snapshot_fetch_size="500").start()
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


def test_upstream_is_told_only_what_is_stored(line: Captured) -> None:
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


def test_a_task_that_dies_in_a_big_transaction_goes_on_where_it_was(line: Captured) -> None:
    run = line.run(max_batch_size="100").start()
    run.poll_until(5000)
    # COPY writes many rows into one entry of the log: the place of that entry alone does not say which was the last.
    line.database.execute("INSERT INTO line SELECT i, 'big' FROM generate_series(10001, 13000) i")
    with line.database.connect(autocommit=False) as connection, connection.cursor() as cursor:
        with cursor.copy("COPY line FROM STDIN") as copy:
            for number in range(20001, 23001):
                copy.write_row((number, "copied"))
        connection.commit()
    seen: list[SourceRecord] = list(run.records)
    while len(seen) < 11000:
        count = len(run.records)
        run.poll_until(min(count + 250, 11000))
        run.crash()
        run.restart()
        seen = list(run.records)
    found = Counter(ids(seen))
    assert set(found) == {*range(1, 5001), *range(10001, 13001), *range(20001, 23001)}
    # Each poll is stored at once here, and so none of it comes again.
    assert found.total() == len(found)


def test_what_was_not_stored_comes_again_after_a_crash(line: Captured) -> None:
    run = line.run(max_batch_size="100").start()
    run.poll_until(5000)
    run.hold()
    line.database.execute("INSERT INTO line SELECT i, 'big' FROM generate_series(10001, 12000) i")
    line.until(run, lambda: sum(map(len, run.polled)) >= 5500)
    run.acknowledge(130)
    run.crash()
    run.acknowledge()
    run.restart()
    line.until(run, lambda: 12000 in ids(run.records))
    assert set(ids(run.records)) == {*range(1, 5001), *range(10001, 12001)}


def test_a_server_that_is_killed_costs_nothing(own_server: PostgresServer) -> None:
    database = own_server.database(f"killed_{uuid.uuid4().hex[:8]}")
    captured = Captured(database)
    try:
        database.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
        database.execute("INSERT INTO line SELECT i, 'before' FROM generate_series(1, 2000) i")
        run = captured.run(max_batch_size="100").start()
        run.poll_until(2000)
        for turn in range(1, 4):
            database.execute(f"INSERT INTO line SELECT {turn}0000 + i, 'x' FROM generate_series(0, 999) i")
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


def test_a_connection_that_breaks_while_rows_are_handed_out_costs_none(
    line: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ConnectionLost("it broke")

    run = line.run(max_batch_size="100", snapshot_fetch_size="1000")
    with monkeypatch.context() as patch:
        patch.setattr(ReplicationConnection, "start", broken)
        run.start().poll_until(5000)  # the last of the snapshot, behind which the stream begins
        run.poll()
    line.until(run, lambda: line.database.execute(ACTIVE, [line.slot]) == [(True,)])
    with monkeypatch.context() as patch:
        patch.setattr(ReplicationConnection, "say", broken)
        task: Any = run.task
        task._stream.asked = True
        line.database.execute("INSERT INTO line SELECT i, 'x' FROM generate_series(6001, 6500) i")
        line.until(run, lambda: 6300 in ids(run.records))
    line.until(run, lambda: 6500 in ids(run.records))
    assert Counter(ids(run.records)) == Counter([*range(1, 5001), *range(6001, 6501)])


def test_a_snapshot_that_was_interrupted_begins_anew(line: Captured) -> None:
    run = line.run(snapshot_fetch_size="500").start()
    run.poll_until(1000)
    assert run.offsets[0][1]["snapshot_completed"] is False
    run.crash()
    line.database.execute("DELETE FROM line WHERE id <= 10; INSERT INTO line VALUES (7777, 'later')")
    count = len(run.records)
    run.restart()
    line.until(run, lambda: any(r.value["source"]["snapshot"] == "last" for r in run.records))
    again = run.records[count:]
    assert Counter(ids(again)) == Counter([*range(11, 5001), 7777])
    line.database.execute("INSERT INTO line VALUES (8888, 'streamed')")
    run.poll_until(len(run.records) + 1)
    assert run.records[-1].value["op"] == "c"


def test_the_schema_changes_in_the_stream(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.database.execute("INSERT INTO line VALUES (6001, 'old')")
    line.database.execute("ALTER TABLE line ADD COLUMN price numeric(6, 2) NOT NULL DEFAULT 1.5")
    line.database.execute("INSERT INTO line VALUES (6002, 'new', 2.25)")
    line.database.execute("ALTER TABLE line DROP COLUMN word")
    line.database.execute("INSERT INTO line VALUES (6003, 3)")
    records = run.poll_until(3)
    fields = [[field.name for field in r.value_schema.field("after").schema.fields] for r in records]  # type: ignore[union-attr]
    assert fields == [["id", "word"], ["id", "word", "price"], ["id", "price"]]
    assert [str(r.value["after"].get("price")) for r in records] == ["None", "2.25", "3.00"]


@pytest.mark.quick
def test_updates_deletions_and_keys_that_change(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.database.execute("UPDATE line SET word = 'changed' WHERE id = 1")
    line.database.execute("UPDATE line SET id = 9001 WHERE id = 2")
    line.database.execute("DELETE FROM line WHERE id = 3")
    records = run.poll_until(6)
    assert [(r.key["id"], op) for r, op in zip(records, ops(records), strict=True)] == [
        *((1, "u"), (2, "d"), (2, None), (9001, "c"), (3, "d"), (3, None))
    ]
    assert records[0].value["after"] == {"id": 1, "word": "changed"}
    assert records[4].value["before"] == {"id": 3, "word": None}
    assert records[1].headers.last("__debezium.newkey").value == {"id": 9001}  # type: ignore[union-attr]
    assert records[3].headers.last("__debezium.oldkey").value == {"id": 2}  # type: ignore[union-attr]


def test_a_deletion_is_done_only_with_its_tombstone(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    line.database.execute("DELETE FROM line WHERE id = 3")
    run.poll_until(2)
    (batch,) = run.polled
    first, second = batch.source_offsets
    assert (first["lsn_change"], second["lsn_change"]) == (0, 1)
    assert "lsn_commit" not in first or first["lsn_commit"] < second["lsn_commit"]


@pytest.mark.parametrize("identity", ["DEFAULT", "FULL"])
def test_large_values_that_did_not_change_have_a_placeholder(captured: Captured, identity: str) -> None:
    captured.database.execute("CREATE TABLE large (id int PRIMARY KEY, number int, body text)")
    captured.database.execute("ALTER TABLE large ALTER body SET STORAGE EXTERNAL")
    captured.database.execute(f"ALTER TABLE large REPLICA IDENTITY {identity}")
    captured.database.execute("INSERT INTO large VALUES (1, 1, repeat('x', 10000))")
    run = captured.run(unavailable_value_placeholder="not sent").start()
    run.poll_until(1)
    captured.database.execute("UPDATE large SET number = 2")
    after = run.poll_until(2)[1].value["after"]
    assert after == {"id": 1, "number": 2, "body": "not sent" if identity == "DEFAULT" else "x" * 10000}


def test_the_slot_stays_small_while_other_databases_are_busy(line: Captured, postgres: PostgresServer) -> None:
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


def test_heartbeats_move_the_stored_offset(line: Captured, postgres: PostgresServer) -> None:
    line.database.execute("CREATE TABLE beats (id int PRIMARY KEY, at timestamptz)")
    line.database.execute("INSERT INTO beats VALUES (1, now())")
    run = line.run(
        snapshot_mode="no_data",
        heartbeat_interval_ms="10",
        heartbeat_action_query="UPDATE beats SET at = clock_timestamp()",
        table_include_list="public.line",
    ).start()
    beat = "__debezium-heartbeat.shop"
    end = line.end_of_log() + 1
    line.until(run, lambda: bool(run.offsets) and run.offsets[0][1]["lsn"] >= end)
    assert {r.topic for r in run.records} == {beat}
    assert run.records[0].key == {"serverName": "shop"}
    ((at, now),) = line.database.execute("SELECT at, now() FROM beats")
    assert at <= now
    line.database.execute("INSERT INTO line VALUES (6001, 'x')")
    line.until(run, lambda: 6001 in ids(run.records))
    # From the offset of a heartbeat reading goes on as from any other.
    line.until(run, lambda: run.records[-1].topic == beat)
    run.crash()
    line.database.execute("INSERT INTO line VALUES (6002, 'x')")
    run.restart()
    line.until(run, lambda: 6002 in ids(run.records))
    assert ids(run.records) == [6001, 6002]


def test_a_slot_in_use_is_waited_for(line: Captured) -> None:
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


def test_a_slot_that_is_gone_is_an_error_unless_a_new_snapshot_may_be_made(line: Captured) -> None:
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


@pytest.mark.parametrize("mode", ["initial_only", "always"])
def test_other_modes_of_the_snapshot(line: Captured, mode: str) -> None:
    run = line.run(snapshot_mode=mode).start()
    run.poll_until(5000)
    line.database.execute("INSERT INTO line VALUES (6001, 'x')")
    if mode == "initial_only":
        for _ in range(3):
            run.poll()
        assert len(run.records) == 5000
        assert line.database.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s", [line.slot]) == []
        run.restart()
        run.poll()
        assert len(run.records) == 5000
    else:
        run.poll_until(5001)
        run.restart()
        run.poll_until(10002)
        line.database.execute("INSERT INTO line VALUES (6002, 'x')")
        run.poll_until(10003)
        assert ops(run.records) == ["r"] * 5000 + ["c"] + ["r"] * 5001 + ["c"]


def test_a_slot_is_dropped_when_the_task_stops_if_that_is_wanted(line: Captured) -> None:
    run = line.run(slot_drop_on_stop="true", snapshot_mode="no_data").start()
    run.poll()
    slots = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s"
    assert line.database.execute(slots, [line.slot]) != []
    run.stop()
    assert line.database.execute(slots, [line.slot]) == []


def test_labels_that_an_enum_is_given_are_allowed(captured: Captured) -> None:
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


def test_a_table_that_may_not_be_read_is_an_error(line: Captured) -> None:
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


def test_a_publication_of_the_captured_tables_follows_them(line: Captured) -> None:
    database = line.database
    database.execute("CREATE TABLE other (id int PRIMARY KEY); CREATE TABLE third (id int PRIMARY KEY)")
    published = "SELECT tablename FROM pg_publication_tables WHERE pubname = 'dbz_publication' ORDER BY 1"
    settings = {"snapshot_mode": "no_data", "publication_autocreate_mode": "filtered"}
    run = line.run(**settings, table_include_list="public\\.(line|other)").start()
    run.poll()
    assert database.execute(published) == [("line",), ("other",)]
    run.restart({"table.include.list": "public.line,PUBLIC.third"})
    run.poll()
    assert database.execute(published) == [("line",), ("third",)]


def test_a_paused_task_stays_connected(line: Captured) -> None:
    run = line.run(snapshot_mode="no_data", status_update_interval_ms="100").start()
    run.poll()
    run.pause()
    replies = "SELECT pid, reply_time FROM pg_stat_replication JOIN pg_replication_slots ON pid = active_pid"
    replies += " WHERE slot_name = %s"
    first = line.database.execute(replies, [line.slot])
    until(lambda: line.database.execute(replies, [line.slot]) != first, PATIENCE)
    assert line.database.execute(replies, [line.slot])[0][0] == first[0][0]


def test_a_task_that_is_paused_for_long_lets_the_server_go(line: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    # A server that shuts down waits for whoever is connected and has not confirmed all of its log.
    monkeypatch.setattr(PostgresCdcSourceTask, "away_seconds", 0.2)
    run = line.run(snapshot_mode="no_data").start()
    run.poll()
    run.pause()
    until(lambda: line.database.execute(ACTIVE, [line.slot]) == [(False,)], PATIENCE)
    line.database.execute("INSERT INTO line VALUES (6001, 'while it was paused')")
    run.resume()
    assert ids(run.poll_until(1)) == [6001]


def test_partitions_go_to_the_topic_of_their_table(captured: Captured) -> None:
    captured.database.execute("CREATE TABLE line (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part)")
    captured.database.execute("CREATE TABLE line_1 PARTITION OF line FOR VALUES IN (1)")
    captured.database.execute("INSERT INTO line VALUES (1, 1)")
    run = captured.run(publish_via_partition_root="true").start()
    run.poll_until(1)
    captured.database.execute("INSERT INTO line VALUES (2, 1)")
    run.poll_until(2)
    assert [(r.topic, r.key["id"]) for r in run.records] == [("shop.public.line", 1), ("shop.public.line", 2)]


def test_validation_says_that_the_server_does_not_log_enough(own_server: PostgresServer) -> None:
    own_server.stop()
    own_server.start(wal_level="replica")
    try:
        captured = Captured(own_server)
        found = {each.name: each.errors for each in PostgresCdcSourceConnector().validate(captured.config())}
        (error,) = found["database.hostname"]
        assert "wal_level of the server is replica. Set wal_level=logical" in error
    finally:
        own_server.stop()
        own_server.start(wal_level="logical")
    found = {each.name: each.errors for each in PostgresCdcSourceConnector().validate(captured.config())}
    assert not any(found.values())


def test_validation_says_what_is_wrong(captured: Captured) -> None:
    def errors(**changes: str) -> dict[str, list[str]]:
        found = PostgresCdcSourceConnector().validate(captured.config(**changes))
        return {each.name: each.errors for each in found if each.errors}

    assert "password authentication failed" in errors(database_password="wrong")["database.hostname"][0]
    assert "pgoutput" in errors(plugin_name="decoderbufs")["plugin.name"][0]
    assert (
        "not possible together" in errors(table_include_list="a.b", table_exclude_list="c.d")["table.exclude.list"][0]
    )
    assert "is not a regular expression" in errors(table_include_list="(")["table.include.list"][0]
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
