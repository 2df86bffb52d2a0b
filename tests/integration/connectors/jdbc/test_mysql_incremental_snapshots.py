"""Tables that are read again while the stream goes on, on a real MariaDB."""

from __future__ import annotations

import json
import logging
import random
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture.database import CapturedServer
from tests.integration.connectors.jdbc.mysql_captured import PATIENCE, Captured, ids, numbers
from tests.servers.mariadb import MariaServer

ROWS = 500


@pytest.fixture
def captured(mariadb: MariaServer, caplog: pytest.LogCaptureFixture) -> Iterator[Captured]:
    caplog.set_level(logging.INFO)
    database = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    made = Captured(database)
    made.execute(
        "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32), data text)",
        "CREATE TABLE line (id int PRIMARY KEY, word varchar(100))",
        numbers(1, ROWS, "w"),
    )
    yield made
    made.close()
    database.drop()


def start(captured: Captured, **changes: str) -> SourceRun:
    """A run whose stream has begun, without what is there already."""
    given = {
        "snapshot.mode": "no_data",
        "table.exclude.list": f"{captured.database.name}.signals",
        "signal.data.collection": f"{captured.database.name}.signals",
        "incremental.snapshot.chunk.size": "40",
        **changes,
    }
    run = captured.run(**given).start()
    run.poll()  # notes where the log ends
    captured.execute("INSERT INTO line VALUES (0, 'begun')")
    captured.until(run, lambda: 0 in ids(run.records))
    return run


def tell(captured: Captured, kind: str, **data: Any) -> None:
    with captured.database.connect() as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO signals VALUES (uuid(), %s, %s)", (kind, json.dumps(data) if data else None))


def ask(captured: Captured, *tables: str, **data: Any) -> None:
    names = [f"{captured.database.name}.{table}" for table in tables]
    tell(captured, "execute-snapshot", **{"type": "incremental", "data-collections": names, **data})


def read(run: SourceRun, table: str = "line") -> list[int]:
    """The rows of snapshots."""
    return ids([each for each in run.records if each.value and each.value["op"] == "r"], table)


def under_way(run: SourceRun) -> Any:
    """The task's own snapshot."""
    task: Any = run.task
    return task._incremental


def left(run: SourceRun) -> Any:
    """What the stored offset has of a snapshot."""
    return run.offsets[0][1].get("incremental_snapshot") if run.offsets else None


@pytest.mark.quick
def test_a_table_is_read_again_part_by_part(captured: Captured) -> None:
    run = start(captured)
    ask(captured, "line")
    captured.until(run, lambda: len(read(run)) == ROWS + 1)
    assert read(run) == list(range(ROWS + 1))
    [record] = [each for each in run.records if each.value["op"] == "r" and each.value["after"]["id"] == 7]
    assert record.key == {"id": 7}
    assert record.value["after"] == {"id": 7, "word": "w"}
    assert record.value["source"]["snapshot"] == "incremental"
    assert left(run) is None
    assert {each.topic for each in run.records} == {f"shop.{captured.database.name}.line"}, "none of signals"


def test_rows_that_change_meanwhile_end_as_they_are_and_none_is_missed(captured: Captured) -> None:
    """As a consumer sees it that keeps the last event of each key."""
    run = start(captured)
    stopped, chance = threading.Event(), random.Random(11)

    def change() -> None:
        with captured.database.connect(autocommit=False) as connection, connection.cursor() as cursor:
            fresh = ROWS + 1000
            while not stopped.is_set():
                for _ in range(chance.randint(1, 4)):
                    row = chance.randint(1, ROWS)
                    kind = chance.randrange(5)
                    if kind == 0:
                        cursor.execute("DELETE FROM line WHERE id = %s", (row,))
                    elif kind == 1:
                        cursor.execute("UPDATE line SET id = id + 100000 WHERE id = %s", (row,))
                    elif kind == 2:
                        fresh += 1
                        cursor.execute("INSERT INTO line VALUES (%s, 'new')", (fresh,))
                    else:
                        cursor.execute("UPDATE line SET word = %s WHERE id = %s", (str(chance.random()), row))
                if chance.random() < 0.1:
                    connection.rollback()
                connection.commit()

    changes = threading.Thread(target=change)
    changes.start()
    try:
        for _ in range(3):
            ask(captured, "line")
            before = len(read(run))
            captured.until(run, lambda before=before: len(read(run)) > before and left(run) is None)  # type: ignore[misc]
    finally:
        stopped.set()
        changes.join(PATIENCE)
    captured.execute("INSERT INTO line VALUES (-1, 'the end')")
    captured.until(run, lambda: -1 in ids(run.records))
    state: dict[int, Any] = {}
    for record in run.records:
        if record.value is None or record.value["after"] is None:
            state.pop(record.key["id"], None)
        else:
            state[record.key["id"]] = record.value["after"]["word"]
    assert state == dict(captured.database.execute("SELECT id, word FROM line"))


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM line WHERE id = 3",
        "UPDATE line SET id = -3 WHERE id = 3",
        "UPDATE line SET word = 'other' WHERE id = 3",
        "TRUNCATE line",
    ],
)
def test_a_row_that_changes_after_it_was_read_is_left_to_its_event(
    captured: Captured, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    run = start(captured)
    query, changes = CapturedServer.query, [change]

    def changed_behind(server: CapturedServer, sql: str, values: Any = None) -> Any:
        found = query(server, sql, values)
        while changes and "LIMIT 40" in sql:
            captured.execute(changes.pop())
        return found

    monkeypatch.setattr(CapturedServer, "query", changed_behind)
    ask(captured, "line")
    captured.until(run, lambda: not changes and left(run) is None and under_way(run).idle)
    captured.execute("INSERT INTO line VALUES (-1, 'the end')")
    captured.until(run, lambda: -1 in ids(run.records))
    assert read(run) == ([] if change == "TRUNCATE line" else [row for row in range(ROWS + 1) if row != 3])


def test_a_task_that_is_killed_goes_on_with_the_next_row(captured: Captured) -> None:
    run = start(captured, **{"max.batch.size": "30"})
    ask(captured, "line")
    for many in (60, 150, 333):
        captured.until(run, lambda many=many: len(read(run)) >= many)  # type: ignore[misc]
        run.crash()
        run.restart()
    captured.until(run, lambda: len(read(run)) > ROWS and left(run) is None)
    assert read(run) == list(range(ROWS + 1)), "each poll is stored at once here"


def test_keys_of_all_kinds_and_only_some_rows(captured: Captured) -> None:
    captured.execute(
        "CREATE TABLE `odd ``one` (t varchar(20), b varbinary(9), d decimal(20, 3), at datetime(3), n bigint unsigned, "
        "PRIMARY KEY (t, b, d, at, n))",
        "INSERT INTO `odd ``one` VALUES ('it''s \\\\ \\n', x'00ff', -1.5, '2026-01-02 03:04:05.678', 1), "
        "('', '', 12345678901234567.125, '2026-01-02', 18446744073709551615), "
        "('', '', 12345678901234567.125, '2026-01-02', 18446744073709551614), ('é', 'x', 0, '2026-01-02', 0)",
        "CREATE TABLE keyless (a int)",
        "INSERT INTO keyless VALUES (1)",
        "CREATE TABLE kinds (k enum('b', 'a') PRIMARY KEY)",
        "INSERT INTO kinds VALUES ('a')",
    )
    run = start(captured, **{"incremental.snapshot.chunk.size": "1", "bigint.unsigned.handling.mode": "precise"})
    conditions = [{"data-collection": f"{captured.database.name}.line", "filter": "id % 100 = 0"}]
    ask(captured, ".*", **{"additional-conditions": conditions})
    captured.until(run, lambda: len(read(run)) == ROWS // 100 + 1 and left(run) is None)
    assert read(run) == [0, 100, 200, 300, 400, 500]
    odd = [each.value["after"] for each in run.records if "odd" in each.topic]
    assert [(each["t"], bytes(each["b"]), int(each["n"])) for each in odd] == [
        ("", b"", 18446744073709551614),
        ("", b"", 18446744073709551615),
        ("é", b"x", 0),
        ("it's \\ \n", b"\x00\xff", 1),
    ]
    assert not [each for each in run.records if "keyless" in each.topic or "kinds" in each.topic]


def test_what_cannot_be_done_is_said_and_the_stream_goes_on(
    captured: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(captured)
    ask(captured, "none")
    ask(captured, "line", **{"additional-conditions": [{"data-collection": ".*", "filter": "color = 'blue'"}]})
    tell(captured, "log", message="this far")
    captured.until(run, lambda: "this far" in caplog.text and under_way(run).idle)
    captured.execute("INSERT INTO line VALUES (-1, 'on')")
    captured.until(run, lambda: -1 in ids(run.records))
    assert "none of the captured tables has such a name" in caplog.text
    assert "Unknown column 'color'" in caplog.text
    assert read(run) == []


def test_a_missing_table_of_signals_is_an_error_with_the_next_step(captured: Captured) -> None:
    captured.execute("DROP TABLE signals")
    run = captured.run(**{"signal.data.collection": f"{captured.database.name}.signals"}).start()
    with pytest.raises(ConnectError, match="CREATE TABLE"):
        captured.until(run, lambda: False)
