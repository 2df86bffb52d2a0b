"""PostgreSQL: COPY into Arrow columns, and a look at which transactions are still open.

https://www.postgresql.org/docs/current/sql-copy.html
"""

from __future__ import annotations

import datetime as dt
import logging
from importlib.util import find_spec
from typing import Any, Final

import psycopg
from psycopg import pq
from psycopg.types.string import TextLoader
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from connect import DataError
from connect.data.times import EPOCH
from connectors.jdbc.database import TableName
from connectors.jdbc.database.columns import Column, Kind
from connectors.jdbc.source.rows import Read
from connectors.jdbc.source.servers.server import CursorResult, Result, Select, Server, Shape, micros

log = logging.getLogger(__name__)

#: By the types' object ids, which never change: pg_type.dat.
_KINDS: Final = {
    16: (Kind.BOOLEAN, "boolean"),
    17: (Kind.BYTES, "bytea"),
    20: (Kind.INT64, "bigint"),
    21: (Kind.INT16, "smallint"),
    23: (Kind.INT32, "integer"),
    25: (Kind.STRING, "text"),
    26: (Kind.INT64, "oid"),
    700: (Kind.FLOAT32, "real"),
    701: (Kind.FLOAT64, "double precision"),
    1042: (Kind.STRING, "character"),
    1043: (Kind.STRING, "character varying"),
    1082: (Kind.DATE, "date"),
    1083: (Kind.TIME, "time"),
    1114: (Kind.WALL_CLOCK, "timestamp"),
    1184: (Kind.MOMENT, "timestamp with time zone"),
    1266: (Kind.TIME, "time with time zone"),
    1700: (Kind.NUMERIC, "numeric"),
}
_OTHER: Final = "type "
#: From how many microseconds on it is said that a transaction is waited for.
LONG_US: Final = 60_000_000
_NO_SUCH_FUNCTION: Final = ("0A000", "42883")
_HEADER: Final = 4  # of what a type's modifier says, which is counted in
_TYPES: Final = {
    "r": "TABLE",
    "p": "PARTITIONED_TABLE",
    "v": "VIEW",
    "m": "MATERIALIZED_VIEW",
    "f": "FOREIGN_TABLE",
}
_TABLES: Final = """
    SELECT current_database(), n.nspname, c.relname, c.relkind::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
      AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
    ORDER BY 2, 3
"""
_ATTRIBUTES: Final = """
    SELECT a.attrelid::bigint, a.attnum, a.attnotnull,
           a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%%', false)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0
"""
# Who has written into the table, or a part of it, and is not through: the lock is held until the transaction ends. One
# that is prepared (two-phase commit) has no process any more.
_WRITERS: Final = """
    SELECT l.virtualtransaction, min(a.xact_start), min(l.pid)
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
      AND l.relation IN (SELECT relid FROM pg_partition_tree(to_regclass(%s)) UNION SELECT to_regclass(%s))
    GROUP BY 1
"""


# On a standby that has not applied all that it received, the time of what it has applied: it shows nothing younger.
_NOW: Final = """
    SELECT CASE WHEN pg_is_in_recovery() AND pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()
      THEN least(clock_timestamp(), pg_last_xact_replay_timestamp()) ELSE clock_timestamp() END
"""


class PostgresqlServer(Server):
    """PostgreSQL, and databases with its protocol."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._writers: dict[TableName, tuple[int, dict[str, int]]] = {}
        self._told: dict[TableName, str] = {}  # the transaction that the log has named
        self._now = _NOW

    def prepare(self, connection: Connection) -> None:
        with connection.begin():
            connection.exec_driver_sql(
                "SET SESSION TimeZone = 'UTC'; SET SESSION DateStyle = 'ISO'; SET SESSION IntervalStyle = 'postgres';"
                "SET SESSION bytea_output = 'hex'; SET SESSION client_encoding = 'UTF8';"
                f"SET SESSION standard_conforming_strings = on; SET SESSION statement_timeout = {self.timeout_ms}"
            )

    def tables(self, connection: Connection) -> list[tuple[TableName, str]]:
        with connection.begin():
            found = connection.execution_options(no_parameters=True).exec_driver_sql(_TABLES).all()
        return [(TableName(name, schema, catalog), _TYPES[kind]) for catalog, schema, name, kind in found]

    def primary_key(self, connection: Connection, table: TableName) -> list[str]:
        return super().primary_key(connection, TableName(table.name, table.schema))

    def missing(self, error: BaseException) -> bool:
        return _state(error) in ("42P01", "3F000")

    def columns(self, connection: Connection, select: Select) -> tuple[Column, ...]:
        with connection.begin():
            return described(_driver(connection), select.text)

    def open(self, connection: Connection, select: Select, shape: Shape) -> Result:
        if find_spec("pyarrow") is not None:
            return CopyResult(connection, select.text, shape)
        columns = self.columns(connection, select)
        for column in columns:
            if column.declared.startswith(_OTHER):
                # As PostgreSQL writes it, as it comes by COPY, and no Python object.
                _driver(connection).adapters.register_loader(int(column.declared.removeprefix(_OTHER)), TextLoader)
        return CursorResult(connection, select.text, shape(columns))

    def now(self, connection: Connection) -> int:
        try:
            with connection.begin():
                return micros(connection.exec_driver_sql(self._now).scalar_one())
        except DBAPIError as error:
            if self._now != _NOW or _state(error) not in _NO_SUCH_FUNCTION:
                raise
        # Aurora, whose readers share the writer's storage; or another database with this protocol.
        self._now = "SELECT clock_timestamp()"
        return self.now(connection)

    def settled(self, connection: Connection, table: TableName) -> int | None:
        now, name = self.now(connection), self.name(table)
        with connection.begin():
            found = connection.exec_driver_sql(_WRITERS, (name, name)).all()
        # When it began is told to its own user and to pg_read_all_stats. Others know when it was not there yet.
        looked, seen = self._writers.get(table, (now, {}))
        writers = {who: seen.get(who, looked) if began is None else micros(began) for who, began, _ in found}
        self._writers[table] = (now, writers)
        if not writers:
            return None
        oldest = min(writers, key=lambda who: writers[who])
        if now - writers[oldest] > LONG_US and self._told.get(table) != oldest:
            self._told[table] = oldest
            process = next(pid for who, _, pid in found if who == oldest)
            log.warning(
                "New rows of table %s wait for a transaction that has written into it, and is open since %s (%s).",
                *(table, EPOCH + dt.timedelta(microseconds=writers[oldest])),
                f"process {process} of the server" if process is not None else "a prepared one, see pg_prepared_xacts",
            )
        return writers[oldest]

    def bytes_literal(self, value: bytes) -> str:
        return f"'\\x{value.hex()}'"

    def time_literal(self, value: Any, column: Column, select: Select) -> str:
        if column.kind is Kind.MOMENT:
            return f"TIMESTAMPTZ '{value.astimezone(dt.UTC).isoformat(' ')}'"
        return f"TIMESTAMP '{value.isoformat(' ') if isinstance(value, dt.datetime) else value}'"


def described(driver: psycopg.Connection[Any], text: str) -> tuple[Column, ...]:
    """The columns of a statement, which is not run. In the open transaction, if there is one."""
    driver.execute("SELECT 1")  # begins a transaction where there is none
    made = driver.pgconn.prepare(b"", text.encode())
    if made.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(made)
    told = driver.pgconn.describe_prepared(b"")
    if told.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(told)
    indexes = range(told.nfields)
    tables = sorted({told.ftable(at) for at in indexes} - {0})
    found = driver.execute(_ATTRIBUTES, [tables]).fetchall() if tables else []
    known = {(int(table), number): (required, counts) for table, number, required, counts in found}
    return tuple(
        _column(
            (told.fname(at) or b"").decode(),
            told.ftype(at),
            told.fmod(at),
            *known.get((told.ftable(at), told.ftablecol(at)), (False, False)),
        )
        for at in indexes
    )


def _column(name: str, oid: int, modifier: int, required: bool, counts: bool) -> Column:
    kind, declared = _KINDS.get(oid, (Kind.STRING, f"{_OTHER}{oid}"))
    precision = scale = None
    fraction = 6
    if kind is Kind.NUMERIC and modifier >= _HEADER:
        packed = modifier - _HEADER
        precision, scale = packed >> 16, packed & 0x7FF
        scale = scale - 0x800 if scale & 0x400 else scale  # eleven bits, with a sign
    elif kind in (Kind.WALL_CLOCK, Kind.MOMENT) and modifier >= 0:
        fraction = modifier
    elif kind is Kind.DATE:
        fraction = 0
    return Column(name, kind, not required, precision, scale, fraction, counts, declared)


class CopyResult(Result):
    """Rows as COPY sends them, a message for each, parsed in blocks."""

    def __init__(self, connection: Connection, text: str, shape: Shape) -> None:
        self._connection = connection
        self._driver = driver = _driver(connection)
        try:
            self.rows = shape(described(driver, text))
            self._cursor = driver.cursor()
            self._copying = self._cursor.copy(f"COPY ({text}\n) TO STDOUT (FORMAT csv)".encode())
            self._copy = self._copying.__enter__()
        except BaseException:
            _roll_back(driver)
            raise
        self._buffered = driver.pgconn.get_copy_data
        self._next = self._line()
        self._types = dict(zip(map(str, range(len(self.rows.columns))), self.rows.arrow_types(), strict=True))

    def read(self, rows: int, size: int) -> list[Read]:
        if self.ended:
            return []
        lines: list[Any] = [self._next]
        length, get = len(self._next), self._buffered
        while len(lines) < rows and length < size:
            # What has arrived is taken from the library's buffer, without psycopg's care for each row.
            count, line = get(1)
            if count <= 0:
                line = self._line(count)
                if not line:
                    break
            lines.append(line)
            length += len(line)
        else:
            self._next = self._line()
        return self._parsed(b"".join(lines), length)

    def _line(self, count: int | None = None) -> Any:
        """The next row, waited for; empty at the end.

        Args:
            count: the library's buffered answer: 0 for nothing yet, less for the end.
        """
        line: Any = b""
        if count is None:
            count, line = self._buffered(1)
        if count == 0:
            line = self._copy.read()
        elif count < 0:
            line = b""
            self._check_end()
        if not line:
            self._finish()
        return line

    def _check_end(self) -> None:
        """Raise the server's error at the end, if there is one."""
        connection = self._driver.pgconn
        while (result := connection.get_result()) is not None:
            if result.status == pq.ExecStatus.COMMAND_OK:
                continue
            if result.error_field(pq.DiagnosticField.SQLSTATE) is None:  # it is the library that speaks
                raise psycopg.OperationalError(result.get_error_message())
            raise psycopg.errors.error_from_result(result)
        if connection.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection broke in the middle of a table")

    def _parsed(self, text: bytes, length: int) -> list[Read]:
        import pyarrow as pa
        from pyarrow import csv

        try:
            table = csv.read_csv(
                pa.BufferReader(text),
                read_options=csv.ReadOptions(
                    column_names=list(self._types), block_size=max(length + 1, 1024), use_threads=False
                ),
                parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=csv.ConvertOptions(
                    column_types=self._types,
                    null_values=[""],
                    true_values=["t"],
                    false_values=["f"],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            raise DataError(f"{self._said(str(error))}") from error
        return [column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in table.columns]

    def _said(self, said: str) -> str:
        _, _, rest = said.partition("CSV column #")
        index, _, what = rest.partition(": ")
        if not index.isdigit():
            return f"What PostgreSQL sent cannot be read: {said}"
        column = self.rows.columns[int(index)]
        return f'Column "{column.name}" ({column.declared}) holds a value that has no place in a record: {what}'

    def _finish(self) -> None:
        self.ended = True
        self._copying.__exit__(None, None, None)
        self._cursor.close()
        _roll_back(self._driver)

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            self._connection.invalidate()  # the rest of a big table is not waited for


def _roll_back(driver: psycopg.Connection[Any]) -> None:
    if not driver.closed:
        driver.rollback()


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def _state(error: BaseException) -> str | None:
    return getattr(error, "sqlstate", None) or getattr(getattr(error, "orig", None), "sqlstate", None)
