"""The connection that is opened again: what is said while it is waited for."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from connect import ConnectError
from connect.telemetry.outages import Outages, current, of_task
from connectors.jdbc.database import Database, DatabaseOptions


class _Refusing:
    """An engine whose server is away first, and then refuses the password."""

    def __init__(self) -> None:
        self.waited_for: list[int] = []
        self._errors = [
            psycopg.OperationalError("connection refused"),
            psycopg.errors.lookup("28P01")("wrong password"),
        ]

    def connect(self) -> Any:
        self.waited_for.append(len(current()._waiters))
        raise DBAPIError.instance("", [], self._errors.pop(0), psycopg.Error)


@pytest.fixture
def outages() -> Iterator[Outages]:
    """Those of a task, in which nothing else is waited for."""
    made = Outages()
    before = of_task.set(made)
    yield made
    of_task.reset(before)


def test_a_server_that_is_back_and_refuses_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, outages: Outages) -> None:
    config = {"connection.url": "jdbc:postgresql://db/shop", "connection.backoff.ms": "0"}
    database, engine = Database(DatabaseOptions.parse(config), config), _Refusing()
    monkeypatch.setattr(Database, "_made", lambda _: engine)
    with pytest.raises(ConnectError, match="refuses the connection: wrong password"):
        database.connect()
    assert engine.waited_for == [0, 1]
    assert not outages._waiters
