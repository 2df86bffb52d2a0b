"""Databases that the JDBC source reads from, by one set of statements, and a run of it in memory."""

import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from connect.testing import SourceRun
from connectors.jdbc.source import JdbcSourceConnector


class Shop:
    """A database of one kind, empty.

    Attributes:
        config: what reaches it.
        stamp: its type of a timestamp in microseconds, without a zone.
        name: of a table, as its source partition has it.
    """

    def __init__(self, execute: Callable[..., Any], config: dict[str, str], stamp: str, prefix: str) -> None:
        self.execute = execute
        self.config = config
        self.stamp = stamp
        self._prefix = prefix

    def name(self, table: str) -> str:
        return self._prefix + table

    def partition(self, table: str) -> dict[str, str]:
        return {"protocol": "1", "table": self.name(table)}

    def run(self, offsets: Any = (), timeout: float = 20.0, **config: str) -> SourceRun:
        """A run that polls quickly and waits for nobody's commit; keys with `_` for `.`."""
        told = {key.replace("_", "."): value for key, value in config.items()}
        quick = {"poll.interval.ms": "1", "timestamp.delay.interval.ms": "0", "topic.prefix": "db-"}
        return SourceRun(JdbcSourceConnector, {**self.config, **quick, **told}, offsets=offsets, timeout=timeout)


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    """A database of each kind in turn."""
    yield from _shop(request, request.param, tmp_path)


@pytest.fixture
def postgresql_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    yield from _shop(request, "postgresql", tmp_path)


@pytest.fixture
def mariadb_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    yield from _shop(request, "mariadb", tmp_path)


@pytest.fixture
def sqlite_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    yield from _shop(request, "sqlite", tmp_path)


def _shop(request: pytest.FixtureRequest, kind: str, folder: Path) -> Iterator[Shop]:
    if kind == "sqlite":
        file = folder / "shop.db"
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        yield Shop(
            lambda sql: connection.execute(sql).fetchall(), {"connection.url": f"jdbc:sqlite:{file}"}, "timestamp", ""
        )
        connection.close()
        return
    if kind == "postgresql":
        database, prefix = request.getfixturevalue("postgres_database"), "public."
    else:
        database, prefix = request.getfixturevalue("mariadb").database(f"test_{uuid.uuid4().hex[:12]}"), ""
    config = {
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
    }
    stamp = "timestamp" if kind == "postgresql" else "datetime(6)"
    yield Shop(database.execute, config, stamp, f"{database.name}.{prefix}")
    if kind == "mariadb":
        database.drop()


@pytest.fixture
def poll_until() -> Callable[[SourceRun, Callable[[], Any]], None]:
    """Polls until something holds."""

    def until(run: SourceRun, holds: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < deadline, "it did not come about in 20 s"
            run.poll()

    return until
