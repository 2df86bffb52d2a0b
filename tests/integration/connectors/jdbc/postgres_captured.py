"""A database of PostgreSQL, and connectors that capture it, for the tests of change capture."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from connectors.jdbc.capture import PostgresCdcSourceConnector
from connectors.jdbc.capture.database import CapturedDatabase
from connectors.jdbc.capture.replication import parse_lsn
from tests.servers.postgresql import PostgresDatabase

from .captured import Captured, dotted

ACTIVE = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"


class CapturedPostgres(Captured):
    connector = PostgresCdcSourceConnector
    kind = "postgresql"
    debezium = "io.debezium.connector.postgresql.PostgresConnector"
    no_column = 'column "color" does not exist'
    whole_rows = False
    schema = "public"
    database: PostgresDatabase

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self.database = database
        self.slot = f"slot_{uuid.uuid4().hex[:12]}"

    def config(self, **changes: str) -> dict[str, str]:
        return {
            **self.common(),
            "connector.class": "PostgresCdcSource",
            "database.dbname": self.database.name,
            "slot.name": self.slot,
            **dotted(changes),
        }

    def make_slot(self) -> None:
        """What else the connector makes."""
        self.execute("CREATE PUBLICATION dbz_publication FOR ALL TABLES")
        self.database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [self.slot])

    def numbers(self, first: int, last: int, word: str) -> str:
        return f"INSERT INTO line SELECT i, '{word}' FROM generate_series({first}, {last}) i"

    def insert_6000(self) -> None:
        self.execute(self.numbers(10001, 13000, "big"))
        # COPY writes many rows into one entry of the log, whose place alone does not say which of them was the last.
        with self.database.connect(autocommit=False) as connection, connection.cursor() as cursor:
            with cursor.copy("COPY line FROM STDIN") as copy:
                for number in range(20001, 23001):
                    copy.write_row((number, "copied"))
            connection.commit()

    def confirmed(self) -> int:
        """What the server thinks is done."""
        ((lsn,),) = self.database.execute(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s", [self.slot]
        )
        return parse_lsn(lsn)

    def end_of_log(self) -> int:
        ((lsn,),) = self.database.execute("SELECT pg_current_wal_lsn()::text")
        return parse_lsn(lsn)

    def place(self, offset: dict[str, Any]) -> int:
        return int(offset["lsn"])

    def streaming(self) -> bool:
        return self.database.execute(ACTIVE, [self.slot]) == [(True,)]

    def when_rows_are_read(self, patch: pytest.MonkeyPatch, size: int, do: Callable[[], None]) -> None:
        now = CapturedDatabase.now

        def do_first(database: CapturedDatabase) -> tuple[str, int, int]:
            """Asked for when the rows were read."""
            do()
            return now(database)

        patch.setattr(CapturedDatabase, "now", do_first)
