"""Each step of an end is taken, and each trouble told once."""

import logging

import pytest

from connect.errors import ConnectError
from connect.worker.ending import take_all

log = logging.getLogger("connect.ending")


def raising(error: Exception):
    def step() -> None:
        raise error

    return step


def end(*steps, because: Exception | None = None) -> None:
    """As a task's loop does."""
    try:
        if because is not None:
            raise because
    finally:
        take_all(steps, log, lambda: None)


def test_each_step_is_taken_and_what_is_reported_comes_before_what_is_told(caplog):
    taken = []
    first, second = raising(ConnectError("no table")), raising(ValueError("a bug"))
    take_all((first, lambda: taken.append(1), second, lambda: taken.append(2)), log, lambda: log.warning("report"))
    assert taken == [1, 2]
    assert caplog.messages == [
        "report",
        "While stopping: ConnectError: no table",
        "While stopping: ValueError: a bug",
    ]
    known, bug = caplog.records[1:]
    assert known.exc_info is None, "it says all there is to say"
    assert bug.exc_info


def test_what_the_task_ends_with_is_not_told_again(caplog):
    caplog.set_level(logging.INFO)
    cause = OSError("connection refused")
    problem = ConnectError("no database")
    problem.__cause__ = cause
    with pytest.raises(ConnectError):
        end(
            raising(ConnectError("no database")),
            raising(OSError("connection refused")),
            raising(ConnectError("the disk is full")),
            raising(ConnectError("the disk is full")),
            because=problem,
        )
    assert caplog.messages == ["While stopping: ConnectError: the disk is full"]


def test_a_circle_of_causes_has_an_end():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    with pytest.raises(ValueError, match="one"):
        end(lambda: None, because=one)
