"""Tables that are read again while the stream goes on, on a real PostgreSQL."""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from connect import ConnectError
from connect.testing import SourceRun
from connectors.jdbc.capture.database import CapturedDatabase
from tests.integration.connectors.jdbc.captured import PATIENCE, Captured, ids
from tests.servers.postgresql import PostgresDatabase
from tests.support.waiting import until

ROWS = 500
SIGNALS = "signals"


@pytest.fixture
def captured(postgres_database: PostgresDatabase, caplog: pytest.LogCaptureFixture) -> Iterator[Captured]:
    caplog.set_level(logging.INFO)
    made = Captured(postgres_database)
    postgres_database.execute(f"CREATE TABLE {SIGNALS} (id text PRIMARY KEY, type text, data text)")
    postgres_database.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
    postgres_database.execute(f"INSERT INTO line SELECT i, 'w' FROM generate_series(1, {ROWS}) i")
    yield made
    made.close()


def start(captured: Captured, **changes: str) -> SourceRun:
    """A run whose stream has begun, without what is there already."""
    given = {
        "snapshot.mode": "no_data",
        "table.include.list": "public.(line|Odd.*|keyless)",
        "signal.data.collection": f"public.{SIGNALS}",
        "incremental.snapshot.chunk.size": "40",
        **changes,
    }
    run = captured.run(**given).start()
    run.poll()  # makes the slot
    captured.database.execute("INSERT INTO line VALUES (0, 'begun')")
    captured.until(run, lambda: 0 in ids(run.records))
    return run


def tell(captured: Captured, kind: str, **data: Any) -> None:
    captured.database.execute(
        f"INSERT INTO {SIGNALS} VALUES (gen_random_uuid(), %s, %s)", [kind, json.dumps(data) if data else None]
    )


def ask(captured: Captured, *tables: str, **data: Any) -> None:
    tell(captured, "execute-snapshot", **{"type": "incremental", "data-collections": list(tables), **data})


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
    ask(captured, "public.line")
    captured.until(run, lambda: len(read(run)) == ROWS + 1)
    assert read(run) == list(range(ROWS + 1))
    [record] = [each for each in run.records if each.value["op"] == "r" and each.value["after"]["id"] == 7]
    assert record.key == {"id": 7}
    assert record.value["after"] == {"id": 7, "word": "w"}
    assert record.value["source"]["snapshot"] == "incremental"
    assert left(run) is None
    assert {each.topic for each in run.records} == {"shop.public.line"}


def test_rows_that_change_meanwhile_end_as_they_are_and_none_is_missed(captured: Captured) -> None:
    """As a consumer sees it that keeps the last event of each key."""
    run = start(captured)
    stopped, chance = threading.Event(), random.Random(11)

    def change() -> None:
        with captured.database.connect(autocommit=False) as connection:
            fresh = ROWS + 1000
            while not stopped.is_set():
                for _ in range(chance.randint(1, 4)):
                    row = chance.randint(1, ROWS)
                    kind = chance.randrange(5)
                    if kind == 0:
                        connection.execute("DELETE FROM line WHERE id = %s", [row])
                    elif kind == 1:
                        connection.execute("UPDATE line SET id = id + 100000 WHERE id = %s", [row])
                    elif kind == 2:
                        fresh += 1
                        connection.execute("INSERT INTO line VALUES (%s, 'new')", [fresh])
                    else:
                        connection.execute("UPDATE line SET word = %s WHERE id = %s", [chance.random(), row])
                if chance.random() < 0.1:
                    connection.rollback()
                connection.commit()

    changes = threading.Thread(target=change)
    changes.start()
    try:
        for _ in range(3):
            ask(captured, "public.line")
            before = len(read(run))
            captured.until(run, lambda before=before: len(read(run)) > before and left(run) is None)  # type: ignore[misc]
    finally:
        stopped.set()
        changes.join(PATIENCE)
    captured.database.execute("INSERT INTO line VALUES (-1, 'the end')")
    captured.until(run, lambda: -1 in ids(run.records))
    state: dict[int, Any] = {}
    for record in run.records:
        if record.value is None or record.value["after"] is None:
            state.pop(record.key["id"], None)
        else:
            state[record.key["id"]] = record.value["after"]["word"]
    assert state == dict(captured.database.execute("SELECT id, word FROM line"))


def test_a_task_that_is_killed_goes_on_with_the_next_row(captured: Captured) -> None:
    run = start(captured, **{"max.batch.size": "30"})
    ask(captured, "public.line")
    for many in (60, 150, 333):
        captured.until(run, lambda many=many: len(read(run)) >= many)  # type: ignore[misc]
        run.crash()
        run.restart()
    captured.until(run, lambda: len(read(run)) > ROWS and left(run) is None)
    assert read(run) == list(range(ROWS + 1)), "each poll is stored at once here"


def test_what_was_not_stored_is_read_again(captured: Captured) -> None:
    run = start(captured)
    run.hold()
    ask(captured, "public.line")
    captured.until(run, lambda: sum(map(len, run.polled)) > 200)
    run.acknowledge(100)
    run.poll()
    assert json.loads(left(run))["tables"] == [["public.line", None, [str(ROWS)], ["79"]]], (
        "the part that was stored as a whole"
    )
    run.crash()
    run.acknowledge()
    run.restart()
    captured.until(run, lambda: ROWS in read(run) and left(run) is None)
    assert sorted(set(read(run))) == list(range(ROWS + 1))


def test_only_some_rows_of_some_tables(captured: Captured) -> None:
    captured.database.execute('CREATE TABLE "Odd ""one" (b bytea, a text, n numeric, PRIMARY KEY (a, b))')
    captured.database.execute("""INSERT INTO "Odd ""one" VALUES ('\\x00ff', E'it''s\\n\\\\1', 1), ('\\x', '', 2)""")
    captured.database.execute("CREATE TABLE keyless (a int)")
    captured.database.execute("INSERT INTO keyless VALUES (1)")
    run = start(captured, **{"incremental.snapshot.chunk.size": "1"})
    conditions = [{"data-collection": "public.line", "filter": "id % 100 = 0"}]
    ask(captured, "public.*", **{"additional-conditions": conditions})
    captured.until(run, lambda: len(read(run)) == ROWS // 100 + 1 and left(run) is None)
    assert read(run) == [0, 100, 200, 300, 400, 500]
    odd = [each.value["after"] for each in run.records if "Odd" in each.topic]
    assert [(each["a"], bytes(each["b"])) for each in odd] == [("", b""), ("it's\n\\1", b"\x00\xff")]
    assert not [each for each in run.records if "keyless" in each.topic], "it has no key to read it by"


def test_what_cannot_be_done_is_said_and_the_stream_goes_on(
    captured: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(captured)
    ask(captured, "public.none")
    ask(captured, "public.line", **{"additional-conditions": [{"data-collection": ".*", "filter": "color = 'blue'"}]})
    tell(captured, "dance")
    captured.database.execute(f"INSERT INTO {SIGNALS} VALUES ('x', 'execute-snapshot', 'no JSON')")
    tell(captured, "log", message="this far")
    captured.until(run, lambda: "this far" in caplog.text and left(run) is None)
    captured.database.execute("INSERT INTO line VALUES (-1, 'on')")
    captured.until(run, lambda: -1 in ids(run.records))
    assert "none of the captured tables has such a name" in caplog.text
    assert 'column "color" does not exist' in caplog.text
    assert '"dance" is no type of a signal' in caplog.text
    assert "its data is no JSON" in caplog.text
    assert read(run) == []


def test_pausing_resuming_and_stopping(captured: Captured, caplog: pytest.LogCaptureFixture) -> None:
    run = start(captured)
    ask(captured, "public.line")
    tell(captured, "pause-snapshot")
    captured.until(run, lambda: "snapshot paused" in caplog.text)
    some = read(run)
    assert len(some) <= ROWS // 2
    captured.database.execute("INSERT INTO line VALUES (-1, 'on')")
    captured.until(run, lambda: -1 in ids(run.records))
    assert read(run) == some
    run.crash()
    run.restart()
    tell(captured, "resume-snapshot")
    captured.until(run, lambda: ROWS in read(run) and left(run) is None)
    assert [row for row in read(run) if row >= 0] == list(range(ROWS + 1))
    count = len(run.records)
    ask(captured, "public.line")
    tell(captured, "stop-snapshot")
    captured.until(run, lambda: "snapshot stopped by signal" in caplog.text)
    captured.database.execute("INSERT INTO line VALUES (-2, 'on')")
    captured.until(run, lambda: -2 in ids(run.records))
    assert len(run.records) - count < ROWS
    assert left(run) is None


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
    end_of_log, changes = CapturedDatabase.now, [change]

    def changed_first(database: CapturedDatabase) -> tuple[str, int, int]:
        """Asked for when the rows were read."""
        while changes:
            captured.database.execute(changes.pop())
        return end_of_log(database)

    monkeypatch.setattr(CapturedDatabase, "now", changed_first)
    ask(captured, "public.line")
    captured.until(run, lambda: not changes and left(run) is None and under_way(run).progress is None)
    captured.database.execute("INSERT INTO line VALUES (-1, 'the end')")
    captured.until(run, lambda: -1 in ids(run.records))
    assert read(run) == ([] if change == "TRUNCATE line" else [row for row in range(ROWS + 1) if row != 3])


@pytest.mark.parametrize("key", ["CREATE TABLE", "ADD TABLE"])
def test_a_missing_table_of_signals_is_an_error_with_the_next_step(captured: Captured, key: str) -> None:
    if key == "CREATE TABLE":
        captured.database.execute(f"DROP TABLE {SIGNALS}")
    else:
        captured.database.execute("CREATE PUBLICATION dbz_publication FOR TABLE line")
    run = captured.run(**{"signal.data.collection": f"public.{SIGNALS}", "snapshot.mode": "no_data"}).start()
    with pytest.raises(ConnectError, match=key):
        captured.until(run, lambda: False)


def test_a_publication_of_captured_tables_has_that_of_signals(captured: Captured) -> None:
    run = start(captured, **{"publication.autocreate.mode": "filtered"})
    ask(captured, "public.line")
    captured.until(run, lambda: len(read(run)) == ROWS + 1)
    until(lambda: left(run) is None)
