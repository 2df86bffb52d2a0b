"""SQLite: types by a column's declaration, and times in the form that a table stores.

SQLite has no type for a time. A table stores it as text in ISO 8601, with a space or a T, with or without parts of a
second; or, written by Java, as milliseconds since 1970. Texts are compared as texts, so that an index is used.
https://www.sqlite.org/datatype3.html
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.exc import NoSuchTableError

from connectors.jdbc.database import TableName
from connectors.jdbc.database.columns import Column, Kind
from connectors.jdbc.source.servers.server import CursorResult, Result, Select, Server, Shape, micros

#: The first that a declared type contains says what it is.
_KINDS: Final = (
    ("BOOL", Kind.BOOLEAN),
    ("TINYINT", Kind.INT8),
    ("SMALLINT", Kind.INT16),
    ("INT2", Kind.INT16),
    ("MEDIUMINT", Kind.INT32),
    ("INT", Kind.INT64),
    ("TIMESTAMP", Kind.WALL_CLOCK),
    ("DATETIME", Kind.WALL_CLOCK),
    ("DATE", Kind.DATE),
    ("TIME", Kind.TIME),
    ("CHAR", Kind.STRING),
    ("CLOB", Kind.STRING),
    ("TEXT", Kind.STRING),
    ("BLOB", Kind.BYTES),
    ("BINARY", Kind.BYTES),
    ("REAL", Kind.FLOAT64),
    ("FLOA", Kind.FLOAT64),
    ("DOUB", Kind.FLOAT64),
    ("DECIMAL", Kind.NUMERIC),
    ("NUMERIC", Kind.NUMERIC),
    ("NUM", Kind.FLOAT64),
)
_DIGITS: Final = re.compile(r"\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)")
_WRITTEN: Final = re.compile(r"\d{4}-\d\d-\d\d(?P<mark>[ T])\d\d:\d\d:\d\d(?:\.(?P<fraction>\d+))?(?P<zone>.*)")
_TABLES: Final = (
    "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
)
_VIEW: Final = "connect_described"


class SqliteServer(Server):
    """A file of SQLite."""

    def tables(self, connection: Connection) -> list[tuple[TableName, str]]:
        with connection.begin():
            found = connection.exec_driver_sql(_TABLES).all()
        return [(TableName(name), kind.upper()) for name, kind in found]

    def primary_key(self, connection: Connection, table: TableName) -> list[str]:
        with connection.begin():
            found = connection.exec_driver_sql(f"PRAGMA table_info({self.name(TableName(table.name))})").all()
        return [name for _, name, _, _, _, key in sorted(found, key=lambda each: each[5]) if key]

    def missing(self, error: BaseException) -> bool:
        return "no such table" in str(error)

    def columns(self, connection: Connection, select: Select) -> tuple[Column, ...]:
        with connection.begin():
            if select.table is not None:
                found = _columns(connection, self.name(TableName(select.table.name)))
                if not found:
                    raise NoSuchTableError(f"no such table: {select.table}")
                return found
            # A view of this connection's own tells what a query's columns were declared as.
            connection.exec_driver_sql(f"DROP VIEW IF EXISTS temp.{_VIEW}")
            connection.execution_options(no_parameters=True).exec_driver_sql(
                f"CREATE TEMP VIEW {_VIEW} AS {select.query}"
            )
            found = _columns(connection, _VIEW)
            connection.exec_driver_sql(f"DROP VIEW temp.{_VIEW}")
        return found

    def open(self, connection: Connection, select: Select, shape: Shape) -> Result:
        return CursorResult(connection, select.text, shape(self.columns(connection, select)))

    def now(self, connection: Connection) -> int:
        return micros(dt.datetime.now(dt.UTC))  # a file has no clock but this machine's

    def time_literal(self, value: Any, column: Column, select: Select) -> str:
        if isinstance(value, int | float):
            return str(value)
        if isinstance(value, str):
            return f"'{value}'"
        forms = ", ".join(f"'{form}'" for form in _forms(value))
        held = self._first(column, select, f"IN ({forms})")
        if held is not None:
            return f"'{held}'"
        example = self._first(column, select, "IS NOT NULL")
        if isinstance(example, int | float):
            return str(micros(value.replace(tzinfo=value.tzinfo or self.database.settings.zone)) // 1000)
        return f"'{_written_like(example, value)}'"

    def _first(self, column: Column, select: Select, condition: str) -> Any:
        """Some value of a column of which a condition holds."""
        name, connection = self.column(column.name), self.connect()
        with connection.begin():
            return (
                connection.execution_options(no_parameters=True)
                .exec_driver_sql(f"SELECT {name} FROM {select.source} WHERE {name} {condition} LIMIT 1")
                .scalar()
            )


def _forms(value: dt.datetime) -> Iterator[str]:
    """The texts that may stand for a time."""
    fractions = ["", ".000", ".000000"] if not value.microsecond else [f".{value.microsecond:06d}"]
    if value.microsecond and not value.microsecond % 1000:
        fractions.append(f".{value.microsecond // 1000:03d}")
    for mark in " T":
        for fraction in fractions:
            for zone in ("", "Z", "+00:00"):
                yield f"{value:%Y-%m-%d}{mark}{value:%H:%M:%S}{fraction}{zone}"


def _written_like(example: Any, value: dt.datetime) -> str:
    """A time in the form of another one."""
    found = _WRITTEN.fullmatch(example) if isinstance(example, str) else None
    if found is None:
        return value.isoformat(" ") if not isinstance(example, str) or len(example) != 10 else value.date().isoformat()
    digits = len(found["fraction"] or "")
    text = value.strftime(f"%Y-%m-%d{found['mark']}%H:%M:%S")
    # Python's own form, of six digits or none, is the one form of two lengths.
    if (digits and digits != 6) or value.microsecond:
        text += f".{value.microsecond:06d}"[: 1 + (digits or 6)]
    return text + found["zone"]


def _columns(connection: Connection, name: str) -> tuple[Column, ...]:
    found = connection.exec_driver_sql(f"PRAGMA table_info({name})").all()
    keys = [row[1] for row in found if row[5]]
    return tuple(
        _column(column, declared or "", bool(required), keys == [column])
        for _, column, declared, required, _, _ in found
    )


def _column(name: str, declared: str, required: bool, key: bool) -> Column:
    upper = declared.upper()
    kind = next((kind for word, kind in _KINDS if word in upper), Kind.STRING)
    precision = scale = None
    if kind is Kind.NUMERIC and (digits := _DIGITS.search(upper)):
        precision, scale = int(digits[1]), int(digits[2] or 0)
    # Such a column numbers the rows and is never null, whether or not it says so.
    counts = key and upper == "INTEGER"
    fraction = 0 if kind is Kind.DATE else 6
    return Column(name, kind, not (required or counts), precision, scale, fraction, counts, declared)
