"""A snapshot: all rows of the captured tables at one moment, streamed by COPY."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import TableFacts, TableId, quoted
from connectors.jdbc.capture.copying import copied
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.tables import Table, Tables
from connectors.jdbc.changes.marks import marked


class Snapshot:
    """Reads tables one after another, on a connection whose transaction is the snapshot.

    Args:
        connection: psycopg's.
        chosen: the tables, in the order in which they are read.
        tables: makes records of their rows.
    """

    def __init__(self, connection: Any, chosen: list[TableId], tables: Tables) -> None:
        self._connection = connection
        self._chosen = chosen
        self._tables = tables
        #: Each row with its table and Debezium's word for its place; None when none came for a while.
        self.rows = marked(self._all())

    def _all(self) -> Iterator[tuple[Table, Row] | None]:
        for each in self._chosen:
            facts = catalog.table(self._query, each.oid)
            if facts is not None and facts.columns:
                table = self._tables.of_facts(facts)
                for row in self._rows(facts):
                    yield None if row is None else (table, row)

    def _query(self, sql: str, values: Any = None) -> list[Any]:
        return list(self._connection.execute(sql, values).fetchall())

    def _rows(self, facts: TableFacts) -> Iterator[Row | None]:
        columns = ", ".join(quoted(column.name) for column in facts.columns)
        return copied(self._connection, f"SELECT {columns} FROM {facts.in_sql}", facts.full_name)
