"""A database of MariaDB, and connectors that capture it, for the tests of change capture."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from connectors.jdbc.mysql_capture import MariaDbCdcSourceConnector, binlog
from connectors.jdbc.mysql_capture.database import CapturedServer
from connectors.jdbc.mysql_capture.replication import ReplicationConnection
from tests.servers.mariadb import MariaDatabase, MariaServer

from .captured import Captured, dotted

_NUMBERS = itertools.count(7000)


class CapturedMaria(Captured):
    connector = MariaDbCdcSourceConnector
    kind = "mariadb"
    debezium = "io.debezium.connector.mariadb.MariaDbConnector"
    no_column = "Unknown column 'color'"
    whole_rows = True
    database: MariaDatabase

    def __init__(self, database: MariaDatabase) -> None:
        super().__init__()
        self.database = database
        self.schema = database.name
        self.server_id = next(_NUMBERS)

    def config(self, **changes: str) -> dict[str, str]:
        return {
            **self.common(),
            "connector.class": "MariaDbCdcSource",
            "database.server.id": str(self.server_id),
            "database.include.list": self.database.name,
            **dotted(changes),
        }

    def numbers(self, first: int, last: int, word: str) -> str:
        return numbers(first, last, word)

    def insert_6000(self) -> None:
        self.execute("BEGIN", numbers(10001, 13000, "big"), numbers(20001, 23000, "bigger"), "COMMIT")

    def end_of_log(self) -> tuple[str, int]:
        ((file, position, *_),) = self.database.execute("SHOW MASTER STATUS")
        return file, position

    def place(self, offset: dict[str, Any]) -> tuple[str, int]:
        return offset["file"], offset["pos"]

    def streaming(self) -> bool:
        reading = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
        return self.database.execute(reading) != []

    def when_rows_are_read(self, patch: pytest.MonkeyPatch, size: int, do: Callable[[], None]) -> None:
        query = CapturedServer.query

        def query_first(server: CapturedServer, sql: str, values: Any = None) -> Any:
            found = query(server, sql, values)
            if f"LIMIT {size}" in sql:
                do()
            return found

        patch.setattr(CapturedServer, "query", query_first)


def numbers(first: int, last: int, word: str) -> str:
    """A statement that inserts numbered lines."""
    return f"INSERT INTO line SELECT seq, '{word}' FROM seq_{first}_to_{last}"


def durable_server() -> MariaServer:
    """A server that has on disk what it has confirmed, whenever it is killed."""
    return MariaServer(**{"innodb-flush-log-at-trx-commit": "1", "sync-binlog": "1"})


class CutOnce:
    """Connections that read the log, of which one breaks, behind the second event with rows.

    Attributes:
        received: how many such events were read, and one more for the break.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.received = 0
        receive = ReplicationConnection.receive

        def breaking(stream: ReplicationConnection, wait: float = 0.0) -> bytes | None:
            found = receive(stream, wait)
            self.received += found is not None and found[4] in binlog.ROWS
            if self.received == 2:
                self.received += 1
                stream._lost("it was cut")
            return found

        patch.setattr(ReplicationConnection, "receive", breaking)
