"""Queries that begin one after another, in a task and among those who share a Spark."""

from pathlib import Path
from typing import Any

import pytest

from spark_sink.query import turn
from spark_sink.query.turn import Turn


class Running:
    """A query of Spark's, as far as a turn looks at it."""

    def __init__(self, message: str = "Initializing sources") -> None:
        self.isActive = True
        self.status = {"message": message}


def test_the_next_query_begins_when_the_first_has_its_source() -> None:
    turns, first = Turn(None), Running()
    assert turns.comes()
    turns.begun(first)
    assert not turns.comes()
    first.status["message"] = "Waiting for data to arrive"
    assert turns.comes()


@pytest.mark.parametrize("end", ["ended", "never began", "takes too long"])
def test_what_does_not_begin_holds_up_nobody(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, first = Turn(None), Running()
    if end == "takes too long":
        monkeypatch.setattr(turn, "_LONGEST_S", 0.0)
    assert turns.comes()
    turns.begun(None if end == "never began" else first)
    if end == "ended":
        first.isActive = False
    assert turns.comes()


def test_those_who_share_a_spark_take_turns(tmp_path: Path) -> None:
    one, other = Turn(tmp_path / "lock"), Turn(tmp_path / "lock")
    running: Any = Running()
    assert one.comes()
    assert not other.comes()
    one.begun(running)
    assert not other.comes()
    running.status["message"] = "Processing new data"
    assert not one.is_taken()
    assert other.comes()
    assert not one.comes()
    other.begun(None)
