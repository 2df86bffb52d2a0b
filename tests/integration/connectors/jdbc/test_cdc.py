"""Change capture on a real PostgreSQL and a real MariaDB: nothing lost, nothing out of order, whatever breaks."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresServer
from tests.support.waiting import until

from .captured import Captured, Writer, ids, ops
from .mysql_captured import CapturedMaria, durable_server
from .postgres_captured import CapturedPostgres


def nothing(_: Captured) -> None:
    """Prepare nothing."""


@pytest.mark.quick
@pytest.mark.parametrize(
    ("captured", "prepare", "settings"),
    [
        pytest.param("postgres", nothing, {}, id="PostgreSQL, a new slot"),
        pytest.param("postgres", CapturedPostgres.make_slot, {}, id="PostgreSQL, a slot that is there already"),
        pytest.param("mariadb", nothing, {"snapshot_locking_mode": "minimal"}, id="MariaDB, locks"),
        pytest.param("mariadb", nothing, {"snapshot_locking_mode": "none"}, id="MariaDB, no locks"),
    ],
    indirect=["captured"],
)
def test_nothing_falls_between_snapshot_and_stream(
    line: Captured, prepare: Callable[[Captured], None], settings: dict[str, str]
) -> None:
    prepare(line)
    writer = Writer(line.database)
    try:
        until(lambda: len(writer.written) >= 50, 150)
        run = line.run(snapshot_fetch_size="500", **settings).start()
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
    line.insert_6000()
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
    line.execute(line.numbers(10001, 12000, "big"))
    line.until(run, lambda: sum(map(len, run.polled)) >= 5500)
    run.acknowledge(130)
    run.crash()
    run.acknowledge()
    run.restart()
    line.until(run, lambda: 12000 in ids(run.records))
    assert set(ids(run.records)) == {*range(1, 5001), *range(10001, 12001)}


@pytest.fixture(params=["postgres", "mariadb"])
def own_server(request: pytest.FixtureRequest) -> Iterator[PostgresServer | MariaServer]:
    """A server that the test may kill. The usual one is asked for so that its programs are there."""
    request.getfixturevalue(request.param)
    server = PostgresServer() if request.param == "postgres" else durable_server()
    yield server
    server.close()


def test_a_server_that_is_killed_costs_nothing(own_server: PostgresServer | MariaServer) -> None:
    database: Any = own_server.database(f"killed_{uuid.uuid4().hex[:8]}")
    captured = (CapturedPostgres if isinstance(own_server, PostgresServer) else CapturedMaria)(database)
    try:
        captured.execute(
            "CREATE TABLE line (id int PRIMARY KEY, word text)",
            captured.numbers(1, 2000, "before"),
        )
        run = captured.run(max_batch_size="100").start()
        run.poll_until(2000)
        for turn in range(1, 4):
            captured.execute(captured.numbers(turn * 10_000, turn * 10_000 + 999, "x"))
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
    assert records[0].value["before"] == ({"id": 1, "word": "before"} if line.whole_rows else None)
    assert records[0].value["after"] == {"id": 1, "word": "changed"}
    assert records[4].value["before"] == {"id": 3, "word": "before" if line.whole_rows else None}
    assert records[1].headers.last("__debezium.newkey").value == {"id": 9001}  # type: ignore[union-attr]
    assert records[3].headers.last("__debezium.oldkey").value == {"id": 2}  # type: ignore[union-attr]
    assert {r.value["source"]["connector"] for r in records if r.value} == {line.kind}


def test_heartbeats_move_the_stored_offset(line: Captured) -> None:
    beats = line.table("beats")
    line.execute(
        f"CREATE TABLE {beats} (id int PRIMARY KEY, at timestamp(6))",
        f"INSERT INTO {beats} VALUES (1, CURRENT_TIMESTAMP(6))",
    )
    run = line.run(
        snapshot_mode="no_data",
        heartbeat_interval_ms="10",
        heartbeat_action_query=f"UPDATE {beats} SET at = CURRENT_TIMESTAMP(6)",
        table_include_list=line.table("line"),
    ).start()
    beat = "__debezium-heartbeat.shop"
    end = line.end_of_log()
    line.until(run, lambda: bool(run.offsets) and line.place(run.offsets[0][1]) > end)
    assert {r.topic for r in run.records} == {beat}
    assert run.records[0].key == {"serverName": "shop"}
    ((before_now,),) = line.database.execute("SELECT at <= CURRENT_TIMESTAMP(6) FROM beats")
    assert before_now
    line.execute("INSERT INTO line VALUES (6001, 'x')")
    line.until(run, lambda: 6001 in ids(run.records))
    # From the offset of a heartbeat reading goes on as from any other.
    line.until(run, lambda: run.records[-1].topic == beat)
    run.crash()
    line.execute("INSERT INTO line VALUES (6002, 'x')")
    run.restart()
    line.until(run, lambda: 6002 in ids(run.records))
    assert ids(run.records) == [6001, 6002]


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


def test_validation_says_what_is_wrong_with_lists_of_tables(captured: Captured) -> None:
    both = captured.errors(table_include_list="a.b", table_exclude_list="c.d")
    assert "not possible together" in both["table.exclude.list"][0]
    assert "is not a regular expression" in captured.errors(table_include_list="(")["table.include.list"][0]
