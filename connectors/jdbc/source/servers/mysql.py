"""MySQL and MariaDB: rows in their wire format, with the server's description of each column.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from pymysql.constants import FIELD_TYPE, FLAG
from pymysql.cursors import SSCursor
from sqlalchemy import Connection

from connect import DataError
from connectors.jdbc.database import TableName
from connectors.jdbc.database.columns import Column, Kind
from connectors.jdbc.source.rows import Read
from connectors.jdbc.source.servers.server import CursorResult, Result, Select, Server, Shape, micros

_KINDS: Final = {
    FIELD_TYPE.TINY: Kind.INT8,
    FIELD_TYPE.SHORT: Kind.INT16,
    FIELD_TYPE.YEAR: Kind.INT16,
    FIELD_TYPE.INT24: Kind.INT32,
    FIELD_TYPE.LONG: Kind.INT32,
    FIELD_TYPE.LONGLONG: Kind.INT64,
    FIELD_TYPE.FLOAT: Kind.FLOAT32,
    FIELD_TYPE.DOUBLE: Kind.FLOAT64,
    FIELD_TYPE.DECIMAL: Kind.NUMERIC,
    FIELD_TYPE.NEWDECIMAL: Kind.NUMERIC,
    FIELD_TYPE.DATE: Kind.DATE,
    FIELD_TYPE.NEWDATE: Kind.DATE,
    FIELD_TYPE.TIME: Kind.TIME,
    FIELD_TYPE.DATETIME: Kind.WALL_CLOCK,
    FIELD_TYPE.TIMESTAMP: Kind.MOMENT,
    FIELD_TYPE.GEOMETRY: Kind.BYTES,
    FIELD_TYPE.JSON: Kind.STRING,
}
_UNSIGNED: Final = {
    FIELD_TYPE.TINY: Kind.INT16,
    FIELD_TYPE.SHORT: Kind.INT32,
    FIELD_TYPE.LONG: Kind.INT64,
}
_BINARY: Final = 63  # the character set of what is not text
_NO_DATE: Final = "0000-00-00"
_TABLES: Final = """
    SELECT table_schema, table_name, table_type FROM information_schema.tables
    WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY 1, 2
"""


class MysqlServer(Server):
    """MySQL and MariaDB. What Java calls a catalog is a database here; there are no schemas."""

    def prepare(self, connection: Connection) -> None:
        with connection.begin():
            # A server gives up a reader that takes nothing for a minute: in a pause, or while Kafka is slow.
            connection.exec_driver_sql("SET time_zone = '+00:00', net_write_timeout = 3600")
            if self.timeout_ms:
                maria = "MariaDB" in str(connection.exec_driver_sql("SELECT version()").scalar_one())
                limit = self.timeout_ms / 1000 if maria else self.timeout_ms
                name = "max_statement_time" if maria else "max_execution_time"
                connection.exec_driver_sql(f"SET SESSION {name} = {limit}")

    def tables(self, connection: Connection) -> list[tuple[TableName, str]]:
        with connection.begin():
            found = connection.exec_driver_sql(_TABLES).all()
        return [(TableName(name, None, database), _type(kind)) for database, name, kind in found]

    def catalog(self, connection: Connection) -> str | None:
        return self.database.url.database

    def missing(self, error: BaseException) -> bool:
        said: tuple[Any, ...] = getattr(getattr(error, "orig", error), "args", ())
        return said[:1] in ((1146,), (1051,))

    def columns(self, connection: Connection, select: Select) -> tuple[Column, ...]:
        result = MysqlResult(connection, f"SELECT * FROM {select.source} WHERE 1 = 0")
        try:
            return _columns(result.cursor)
        finally:
            result.finish()

    def open(self, connection: Connection, select: Select, shape: Shape) -> Result:
        result = MysqlResult(connection, select.text)
        result.rows = shape(_columns(result.cursor))
        return result

    def now(self, connection: Connection) -> int:
        with connection.begin():
            found = connection.exec_driver_sql("SELECT UTC_TIMESTAMP(6)").scalar_one()
        return micros(found.replace(tzinfo=dt.UTC))

    def text_literal(self, value: str) -> str:
        # What a backslash means depends on the server's mode.
        return f"_utf8mb4 X'{value.encode().hex()}'"

    def time_literal(self, value: Any, column: Column, select: Select) -> str:
        if isinstance(value, dt.datetime) and value.tzinfo is not None:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        return f"TIMESTAMP'{value.isoformat(' ') if hasattr(value, 'isoformat') else value}'"


class MysqlResult(CursorResult):
    """Rows of an unbuffered cursor."""

    def read(self, rows: int, size: int) -> list[Read]:
        read = super().read(rows, size)
        for at, column in enumerate(self.rows.columns if read else ()):
            if column.kind is Kind.MOMENT:
                # The session's zone is UTC; the driver does not say so.
                read[at] = [v.replace(tzinfo=dt.UTC) if isinstance(v, dt.datetime) else v for v in read[at]]
            if column.kind in (Kind.MOMENT, Kind.WALL_CLOCK, Kind.DATE):
                read[at] = [_no_zero_date(column, value) for value in read[at]]
        return read

    def execute(self, text: str) -> Any:
        cursor = self.connection.connection.driver_connection.cursor(SSCursor)  # type: ignore[union-attr]
        cursor.execute(text)
        return cursor

    def close(self) -> None:
        if not self.ended:
            # The driver would read all the rest of a big table, also where it forgets the cursor.
            self.ended = True
            unread, self.cursor.connection = self.cursor._result, None
            if unread is not None:
                unread.unbuffered_active, unread.connection = False, None
            self.connection.invalidate()


def _no_zero_date(column: Column, value: Any) -> Any:
    """The value; null for MySQL's zero dates, which the driver leaves unchanged."""
    if not isinstance(value, str):
        return value
    if value.startswith(_NO_DATE) and column.nullable:
        return None
    raise DataError(f'Column "{column.name}" ({column.declared}) holds "{value}", which is not a date.')


def _columns(cursor: Any) -> tuple[Column, ...]:
    return tuple(map(_column, cursor._result.fields))


def _column(told: Any) -> Column:
    code, flags, unsigned = told.type_code, told.flags, told.flags & FLAG.UNSIGNED
    kind = _KINDS.get(code)
    precision = scale = None
    fraction = told.scale if kind in (Kind.WALL_CLOCK, Kind.MOMENT, Kind.TIME) and told.scale <= 6 else 0
    if unsigned and code in _UNSIGNED:
        kind = _UNSIGNED[code]
    elif kind is Kind.NUMERIC:
        scale = told.scale
        precision = told.length - (1 if scale else 0) - (0 if unsigned else 1)
    elif code == FIELD_TYPE.BIT:
        kind = Kind.INT8 if told.length == 1 else Kind.BYTES
    elif kind is None:
        kind = Kind.BYTES if told.charsetnr == _BINARY else Kind.STRING
    counts = bool(flags & FLAG.AUTO_INCREMENT)
    return Column(told.name, kind, not flags & FLAG.NOT_NULL, precision, scale, fraction, counts, _NAMES.get(code, ""))


def _type(kind: str) -> str:
    return "TABLE" if kind in ("BASE TABLE", "SYSTEM VERSIONED") else kind


_NAMES: Final = {value: name.lower() for name, value in vars(FIELD_TYPE).items() if isinstance(value, int)}
