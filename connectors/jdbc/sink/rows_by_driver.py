"""MySQL, MariaDB and SQLite: rows go in by statements with many parameters, passed to their drivers at once."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError

from connect.data.times import DAY_MS, EPOCH_DAY, time_ms, timestamp_ms
from connectors.jdbc.sink import load_data
from connectors.jdbc.sink.cells import python_rows
from connectors.jdbc.sink.errors import RowError
from connectors.jdbc.sink.staging import Staging
from connectors.jdbc.sink.statements import Change, Layout, chunks
from connectors.jdbc.sink.target import Target, TargetColumn

log = logging.getLogger(__name__)


class DriverStatements:
    """See `Statements`. For databases that know no upsert of their own: rows that are there are updated, others
    inserted.

    Args:
        batch_size: how many rows a statement is given at a time.
    """

    #: What stands for a parameter.
    mark: ClassVar[str]

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size

    def begin(self, connection: Connection) -> None:
        """See `Statements`."""

    def forget(self) -> None:
        """See `Statements`."""

    def insert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        self._many(connection, self._insertion(layout), self._python(layout, rows))

    def upsert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        self._many(connection, f"{self._insertion(layout)} {self._upsert_clause(layout)}", self._python(layout, rows))

    def update(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        self._update(connection, layout, self._python(layout, rows))

    def delete(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        statement = f"DELETE FROM {layout.target.quoted} WHERE {self._same(layout)}"
        self._many(connection, statement, self._python(layout, rows))

    def truncate(self, connection: Connection, target: Target) -> None:
        # TRUNCATE would end the transaction in some databases.
        connection.exec_driver_sql(f"DELETE FROM {target.quoted}")

    def check(self, connection: Connection) -> None:
        """See `Statements`."""

    # Statements.

    def _insertion(self, layout: Layout) -> str:
        marks = ", ".join(self._marks(len(layout.columns)))
        return f"INSERT INTO {layout.target.quoted} ({', '.join(layout.names)}) VALUES ({marks})"

    def _update(self, connection: Connection, layout: Layout, items: Sequence[tuple[Any, ...]]) -> None:
        names, changed = layout.names, layout.changed
        if not changed or not items:
            return
        marks = self._marks(len(changed) + layout.keys)
        sets = ", ".join(f"{names[at]} = {mark}" for at, mark in zip(changed, marks, strict=False))
        keys = marks[len(changed) :]
        where = " AND ".join(f"{name} = {mark}" for name, mark in zip(names, keys, strict=False))
        moved = [(*(item[at] for at in changed), *item[: layout.keys]) for item in items]
        self._many(connection, f"UPDATE {layout.target.quoted} SET {sets} WHERE {where}", moved)

    def _same(self, layout: Layout) -> str:
        names = layout.names[: layout.keys]
        return " AND ".join(f"{name} = {mark}" for name, mark in zip(names, self._marks(len(names)), strict=True))

    def _many(self, connection: Connection, statement: str, items: Sequence[tuple[Any, ...]]) -> None:
        for part in chunks(items, self._batch_size):
            connection.exec_driver_sql(statement, list(part))

    def _marks(self, count: int) -> list[str]:
        return [self.mark] * count

    # Values.

    def _python(self, layout: Layout, rows: pa.RecordBatch) -> list[tuple[Any, ...]]:
        change = [
            self.change(column, kind, array.type)
            for column, kind, array in zip(layout.columns, layout.kinds, rows.columns, strict=True)
        ]
        return python_rows(rows, change)

    def change(self, column: TargetColumn, kind: str, held: pa.DataType) -> Change:
        """The conversion of a value for the driver; None for none."""
        return None

    def _upsert_clause(self, layout: Layout) -> str:
        names = layout.names
        return self.upsert_clause(names[: layout.keys], [names[at] for at in layout.changed])

    def upsert_clause(self, keys: Sequence[str], changed: Sequence[str]) -> str:
        """The end of an INSERT that makes it an upsert, by the columns' names."""
        raise NotImplementedError


#: From how many rows on a load is worth its savepoint.
_WORTH_LOADING: Final = 100
#: More bytes than a statement has around the values of one row.
_AROUND_ROW: Final = 65_536
#: The user has no right to temporary tables; there are none in transactions with GTIDs.
_NO_TEMPORARY: Final = ((1044,), (1787,))


class MySqlStatements(DriverStatements):
    """MySQL and MariaDB. Many rows are loaded, where that is allowed; else the driver makes one statement of them."""

    mark = "%s"

    def __init__(self, batch_size: int) -> None:
        super().__init__(batch_size)
        self._raw: Any = None
        self._loads = False
        self._stages = True  # until the server refuses it
        self._most = float("inf")  # bytes of a statement
        self._staging = Staging()

    def begin(self, connection: Connection) -> None:
        """See `Statements`."""
        raw = connection.connection.driver_connection
        if raw is not self._raw:
            self._raw = raw
            self._staging.forget()
            self._stages = True
            ours = hasattr(raw, "_local_infile")
            self._loads = ours and load_data.is_allowed(raw)
            if ours:
                with self._raw.cursor() as cursor:
                    cursor.execute("SELECT @@max_allowed_packet")
                    self._most = cursor.fetchone()[0]

    def insert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        if not self._load(connection, layout, layout.target.quoted, rows):
            super().insert(connection, layout, rows)

    def upsert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        if len(rows) >= _WORTH_LOADING and self._loads and self._stages:
            staging = self._stage(connection, layout)
            if staging is not None and self._load(connection, layout, staging, rows):
                names = ", ".join(layout.names)
                connection.exec_driver_sql(
                    f"INSERT INTO {layout.target.quoted} ({names}) SELECT {names} FROM {staging} "
                    f"{self._upsert_clause(layout)}"
                )
                return
        super().upsert(connection, layout, rows)

    def _python(self, layout: Layout, rows: pa.RecordBatch) -> list[tuple[Any, ...]]:
        items = super()._python(layout, rows)
        if 2 * rows.nbytes + _AROUND_ROW > self._most:
            for item in items:
                self._check_size(item)
        return items

    def _check_size(self, item: tuple[Any, ...]) -> None:
        """Refuse a row that is too large for a statement: the server would end the connection, again and again.

        Raises:
            RowError: it is.
        """
        large = [value for value in item if isinstance(value, str | bytes)]
        if 2 * sum(map(len, large)) + _AROUND_ROW <= self._most / 2:  # a character has four bytes at most
            return
        size = sum(len(self._raw.escape(value).encode(errors="surrogateescape")) for value in large)
        if size + _AROUND_ROW > self._most:
            raise RowError(
                f"it has {size} bytes, and the server takes {self._most:.0f} at a time. Raise max_allowed_packet."
            )

    def _load(self, connection: Connection, layout: Layout, table: str, rows: pa.RecordBatch) -> bool:
        """Load rows, if that is possible and succeeds; else nothing has changed."""
        if len(rows) < _WORTH_LOADING or not self._loads or not _loadable(layout, rows):
            return False
        savepoint = connection.begin_nested()
        if load_data.load(self._raw, table, layout.names, rows):
            savepoint.commit()
            return True
        savepoint.rollback()
        return False

    def _stage(self, connection: Connection, layout: Layout) -> str | None:
        """An empty temporary table for such rows; None where there may be none. It survives rollbacks, and is kept."""
        name = self._staging.get(layout)
        if name is not None:
            connection.exec_driver_sql(f"DELETE FROM {name}")
            return name
        columns, name = ", ".join(layout.names), self._staging.new_name(layout)
        try:
            connection.exec_driver_sql(f"DROP TEMPORARY TABLE IF EXISTS {name}")
            connection.exec_driver_sql(
                f"CREATE TEMPORARY TABLE {name} AS SELECT {columns} FROM {layout.target.quoted} LIMIT 0"
            )
        except DBAPIError as error:
            if error.orig is None or error.orig.args[:1] not in _NO_TEMPORARY:
                raise
            log.info("Rows are inserted, not loaded, as the user may not create temporary tables: %s", error.orig)
            self._stages = False
            return None
        self._staging.made(layout, name)
        return name

    def upsert_clause(self, keys: Sequence[str], changed: Sequence[str]) -> str:
        """See `DriverStatements`."""
        return "ON DUPLICATE KEY UPDATE " + ", ".join(f"{name} = VALUES({name})" for name in changed or keys[:1])

    def change(self, column: TargetColumn, kind: str, held: pa.DataType) -> Change:
        """The conversion of a value for the driver."""
        if pa.types.is_timestamp(held):
            return _without_zone
        if kind in ("float32", "float64"):
            return _finite
        if isinstance(column.type, mysql.BIT) and pa.types.is_binary(held):
            return _number  # bits are compared as numbers, and of a text of bytes that is 0
        return None


class SqliteStatements(DriverStatements):
    """SQLite has few types: others are text, or a number where Java's connector stores one."""

    mark = "?"

    def upsert_clause(self, keys: Sequence[str], changed: Sequence[str]) -> str:
        """See `DriverStatements`."""
        sets = ", ".join(f"{name} = excluded.{name}" for name in changed)
        return f"ON CONFLICT ({', '.join(keys)}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}"

    def change(self, column: TargetColumn, kind: str, held: pa.DataType) -> Change:
        """The conversion of a value for the driver."""
        numeric = isinstance(column.type, sqlalchemy.Numeric | sqlalchemy.Integer)
        if pa.types.is_timestamp(held):
            return timestamp_ms if numeric else _datetime_text
        if pa.types.is_date(held):
            return _date_milliseconds if numeric else dt.date.isoformat
        if pa.types.is_time(held):
            return time_ms if numeric else _time_text
        if pa.types.is_decimal(held):
            return _plain_text
        if pa.types.is_floating(held):
            return _a_number
        return None


def _loadable(layout: Layout, rows: pa.RecordBatch) -> bool:
    """Whether the text of these rows is what the driver would send."""
    for column, array in zip(layout.columns, rows.columns, strict=True):
        if isinstance(column.type, mysql.BIT) and not pa.types.is_binary(array.type):
            return False  # bits are loaded from the bytes of a text: 1 would be stored as 49
        if pa.types.is_timestamp(array.type) and array.type.tz is not None:
            return False
        if pa.types.is_floating(array.type) and not pc.all(pc.is_finite(array)).as_py():
            return False
    return True


def _without_zone(value: dt.datetime) -> dt.datetime:
    return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo is not None else value


def _number(value: bytes) -> int:
    return int.from_bytes(value, "big")


def _finite(value: float) -> float:
    if value != value or value in (float("inf"), float("-inf")):
        raise RowError(f"it has {value}, a number that this database does not have.")
    return value


def _a_number(value: float) -> float:
    if value != value:
        raise RowError("it has NaN, which this database takes for null.")
    return value


def _plain_text(value: Any) -> str:
    return format(value, "f")


def _datetime_text(value: dt.datetime) -> str:
    return _without_zone(value).isoformat(" ", "microseconds")


def _date_milliseconds(value: dt.date) -> int:
    return (value.toordinal() - EPOCH_DAY) * DAY_MS


def _time_text(value: dt.time) -> str:
    return value.isoformat("microseconds")
