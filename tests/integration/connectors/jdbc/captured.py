"""A PostgreSQL database, and a connector that captures it: what the modules of tests of capture share."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

from connect import SourceRecord
from connect.testing import SourceRun
from connectors.jdbc.capture import PostgresCdcSourceConnector
from connectors.jdbc.capture.replication import parse_lsn
from tests.servers.postgresql import PostgresDatabase

PATIENCE = 60


class Captured:
    """A database, and a connector that captures it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database
        self.slot = f"slot_{uuid.uuid4().hex[:12]}"
        self._runs: list[SourceRun] = []

    def config(self, **changes: str) -> dict[str, str]:
        return {
            "name": "capture",
            "connector.class": "PostgresCdcSource",
            "database.hostname": self.database.host,
            "database.port": str(self.database.port),
            "database.user": self.database.user,
            "database.password": self.database.password,
            "database.dbname": self.database.name,
            "topic.prefix": "shop",
            "slot.name": self.slot,
            "poll.interval.ms": "20",
            **{key.replace("_", "."): value for key, value in changes.items()},
        }

    def run(self, **changes: str) -> SourceRun:
        run = SourceRun(PostgresCdcSourceConnector, self.config(**changes), timeout=PATIENCE)
        self._runs.append(run)
        return run

    def confirmed(self) -> int:
        """What the server thinks is done."""
        ((lsn,),) = self.database.execute(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s", [self.slot]
        )
        return parse_lsn(lsn)

    def end_of_log(self) -> int:
        ((lsn,),) = self.database.execute("SELECT pg_current_wal_lsn()::text")
        return parse_lsn(lsn)

    def until(self, run: SourceRun, condition: Callable[[], bool]) -> None:
        """Poll until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            run.poll()

    def close(self) -> None:
        for run in self._runs:
            if run.tasks:
                run.stop()


def ids(records: list[SourceRecord], table: str = "line") -> list[int]:
    return [r.value["after"]["id"] for r in records if r.topic.endswith(f".{table}") and r.value and r.value["after"]]


def ops(records: list[SourceRecord]) -> list[str | None]:
    return [None if record.value is None else record.value["op"] for record in records]


class Writer:
    """Inserts numbered rows, a few to a transaction, from several connections at once."""

    def __init__(self, database: PostgresDatabase, threads: int = 3) -> None:
        self._database = database
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(threads)]
        self.written: list[int] = []
        for thread in self._threads:
            thread.start()

    def _write(self, thread: int) -> None:
        number = (thread + 1) * 1_000_000
        with self._database.connect(autocommit=False) as connection:
            while not self._stopped.is_set():
                rows = range(number, number + 1 + number % 5)
                for row in rows:
                    connection.execute("INSERT INTO line VALUES (%s, 'concurrent')", [row])
                connection.commit()
                self.written += rows
                number = rows.stop

    def stop(self) -> list[int]:
        """Stop, and tell what was written."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        return self.written
