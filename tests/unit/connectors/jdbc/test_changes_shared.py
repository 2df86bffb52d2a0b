"""What change captures of any database share: heartbeats, and the check of offsets that are written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from connect import ConnectError, RetriableError
from connectors.jdbc.changes import heartbeats
from connectors.jdbc.changes.heartbeats import Heartbeats
from connectors.jdbc.changes.offsets import check


class _Stream:
    transaction: object | None = None
    beats = 0

    def heartbeat(self) -> None:
        self.beats += 1


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock, to be set."""
    at = [100.0]
    monkeypatch.setattr(heartbeats.time, "monotonic", lambda: at[0])
    return at


def test_a_heartbeat_is_due_now_and_then_and_between_transactions(now: list[float]) -> None:
    stream, ran = _Stream(), list[str]()
    each = Heartbeats(10, "UPDATE beats")
    for at, transaction in ((105.0, None), (110.0, "open"), (111.0, None), (115.0, None), (121.0, None)):
        now[0], stream.transaction = at, transaction
        each.beat(stream, ran.append)
    assert (stream.beats, ran) == (2, ["UPDATE beats"] * 2)


def test_without_an_interval_there_are_none(now: list[float]) -> None:
    stream, never = _Stream(), Heartbeats(0, "UPDATE beats")
    now[0] += 1000
    never.beat(stream, pytest.fail)
    assert stream.beats == 0


def test_an_action_that_is_refused_is_told_and_one_that_is_not_answered_is_waited_for(
    now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    def run(error: Exception) -> Any:
        def raising(sql: str) -> None:
            raise error

        now[0] += 20
        return lambda each: each.beat(_Stream(), raising)

    each = Heartbeats(10, "UPDATE beats")
    run(ConnectError("there is no table beats"))(each)
    assert "there is no table beats" in caplog.text
    with pytest.raises(RetriableError):
        run(RetriableError("gone"))(each)


@pytest.mark.parametrize(
    ("partition", "offset", "said"),
    [
        ({"server": "shop"}, {"at": 5}, ""),
        ({"server": "shop"}, None, ""),
        ({"server": "other"}, {"at": 5}, 'The source partition reads {"server": "shop"}'),
        ({"server": "shop", "more": 1}, {"at": 5}, "The source partition reads"),
        ({"server": "other"}, None, ""),
        ({"server": "shop"}, {"at": "5"}, "It has no place."),
    ],
)
def test_offsets_by_hand(partition: dict[str, Any], offset: dict[str, Any] | None, said: str) -> None:
    offsets = {tuple(partition.items()): offset}

    def checked() -> None:
        check("shop", offsets, lambda each: isinstance(each.get("at"), int), "It has no place.")

    if not said:
        checked()
        return
    with pytest.raises(ConnectError, match=said):
        checked()
