"""A snapshot: all rows of the captured tables at one moment, streamed by COPY."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg

from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import TableFacts, TableId, quoted
from connectors.jdbc.capture.copying import copied
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.tables import Table, Tables
from connectors.jdbc.changes.marks import marked

#: How long a lock of somebody else is waited for before the task looks around.
_LOCK_MS: Final = 1000


class Snapshot:
    """Reads tables one after another, on a connection whose transaction is the snapshot.

    Args:
        connection: psycopg's.
        chosen: the tables, in the order in which they are read.
        tables: makes records of their rows.

    Attributes:
        waits_for: what it cannot go on without at the moment; None for nothing.
    """

    def __init__(self, connection: Any, chosen: list[TableId], tables: Tables) -> None:
        self._connection = connection
        self._chosen = chosen
        self._tables = tables
        self.waits_for: str | None = None
        #: Each row with its table and Debezium's word for its place; None when none came for a while.
        self.rows = marked(self._all())

    def _all(self) -> Iterator[tuple[Table, Row] | None]:
        for each in self._chosen:
            facts = catalog.table(self._query, each.oid)
            if facts is not None and facts.columns:
                table = self._tables.of_facts(facts)
                for row in self._rows(facts):
                    yield None if row is None else (table, row)

    def _lock(self, facts: TableFacts) -> Iterator[None]:
        """Lock a table against being changed or emptied; None whenever somebody else still has such a lock.

        A statement that reads would wait for that without an end, and without a word.
        """
        self._connection.execute(f"SET LOCAL lock_timeout = {_LOCK_MS}")
        while True:
            self._connection.execute("SAVEPOINT before_lock")
            try:
                self._connection.execute(f"LOCK TABLE {facts.in_sql} IN ACCESS SHARE MODE")
                break
            except psycopg.Error as error:
                self._connection.execute("ROLLBACK TO SAVEPOINT before_lock")
                if not isinstance(error, psycopg.errors.LockNotAvailable):
                    break  # reading it will say why
            self.waits_for = f"a lock on {facts.full_name}"
            yield None
        self.waits_for = None

    def _query(self, sql: str, values: Any = None) -> list[Any]:
        return list(self._connection.execute(sql, values).fetchall())

    def _rows(self, facts: TableFacts) -> Iterator[Row | None]:
        yield from self._lock(facts)
        columns = ", ".join(quoted(column.name) for column in facts.columns)
        yield from copied(self._connection, f"SELECT {columns} FROM {facts.in_sql}", facts.full_name)
