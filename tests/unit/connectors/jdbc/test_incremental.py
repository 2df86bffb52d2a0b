"""Parts of tables between the changes of a stream, and the signals that ask for them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from connect import ConnectError
from connectors.jdbc.changes.filters import filters
from connectors.jdbc.changes.incremental import Chunk, IncrementalSnapshot, Part, Progress, of_offset
from connectors.jdbc.changes.signals import Continue, Execute, Log, Pause, Stop, signal

TABLES = {"s.a": [1, 2, 3, 4, 5], "s.b": [1], "s.empty": list[int]()}


class Rows:
    """Tables with whole numbers as rows; the log is one longer with each part that is read."""

    def __init__(self) -> None:
        self.end = 10
        self.refuses = ""

    def tables(self) -> Sequence[str]:
        return list(TABLES)

    def read(self, part: Part, size: int) -> Chunk[str, int]:
        if part.table == self.refuses:
            raise ConnectError("It has no primary key.")
        self.end += 1
        behind = int(part.last[0]) if part.last else 0
        found = [row for row in TABLES[part.table] if row > behind][:size]
        last = (str(found[-1]),) if found else None
        rows = {row: ((str(row),), row) for row in found}
        return Chunk(replace(part, end=("5",)), part.table, rows, last, len(found) < size, self.end)


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def snapshot(rows: Rows) -> IncrementalSnapshot[str, int]:
    return IncrementalSnapshot(rows, 2, None)


def ask(snapshot: IncrementalSnapshot[str, int], *tables: str, **more: Any) -> None:
    snapshot.signal("1", "execute-snapshot", json.dumps({"data-collections": tables, **more}))


def test_rows_come_when_the_stream_is_where_the_log_ended(snapshot: IncrementalSnapshot[str, int]) -> None:
    assert list(snapshot.ready(100)) == [], "nothing was asked for"
    ask(snapshot, "s.a")
    assert snapshot.table is None
    assert list(snapshot.ready(10)) == []
    assert snapshot.table == "s.a"
    assert snapshot.waits_for(10)
    assert not snapshot.waits_for(11)
    told = list(snapshot.ready(11))
    assert [row for _, row, _ in told] == [1, 2]
    assert [left.parts[0].last if left else None for _, _, left in told] == [("1",), ("2",)], "after each row"
    assert snapshot.progress is not None
    assert snapshot.progress.parts == (Part("s.a", None, ("5",), ("2",)),)


def test_what_is_left_ends_with_the_last_row_of_the_last_table(snapshot: IncrementalSnapshot[str, int]) -> None:
    ask(snapshot, "s.*")
    told = [each for _ in range(6) for each in snapshot.ready(100)]
    assert [(table, row) for table, row, _ in told] == [("s.a", row) for row in TABLES["s.a"]] + [("s.b", 1)]
    assert told[4][2] == Progress((Part("s.b"), Part("s.empty")))
    assert told[5][2] == Progress((Part("s.empty"),))
    assert snapshot.progress is None


def test_a_row_that_changed_is_left_out_and_one_of_unknown_name_has_all_read_again(
    snapshot: IncrementalSnapshot[str, int], rows: Rows
) -> None:
    ask(snapshot, "s.a")
    list(snapshot.ready(10))
    snapshot.changed(2)
    snapshot.changed(7)
    assert [row for _, row, _ in snapshot.ready(11)] == [1]
    list(snapshot.ready(11))
    snapshot.changed(None)
    assert snapshot.table is None
    assert list(snapshot.ready(12)) == []
    assert rows.end == 13
    assert [row for _, row, _ in snapshot.ready(13)] == [3, 4]
    list(snapshot.ready(13))
    snapshot.emptied()
    assert list(snapshot.ready(14)) == []
    assert snapshot.progress is None


def test_a_table_that_cannot_be_read_costs_no_other(
    snapshot: IncrementalSnapshot[str, int], rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    rows.refuses = "s.a"
    ask(snapshot, "s.a", "s.b")
    assert [row for _ in range(3) for _, row, _ in snapshot.ready(100)] == [1]
    assert "Incremental snapshot of s.a: given up after 0 rows. It has no primary key." in caplog.text


def test_what_is_under_way_is_not_begun_anew(snapshot: IncrementalSnapshot[str, int]) -> None:
    ask(snapshot, "s.a")
    list(snapshot.ready(100))
    before = snapshot.progress
    ask(snapshot, "s.a")
    assert snapshot.progress == before
    ask(snapshot, "s.a", "s.b")
    assert snapshot.progress is not None
    assert [part.table for part in snapshot.progress.parts] == ["s.a", "s.b"]


def test_stopping_one_and_all(snapshot: IncrementalSnapshot[str, int]) -> None:
    ask(snapshot, "s.*")
    list(snapshot.ready(10))
    snapshot.signal("2", "stop-snapshot", '{"data-collections": ["s.a"]}')
    assert snapshot.table is None
    assert [row for _ in range(2) for _, row, _ in snapshot.ready(100)] == [1]
    snapshot.signal("3", "stop-snapshot", None)
    assert snapshot.progress is None


def test_a_paused_one_reads_nothing_also_after_a_start(snapshot: IncrementalSnapshot[str, int], rows: Rows) -> None:
    ask(snapshot, "s.a")
    list(snapshot.ready(10))
    snapshot.signal("2", "pause-snapshot", None)
    assert list(snapshot.ready(100)) == []
    assert snapshot.progress is not None
    started = IncrementalSnapshot(rows, 2, of_offset(snapshot.progress.stored()))
    assert list(started.ready(100)) == []
    started.signal("3", "resume-snapshot", None)
    assert [row for _, row, _ in started.ready(100)] == [1, 2]


def test_what_is_left_is_stored_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    parts = (Part('s."a', "n > 'x'", ("1", "é"), ("0", "")), Part("s.b"))
    for paused in (True, False):
        left = Progress(parts, paused)
        assert of_offset({"lsn": 1, **left.stored()}) == left
    assert of_offset({"lsn": 1}) is None
    with pytest.raises(ConnectError, match="incremental_snapshot"):
        of_offset({"incremental_snapshot": "{}"})
    assert of_offset({"incremental_snapshot_collections": "s.a"}) is None
    assert "Debezium was under way (s.a)" in caplog.text


def test_what_signals_ask_for(snapshot: IncrementalSnapshot[str, int], caplog: pytest.LogCaptureFixture) -> None:
    asked = signal(
        "execute-snapshot",
        '{"data-collections": ["s.a", "\\"s\\".\\"B\\""], "type": "INCREMENTAL", '
        '"additional-conditions": [{"data-collection": "s.a", "filter": "n > 1"}]}',
    )
    assert isinstance(asked, Execute)
    assert [asked.tables.match(each) for each in ("s.a", "s.B", "s.c")] == [True, True, False]
    assert (asked.condition("s.a"), asked.condition("s.B")) == ("n > 1", None)
    one = signal("execute-snapshot", '{"data-collections": ["s.a"], "additional-condition": "n > 2"}')
    assert isinstance(one, Execute)
    assert one.condition("s.a") == "n > 2"
    assert signal("stop-snapshot", '{"type": "incremental"}') == Stop(None)
    assert signal("pause-snapshot", None) == Pause()
    assert signal("resume-snapshot", "") == Continue()
    assert signal("log", '{"message": "so far"}') == Log("so far")
    snapshot.signal("6", "snapshot-window-open", "of another connector")
    assert "not followed" not in caplog.text
    caplog.set_level(logging.INFO)
    snapshot.signal("7", "log", '{"message": "so far"}')
    assert "Signal 7: so far" in caplog.text


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("dance", None, '"dance" is no type of a signal. Write execute-snapshot'),
        ("execute-snapshot", "{", "its data is no JSON"),
        ("execute-snapshot", "[]", "its data is no JSON object"),
        ("execute-snapshot", None, "it names no tables"),
        ("execute-snapshot", '{"data-collections": "s.a"}', "it names no tables"),
        ("execute-snapshot", '{"data-collections": ["("]}', "data-collections: "),
        ("execute-snapshot", '{"data-collections": ["a"], "type": "blocking"}', 'type "blocking" are not taken'),
        ("execute-snapshot", '{"data-collections": ["a"], "surrogate-key": "x"}', "surrogate-key is not supported"),
        ("execute-snapshot", '{"data-collections": ["a"], "additional-conditions": [{}]}', "write additional-cond"),
        ("execute-snapshot", '{"data-collections": ["a"], "additional-conditions": 1}', "is no list"),
    ],
)
def test_signals_that_are_not_understood_say_what_to_write(
    snapshot: IncrementalSnapshot[str, int], caplog: pytest.LogCaptureFixture, kind: str, data: str, said: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        signal(kind, data)
    snapshot.signal("9", kind, data)
    assert "The signal 9 is not followed: " in caplog.text
    assert snapshot.progress is None


def test_patterns_of_tables_ignore_case() -> None:
    assert Execute(filters(["S.A"])).tables.match("s.a")
