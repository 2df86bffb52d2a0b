"""Tables that are read again while the stream goes on, on a real PostgreSQL and a real MariaDB."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import pytest

from connect import ConnectError

from .captured import PATIENCE, Captured, ids
from .incremental_snapshots import ROWS, SIZE, ask, left, read, signal, start, tell, under_way


@pytest.mark.quick
def test_a_table_is_read_again_part_by_part(signalled: Captured) -> None:
    run = start(signalled)
    ask(signalled, "line")
    signalled.until(run, lambda: len(read(run)) == ROWS + 1)
    assert read(run) == list(range(ROWS + 1))
    [record] = [each for each in run.records if each.value["op"] == "r" and each.value["after"]["id"] == 7]
    assert record.key == {"id": 7}
    assert record.value["after"] == {"id": 7, "word": "w"}
    assert record.value["source"]["snapshot"] == "incremental"
    assert left(run) is None
    assert {each.topic for each in run.records} == {f"shop.{signalled.table('line')}"}, "none of signals"


def test_rows_that_change_meanwhile_end_as_they_are_and_none_is_missed(signalled: Captured) -> None:
    """As a consumer sees it that keeps the last event of each key."""
    run = start(signalled)
    stopped, chance = threading.Event(), random.Random(11)

    def change() -> None:
        with signalled.database.connect(autocommit=False) as connection, connection.cursor() as cursor:
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
            ask(signalled, "line")
            before = len(read(run))
            signalled.until(run, lambda before=before: len(read(run)) > before and left(run) is None)  # type: ignore[misc]
    finally:
        stopped.set()
        changes.join(PATIENCE)
    signalled.execute("INSERT INTO line VALUES (-1, 'the end')")
    signalled.until(run, lambda: -1 in ids(run.records))
    state: dict[int, Any] = {}
    for record in run.records:
        if record.value is None or record.value["after"] is None:
            state.pop(record.key["id"], None)
        else:
            state[record.key["id"]] = record.value["after"]["word"]
    assert state == dict(signalled.database.execute("SELECT id, word FROM line"))


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
    signalled: Captured, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    run = start(signalled)
    changes = [change]

    def change_once() -> None:
        while changes:
            signalled.execute(changes.pop())

    signalled.when_rows_are_read(monkeypatch, SIZE, change_once)
    ask(signalled, "line")
    signalled.until(run, lambda: not changes and left(run) is None and under_way(run).idle)
    signalled.execute("INSERT INTO line VALUES (-1, 'the end')")
    signalled.until(run, lambda: -1 in ids(run.records))
    assert read(run) == ([] if change == "TRUNCATE line" else [row for row in range(ROWS + 1) if row != 3])


def test_a_task_that_is_killed_goes_on_with_the_next_row(signalled: Captured) -> None:
    run = start(signalled, **{"max.batch.size": "30"})
    ask(signalled, "line")
    for many in (60, 150, 333):
        signalled.until(run, lambda many=many: len(read(run)) >= many)  # type: ignore[misc]
        run.crash()
        run.restart()
    signalled.until(run, lambda: len(read(run)) > ROWS and left(run) is None)
    assert read(run) == list(range(ROWS + 1)), "each poll is stored at once here"


def test_what_was_not_stored_is_read_again(signalled: Captured) -> None:
    run = start(signalled)
    run.hold()
    ask(signalled, "line")
    signalled.until(run, lambda: sum(map(len, run.polled)) > 200)
    run.acknowledge(100)
    run.poll()
    assert json.loads(left(run))["tables"] == [[signalled.table("line"), None, [str(ROWS)], ["79"]]], (
        "the part that was stored as a whole"
    )
    run.crash()
    run.acknowledge()
    run.restart()
    signalled.until(run, lambda: ROWS in read(run) and left(run) is None)
    assert sorted(set(read(run))) == list(range(ROWS + 1))


def test_what_cannot_be_done_is_said_and_the_stream_goes_on(
    signalled: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(signalled)
    ask(signalled, "none")
    ask(signalled, "line", **{"additional-conditions": [{"data-collection": ".*", "filter": "color = 'blue'"}]})
    tell(signalled, "dance")
    signal(signalled, "execute-snapshot", "no JSON")
    tell(signalled, "log", message="this far")
    signalled.until(run, lambda: "this far" in caplog.text and left(run) is None and under_way(run).idle)
    signalled.execute("INSERT INTO line VALUES (-1, 'on')")
    signalled.until(run, lambda: -1 in ids(run.records))
    assert "none of the captured tables has such a name" in caplog.text
    assert signalled.no_column in caplog.text
    assert '"dance" is no type of a signal' in caplog.text
    assert "its data is no JSON" in caplog.text
    assert read(run) == []


def test_a_condition_on_a_column_that_is_dropped_meanwhile_does_not_stop_the_stream(
    signalled: Captured, caplog: pytest.LogCaptureFixture
) -> None:
    run = start(signalled)
    signalled.execute("ALTER TABLE line ADD COLUMN color varchar(10) DEFAULT 'blue'")
    condition = {"data-collection": ".*", "filter": "color = 'blue'"}
    ask(signalled, "line", **{"additional-conditions": [condition]})
    signalled.until(run, lambda: len(read(run)) >= SIZE)
    signalled.execute("ALTER TABLE line DROP COLUMN color", "INSERT INTO line VALUES (-1, 'on')")
    signalled.until(run, lambda: -1 in ids(run.records) and under_way(run).idle)
    assert "given up after" in caplog.text
    assert signalled.no_column in caplog.text
    assert len(read(run)) < ROWS


def test_pausing_resuming_and_stopping(signalled: Captured, caplog: pytest.LogCaptureFixture) -> None:
    run = start(signalled)
    ask(signalled, "line")
    tell(signalled, "pause-snapshot")
    signalled.until(run, lambda: "snapshot paused" in caplog.text)
    some = read(run)
    assert len(some) <= ROWS // 2
    signalled.execute("INSERT INTO line VALUES (-1, 'on')")
    signalled.until(run, lambda: -1 in ids(run.records))
    assert read(run) == some
    run.crash()
    run.restart()
    tell(signalled, "resume-snapshot")
    signalled.until(run, lambda: ROWS in read(run) and left(run) is None)
    assert [row for row in read(run) if row >= 0] == list(range(ROWS + 1))
    count = len(run.records)
    ask(signalled, "line")
    tell(signalled, "stop-snapshot")
    signalled.until(run, lambda: "snapshot stopped by signal" in caplog.text)
    signalled.execute("INSERT INTO line VALUES (-2, 'on')")
    signalled.until(run, lambda: -2 in ids(run.records))
    assert len(run.records) - count < ROWS
    assert left(run) is None


def test_a_missing_table_of_signals_is_an_error_with_the_next_step(signalled: Captured) -> None:
    signalled.execute("DROP TABLE signals")
    run = signalled.run(**{"signal.data.collection": signalled.table("signals"), "snapshot.mode": "no_data"}).start()
    with pytest.raises(ConnectError, match="CREATE TABLE"):
        signalled.until(run, lambda: False)
