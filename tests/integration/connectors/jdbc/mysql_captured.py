"""A database of MariaDB, and connectors that capture it, for the tests of change capture."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from connect import SourceRecord
from connect.testing import SourceRun
from connectors.jdbc.mysql_capture import MariaDbCdcSourceConnector
from tests.servers.mariadb import MariaDatabase

PATIENCE = 60
_NUMBERS = itertools.count(7000)


class Captured:
    """A database, and connectors that capture it."""

    connector = MariaDbCdcSourceConnector

    def __init__(self, database: MariaDatabase) -> None:
        self.database = database
        self.server_id = next(_NUMBERS)
        self._runs: list[SourceRun] = []

    def config(self, **changes: str) -> dict[str, str]:
        return {
            "name": "capture",
            "connector.class": "MariaDbCdcSource",
            "database.hostname": self.database.host,
            "database.port": str(self.database.port),
            "database.user": self.database.user,
            "database.password": self.database.password,
            "database.server.id": str(self.server_id),
            "database.include.list": self.database.name,
            "topic.prefix": "shop",
            "poll.interval.ms": "20",
            **{key.replace("_", "."): value for key, value in changes.items()},
        }

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


def ids(records: list[SourceRecord], table: str = "line") -> list[int]:
    return [r.value["after"]["id"] for r in records if r.topic.endswith(f".{table}") and r.value and r.value["after"]]


def ops(records: list[SourceRecord]) -> list[str | None]:
    return [None if record.value is None else record.value["op"] for record in records]


def fields(record: SourceRecord) -> list[str]:
    """The names of a row's columns."""
    assert record.value_schema is not None
    return [field.name for field in record.value_schema.field("after").schema.fields]


def numbers(first: int, last: int, word: str) -> str:
    """A statement that inserts numbered lines."""
    return f"INSERT INTO line SELECT seq, '{word}' FROM seq_{first}_to_{last}"


class Writer:
    """Inserts numbered rows, a few to a transaction, from several connections at once."""

    def __init__(self, database: MariaDatabase, threads: int = 3) -> None:
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
