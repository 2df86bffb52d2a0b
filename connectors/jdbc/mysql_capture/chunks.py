"""Parts of tables, for incremental snapshots: a few rows by the primary key, and where the log ended after that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from connect import ConnectError
from connectors.jdbc.changes.forms import Struct
from connectors.jdbc.changes.incremental import Chunk, Part
from connectors.jdbc.mysql_capture.catalog import Tables
from connectors.jdbc.mysql_capture.database import CapturedServer
from connectors.jdbc.mysql_capture.facts import ColumnFacts, TableFacts
from connectors.jdbc.mysql_capture.snapshot import in_sql, selected
from connectors.jdbc.mysql_capture.sql import quoted
from connectors.jdbc.mysql_capture.tables import Table

_NUMBERS: Final = frozenset(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year"))
_TEXTS: Final = frozenset(
    ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "date", "datetime", "timestamp", "time", "uuid")
)
_BYTES: Final = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"))
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")


class TableChunks:
    """Reads on the connection beside the stream. See `connectors.jdbc.changes.incremental.Chunks`."""

    def __init__(self, server: CapturedServer, tables: Tables) -> None:
        self._server = server
        self._tables = tables

    def tables(self) -> Sequence[str]:
        """The full names of the captured tables."""
        return [".".join(name) for name in self._server.tables() if self._tables.wants(*name)]

    def read(self, part: Part, size: int) -> Chunk[Table, Struct]:
        """The next rows of a table. A key's values are in text form, bytes in hexadecimal digits."""
        facts = self._facts(part.table)
        table = self._tables.form(facts)
        key = _Key(self._server, facts, table)
        if part.end is None:
            part = replace(part, end=key.highest(part.condition))
        rows: dict[Any, tuple[tuple[str, ...], Struct]] = {}
        if part.end is not None:
            read = table.row_reader()
            for row in self._server.query(key.select(part, size)):
                struct = read(row)
                rows[table.identity(struct)] = key.text(row), struct
        last = next(reversed(rows.values()))[0] if rows else None
        # The end of the log is asked for after the rows: what they show was committed before it.
        return Chunk(part, table, rows, last, len(rows) < size or last == part.end, self._server.place().order)

    def _facts(self, table: str) -> TableFacts:
        for database, name in self._server.tables():
            if f"{database}.{name}" != table or not self._tables.wants(database, name):
                continue
            if (facts := self._server.facts(database, name)) is not None:
                return facts
        raise ConnectError("It is not captured any more.")


class _Key:
    """The primary key of a table, in statements.

    Raises:
        ConnectError: there is none by which rows can be read in parts.
    """

    def __init__(self, server: CapturedServer, facts: TableFacts, table: Table) -> None:
        columns = {column.name: column for column in facts.columns}
        self._server = server
        self._facts = facts
        self._table = table
        self._columns: list[ColumnFacts] = [columns[name] for name in facts.key]
        self._names = [quoted(name) for name in facts.key]
        if not self._columns:
            raise ConnectError("It has no primary key, by which its rows could be read in parts.")
        for column in self._columns:
            if column.base not in _NUMBERS | _TEXTS | _BYTES:
                raise ConnectError(
                    f'The column "{column.name}" of its primary key is of the type {column.base}: by that its rows '
                    "cannot be read in parts."
                )
            if column.name not in table.captured:
                raise ConnectError(f'The column "{column.name}" of its primary key is not captured.')
        self._indexes = [table.captured.index(name) for name in facts.key]

    def highest(self, condition: str | None) -> tuple[str, ...] | None:
        """The highest key; None where there is no row."""
        where = f" WHERE ({condition})" if condition else ""
        order = ", ".join(f"{name} DESC" for name in self._names)
        found = self._server.query(
            f"SELECT {', '.join(self._names)} FROM {in_sql(self._facts)}{where} ORDER BY {order} LIMIT 1"
        )
        return self._texts(found[0]) if found else None

    def select(self, part: Part, size: int) -> str:
        """The statement that reads the rows behind `part.last`."""
        bounds = [f"NOT ({self._behind(part.end or ())})"]
        if part.last is not None:
            bounds.append(f"({self._behind(part.last)})")
        if part.condition:
            bounds.append(f"({part.condition})")
        return f"{selected(self._table)} WHERE {' AND '.join(bounds)} ORDER BY {', '.join(self._names)} LIMIT {size}"

    def text(self, row: Sequence[bytes | None]) -> tuple[str, ...]:
        """The key of a row of that."""
        return self._texts([row[index] for index in self._indexes])

    def _texts(self, values: Sequence[bytes | None]) -> tuple[str, ...]:
        pairs = zip(values, self._columns, strict=True)
        return tuple((value or b"").hex() if of.base in _BYTES else (value or b"").decode() for value, of in pairs)

    def _behind(self, key: Sequence[str]) -> str:
        """That a row's key is higher, so that the server can use its index: it compares no rows of values with one."""
        found = ""
        for name, column, value in reversed(list(zip(self._names, self._columns, key, strict=True))):
            written = self._literal(column, value)
            found = f"{name} >= {written} AND ({name} > {written} OR ({found}))" if found else f"{name} > {written}"
        return found

    def _literal(self, column: ColumnFacts, value: str) -> str:
        if column.base in _BYTES:
            return f"X'{bytes.fromhex(value).hex()}'"
        if column.base in _NUMBERS:
            if not _NUMBER.fullmatch(value):
                raise ConnectError(f'"{value}" is no {column.base}, as the column "{column.name}" has it.')
            return value
        written: str = self._server.connection.escape(value)
        return written
