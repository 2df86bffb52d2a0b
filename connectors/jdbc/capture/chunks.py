"""Parts of tables, for incremental snapshots: a few rows by the primary key, and where the log ended after that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from psycopg.sql import Literal

from connect import ConnectError
from connectors.jdbc.capture import catalog
from connectors.jdbc.capture.catalog import TableFacts, quoted
from connectors.jdbc.capture.copying import copied
from connectors.jdbc.capture.database import CapturedDatabase
from connectors.jdbc.capture.keys import CaptureOptions
from connectors.jdbc.capture.pgoutput import Row
from connectors.jdbc.capture.tables import Table, Tables
from connectors.jdbc.changes.incremental import Chunk, Part


class TableChunks:
    """Reads on the connection beside the stream. See `connectors.jdbc.changes.incremental.Chunks`.

    Args:
        database: with that connection.
        chosen: which tables are captured.
        tables: makes records of their rows.
    """

    def __init__(self, database: CapturedDatabase, chosen: CaptureOptions, tables: Tables) -> None:
        self._database = database
        self._chosen = chosen
        self._tables = tables

    def tables(self) -> Sequence[str]:
        """The full names of the captured tables."""
        return [each.full_name for each in self._database.tables(self._chosen)]

    def read(self, part: Part, size: int) -> Chunk[Table, Row]:
        """The next rows of a table. Values of keys are in the text form of the session, which is that of the stream."""
        facts = self._facts(part.table)
        if not facts.key:
            raise ConnectError("It has no primary key, by which its rows could be read in parts.")
        if part.end is None:
            part = replace(part, end=self._highest(facts, part.condition))
        elif part.condition:
            # A column that it names may be gone by now. Refused in COPY that would be tried again without an end.
            self._database.query(f"SELECT 1 FROM {facts.in_sql} WHERE ({part.condition}) LIMIT 0")
        rows = [] if part.end is None else self._read(facts, part, size)
        form = self._tables.of_facts(facts)
        keyed = {form.identity(row): (_text(form.identity(row)), row) for row in rows}
        last = next(reversed(keyed.values()))[0] if keyed else None
        # The end of the log is asked for after the rows: what they show was committed before it.
        _, position, _ = self._database.now()
        return Chunk(part, form, keyed, last, len(rows) < size or last == part.end, position)

    def _facts(self, table: str) -> TableFacts:
        for each in self._database.tables(self._chosen):
            if each.full_name == table and (facts := catalog.table(self._database.query, each.oid)):
                return facts
        raise ConnectError("It is not captured any more.")

    def _highest(self, facts: TableFacts, condition: str | None) -> tuple[str, ...] | None:
        names = [quoted(name) for name in facts.key]
        texts = ", ".join(f"{name}::text AS key_{at}" for at, name in enumerate(names))
        order = ", ".join(f"{name} DESC" for name in names)
        where = f" WHERE ({condition})" if condition else ""
        found = self._database.query(f"SELECT {texts} FROM {facts.in_sql}{where} ORDER BY {order} LIMIT 1")
        return tuple(found[0]) if found else None

    def _read(self, facts: TableFacts, part: Part, size: int) -> list[Row]:
        names = [quoted(name) for name in facts.key]
        key = f"({', '.join(names)})"
        bounds = [f"{key} <= {self._values(part.end or ())}"]
        if part.last is not None:
            bounds.append(f"{key} > {self._values(part.last)}")
        if part.condition:
            bounds.append(f"({part.condition})")
        columns = ", ".join(quoted(column.name) for column in facts.columns)
        query = (
            f"SELECT {columns} FROM {facts.in_sql} WHERE {' AND '.join(bounds)} "
            f"ORDER BY {', '.join(names)} LIMIT {size}"
        )
        return [row for row in copied(self._database.connection, query, facts.full_name) if row is not None]

    def _values(self, key: Sequence[str]) -> str:
        """Literals without types: each takes that of the column that it is compared with."""
        return f"({', '.join(Literal(value).as_string(self._database.connection) for value in key)})"


def _text(key: tuple[bytes, ...] | None) -> tuple[str, ...]:
    return tuple(value.decode() for value in key or ())
