"""A database, and connectors that capture it: what the tests of change capture share, for either kind of database."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from connect import SourceConnector, SourceRecord
from connect.testing import SourceRun
from tests.servers.mariadb import MariaDatabase
from tests.servers.postgresql import PostgresDatabase

PATIENCE = 60


class Captured(ABC):
    """A database, and connectors that capture it. Its table `line` has an id and a word.

    Attributes:
        kind: the name of such a database in events.
        debezium: the name of Debezium's connector for it.
        no_column: what it says when there is no column `color`.
        whole_rows: whether its log has a row as it was, and not only the row's key.
        schema: what the full name of a table begins with.
    """

    connector: type[SourceConnector]
    kind: ClassVar[str]
    debezium: ClassVar[str]
    no_column: ClassVar[str]
    whole_rows: ClassVar[bool]
    schema: str
    database: PostgresDatabase | MariaDatabase

    def __init__(self) -> None:
        self._runs: list[SourceRun] = []

    @abstractmethod
    def config(self, **changes: str) -> dict[str, str]:
        """What a connector is told, with _ for dots."""

    @abstractmethod
    def numbers(self, first: int, last: int, word: str) -> str:
        """A statement that inserts numbered lines."""

    @abstractmethod
    def insert_6000(self) -> None:
        """Lines 10001 to 13000 and 20001 to 23000, many of them in one entry of the log."""

    @abstractmethod
    def end_of_log(self) -> Any:
        """Where the log of the server ends."""

    @abstractmethod
    def place(self, offset: dict[str, Any]) -> Any:
        """How far an offset is in the log, to be compared with its end."""

    @abstractmethod
    def streaming(self) -> bool:
        """Whether the server has a reader of its log."""

    @abstractmethod
    def when_rows_are_read(self, patch: pytest.MonkeyPatch, size: int, do: Callable[[], None]) -> None:
        """Do something whenever an incremental snapshot has read rows, and not yet where the log ends.

        Args:
            size: it reads so many at a time.
        """

    def common(self) -> dict[str, str]:
        """What a connector for any database is told."""
        return {
            "name": "capture",
            "database.hostname": self.database.host,
            "database.port": str(self.database.port),
            "database.user": self.database.user,
            "database.password": self.database.password,
            "topic.prefix": "shop",
            "poll.interval.ms": "20",
        }

    def table(self, name: str) -> str:
        """The full name of a table."""
        return f"{self.schema}.{name}"

    def run(self, **changes: str) -> SourceRun:
        run = SourceRun(self.connector, self.config(**changes), timeout=PATIENCE)
        self._runs.append(run)
        return run

    def execute(self, *statements: str) -> None:
        """Run statements in one connection."""
        with self.database.connect() as connection, connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def until(self, run: SourceRun, condition: Callable[[], bool]) -> None:
        """Poll until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            run.poll()

    def errors(self, **changes: str) -> dict[str, list[str]]:
        """What validation says."""
        found = self.connector().validate(self.config(**changes))
        return {each.name: each.errors for each in found if each.errors}

    def close(self) -> None:
        for run in self._runs:
            if run.tasks:
                run.stop()


def dotted(changes: dict[str, str]) -> dict[str, str]:
    """Settings with dots in place of _."""
    return {key.replace("_", "."): value for key, value in changes.items()}


def ids(records: list[SourceRecord], table: str = "line") -> list[int]:
    return [r.value["after"]["id"] for r in records if r.topic.endswith(f".{table}") and r.value and r.value["after"]]


def ops(records: list[SourceRecord]) -> list[str | None]:
    return [None if record.value is None else record.value["op"] for record in records]


def fields(record: SourceRecord) -> list[str]:
    """The names of a row's columns."""
    assert record.value_schema is not None
    return [field.name for field in record.value_schema.field("after").schema.fields]


class Writer:
    """Inserts numbered rows, a few to a transaction, from several connections at once."""

    def __init__(self, database: PostgresDatabase | MariaDatabase, threads: int = 3) -> None:
        self._database = database
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(threads)]
        self.written: list[int] = []
        for thread in self._threads:
            thread.start()

    def _write(self, thread: int) -> None:
        number = (thread + 1) * 1_000_000
        with self._database.connect(autocommit=False) as connection, connection.cursor() as cursor:
            while not self._stopped.is_set():
                rows = range(number, number + 1 + number % 5)
                for row in rows:
                    cursor.execute("INSERT INTO line VALUES (%s, 'concurrent')", [row])
                connection.commit()
                self.written += rows
                number = rows.stop

    def stop(self) -> list[int]:
        """Stop, and tell what was written."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        return self.written
