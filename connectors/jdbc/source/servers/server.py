"""Any database, through SQLAlchemy and DB-API. Known ones override what they do better."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import sqlalchemy
from sqlalchemy import Connection, types

from connect.data.times import EPOCH
from connectors.jdbc.database import Database, TableName
from connectors.jdbc.database.columns import TIMES, Column, Kind
from connectors.jdbc.database.names import quoted
from connectors.jdbc.source.rows import Read, Rows

#: The schema of records for the columns that a result turns out to have.
Shape = Callable[[Sequence[Column]], Rows]

_MICROSECOND: Final = dt.timedelta(microseconds=1)
_FIRST_ROWS: Final = 200
_BUFFERED: Final = 1000  # rows, in SQLAlchemy


@dataclass(frozen=True, slots=True)
class Select:
    """What is read: a statement, and its source without conditions.

    Attributes:
        text: the statement.
        source: a table in the form of a statement, or a query in brackets with a name.
        table: the table; None for a query.
        query: the query; empty for a table.
    """

    text: str
    source: str
    table: TableName | None = None
    query: str = ""


class Result:
    """Rows of one statement, read on demand.

    Attributes:
        rows: how they are converted.
        ended: whether all were read.
    """

    rows: Rows
    ended: bool = False

    def read(self, rows: int, size: int) -> list[Read]:
        """The next rows, as columns; none at the end.

        Args:
            rows: the most rows.
            size: about the most bytes.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close it. Unread rows are dropped."""


class Server:
    """How to read from one database. For one thread.

    Args:
        database: see `Database`; its connection is used.
        quotes: whether names are quoted.
        timeout_ms: `query.timeout.ms`.
    """

    #: Names of schemas that are the system's own, where a list of schemas has them.
    system_schemas = frozenset({"information_schema", "pg_catalog", "sys", "performance_schema", "INFORMATION_SCHEMA"})

    def __init__(self, database: Database, *, quotes: bool = True, timeout_ms: int = 0) -> None:
        self.database = database
        self.timeout_ms = timeout_ms
        self._quotes = quotes
        self._prepared: Any = None

    def connect(self, isolation: str = "DEFAULT") -> Connection:
        """The connection, prepared for reading. Errors as `Database.connect`."""
        connection = self.database.connect()
        raw = connection.connection.driver_connection
        if raw is not self._prepared:
            if isolation != "DEFAULT":
                level = "SNAPSHOT" if isolation == "SQL_SERVER_SNAPSHOT" else isolation.replace("_", " ")
                connection.execution_options(isolation_level=level)
            self.prepare(connection)
            self._prepared = raw
        return connection

    def prepare(self, connection: Connection) -> None:
        """Configure a new session."""

    # Names.

    def name(self, table: TableName) -> str:
        """A table in a statement."""
        return self._single(table.quoted(self.database.dialect.identifier_preparer, self._quotes))

    def column(self, name: str) -> str:
        """A column in a statement."""
        return self._single(quoted(name, self.database.dialect.identifier_preparer, self._quotes))

    def _single(self, written: str) -> str:
        """Percent signs as they are: statements have no parameters here, for which SQLAlchemy doubles them."""
        doubled = self._quotes and self.database.dialect.paramstyle in ("format", "pyformat")
        return written.replace("%%", "%") if doubled else written

    # Tables.

    def tables(self, connection: Connection) -> list[tuple[TableName, str]]:
        """All tables, and the type of each: TABLE, VIEW, ..., except the system's own."""
        with connection.begin():
            inspector = sqlalchemy.inspect(connection)
            try:
                schemas: list[str | None] = list(inspector.get_schema_names())
            except NotImplementedError:
                schemas = [None]
            found: list[tuple[TableName, str]] = []
            for schema in schemas:
                if schema in self.system_schemas:
                    continue
                found += [(TableName(name, schema), "TABLE") for name in inspector.get_table_names(schema)]
                found += [(TableName(name, schema), "VIEW") for name in inspector.get_view_names(schema)]
            return found

    def catalog(self, connection: Connection) -> str | None:
        """The default of `catalog.pattern`; None for all."""
        return None

    def primary_key(self, connection: Connection, table: TableName) -> list[str]:
        """The columns of a table's primary key."""
        schema = table.schema or table.catalog
        with connection.begin():
            told = sqlalchemy.inspect(connection).get_pk_constraint(table.name, schema)
        return list(told.get("constrained_columns", ()))

    def missing(self, error: BaseException) -> bool:
        """Whether an error says that a table does not exist (any more)."""
        return False

    # Columns and rows.

    def columns(self, connection: Connection, select: Select) -> tuple[Column, ...]:
        """The columns of what is read."""
        if select.table is not None:
            schema = select.table.schema or select.table.catalog
            with connection.begin():
                return tuple(map(_reflected, sqlalchemy.inspect(connection).get_columns(select.table.name, schema)))
        with connection.begin():
            result = connection.execution_options(no_parameters=True).exec_driver_sql(f"SELECT * FROM {select.source}")
            first = [tuple(row) for row in result.fetchmany(_FIRST_ROWS)]
            names = list(result.keys())
            result.close()
        return tuple(_guessed(name, [row[at] for row in first]) for at, name in enumerate(names))

    def open(self, connection: Connection, select: Select, shape: Shape) -> Result:
        """Begin to read, in a transaction of its own that ends with the result."""
        return CursorResult(connection, select.text, shape(self.columns(connection, select)))

    def literal(self, value: Any, column: Column, select: Select) -> str:
        """A value that was read from a column, to compare the column with."""
        if column.kind in TIMES:
            only_date = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
            return self.time_literal(dt.datetime.combine(value, dt.time()) if only_date else value, column, select)
        match value:
            case int() | float():
                return str(value)
            case Decimal():
                return format(value, "f")
            case bytes() | bytearray() | memoryview():
                return self.bytes_literal(bytes(value))
            case _:
                return self.text_literal(str(value))

    def text_literal(self, value: str) -> str:
        """A text in a statement."""
        return ("N'" if self.database.kind == "mssql" else "'") + value.replace("'", "''") + "'"

    def bytes_literal(self, value: bytes) -> str:
        """Bytes in a statement."""
        match self.database.kind:
            case "mssql":
                return f"0x{value.hex()}"
            case "oracle":
                return f"HEXTORAW('{value.hex()}')"
            case _:
                return f"X'{value.hex()}'"

    # Time.

    def now(self, connection: Connection) -> int | dt.datetime:
        """The server's time: microseconds since 1970, or its clock on the wall."""
        with connection.begin():
            found = connection.execute(sqlalchemy.select(sqlalchemy.func.current_timestamp())).scalar_one()
        return micros(found) if found.tzinfo is not None else found

    def settled(self, connection: Connection, table: TableName) -> int | None:
        """The moment from which on an open transaction may still write to the table; None for none."""
        return None

    def time_literal(self, value: Any, column: Column, select: Select) -> str:
        """A time to compare a column with.

        Args:
            value: a datetime, without a zone for a WALL_CLOCK or DATE, in UTC for a MOMENT; or a value of the column.
        """
        written = value.isoformat(" ") if hasattr(value, "isoformat") else str(value)
        if self.database.kind == "mssql":
            return f"CAST('{written}' AS {'datetimeoffset' if column.kind is Kind.MOMENT else 'datetime2'})"
        return f"TIMESTAMP '{written}'"


class CursorResult(Result):
    """Rows of a server-side cursor, or the nearest equivalent of a database's driver."""

    def __init__(self, connection: Connection, text: str, rows: Rows | None = None) -> None:
        self.connection = connection
        self._transaction = connection.begin()
        try:
            self.cursor = self.execute(text)
        except BaseException:
            self._transaction.close()
            raise
        self._ahead: list[Any] = []
        self._most = _FIRST_ROWS  # rows at a time, until it is known how big they are
        if rows is not None:
            self.rows = rows

    def execute(self, text: str) -> Any:
        """An object with `fetchmany` and `close`."""
        options = {"stream_results": True, "no_parameters": True, "max_row_buffer": _BUFFERED}
        return self.connection.execution_options(**options).exec_driver_sql(text)

    def read(self, rows: int, size: int) -> list[Read]:
        if self.ended:
            return []
        wanted = min(rows, self._most)
        # One more than is given: whether anything follows is to be known.
        fetched = [*self._ahead, *self.cursor.fetchmany(wanted + 1 - len(self._ahead))]
        self.ended = len(fetched) <= wanted
        self._ahead = [] if self.ended else [fetched.pop()]
        if self.ended:
            self.finish()
        if not fetched:
            return []
        columns: list[Read] = list(zip(*fetched, strict=True))
        weight = sum(map(_weight, columns)) / len(fetched)
        self._most = max(1, int(size / max(weight, 1)))
        return columns

    def finish(self) -> None:
        """Close what was read to its end."""
        self.cursor.close()
        if self._transaction.is_active:
            self._transaction.rollback()

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            self.finish()


def _weight(column: Read) -> int:
    """The approximate bytes of a column."""
    return 50 * len(column) + sum(len(item) for item in column if isinstance(item, str | bytes))


def micros(moment: dt.datetime) -> int:
    """Microseconds since 1970 of a datetime with a zone."""
    return int((moment - EPOCH) // _MICROSECOND)


def _reflected(told: Any) -> Column:
    """A column as SQLAlchemy reflects it."""
    kind, precision, scale = Kind.STRING, None, None
    found = told["type"]
    match found:
        case types.Boolean():
            kind = Kind.BOOLEAN
        case types.BigInteger():
            kind = Kind.INT64
        case types.SmallInteger():
            kind = Kind.INT16
        case types.Integer():
            kind = Kind.INT32
        case types.Float():
            kind = Kind.FLOAT64
        case types.Numeric():
            kind, precision, scale = Kind.NUMERIC, found.precision, found.scale
            if scale is None and precision is not None:
                scale = 0
        case types.LargeBinary() | types.BINARY() | types.VARBINARY():
            kind = Kind.BYTES
        case types.DateTime():
            kind = Kind.MOMENT if found.timezone else Kind.WALL_CLOCK
        case types.Date():
            kind = Kind.DATE
        case types.Time():
            kind = Kind.TIME
    counts = bool(told.get("identity")) or told.get("autoincrement") is True
    return Column(told["name"], kind, bool(told.get("nullable", True)), precision, scale, counts=counts)


_GUESSES: Final[tuple[tuple[type, Kind], ...]] = (
    (bool, Kind.BOOLEAN),
    (int, Kind.INT64),
    (float, Kind.FLOAT64),
    (Decimal, Kind.NUMERIC),
    (bytes, Kind.BYTES),
    (dt.datetime, Kind.WALL_CLOCK),
    (dt.date, Kind.DATE),
    (dt.time, Kind.TIME),
    (dt.timedelta, Kind.TIME),
)


def _guessed(name: str, values: Sequence[Any]) -> Column:
    """A column of a query, by the values of its first rows: drivers have no common way to describe it."""
    present = [value for value in values if value is not None]
    for chosen, kind in _GUESSES:
        if present and all(isinstance(value, chosen) for value in present):
            aware = kind is Kind.WALL_CLOCK and present[0].tzinfo is not None
            return Column(name, Kind.MOMENT if aware else kind)
    return Column(name, Kind.STRING)
