"""PostgreSQL: rows go in by COPY; where there is a key, into a staging table first and from there by one statement.

COPY reads CSV, which Arrow writes without a pass over single values; the server parses each text as the column's own
type, so that a string may be a uuid, an inet or an enum there. A staging table is created once for each layout and
connection, and empties itself at the end of each transaction.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.csv
from sqlalchemy import Connection

from connectors.jdbc.sink.errors import Outdated
from connectors.jdbc.sink.staging import Staging
from connectors.jdbc.sink.statements import Layout
from connectors.jdbc.sink.target import Target

#: Nulls are nothing, texts always in quotes: an empty text is not null.
_CSV: Final = pa.csv.WriteOptions(include_header=False, quoting_style="needed", batch_size=65_536)


class PostgresStatements:
    """See `Statements`."""

    def __init__(self) -> None:
        self._raw: Any = None
        self._staging = Staging()
        self._used: set[str] = set()
        self._copies: dict[Layout, bool] = {}

    def begin(self, connection: Connection) -> None:
        raw = connection.connection.driver_connection
        if raw is not self._raw:
            self._raw = raw
            self.forget()
        self._used.clear()

    def forget(self) -> None:
        self._staging.forget()
        self._copies.clear()

    def insert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        names = ", ".join(layout.names)
        if layout not in self._copies:
            self._copies[layout] = self._takes_copy(layout)
        if self._copies[layout]:
            self._copy(f"{layout.target.quoted} ({names})", rows)
        else:
            staging = self._stage(layout, rows)
            self._run(f"INSERT INTO {layout.target.quoted} ({names}) SELECT {names} FROM {staging}")

    def upsert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        staging = self._stage(layout, rows)
        names = layout.names
        keys = names[: layout.keys]
        sets = ", ".join(f"{names[at]} = EXCLUDED.{names[at]}" for at in layout.changed)
        self._run(
            f"INSERT INTO {layout.target.quoted} ({', '.join(names)}) SELECT {', '.join(names)} FROM {staging} "
            f"ON CONFLICT ({', '.join(keys)}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}"
        )

    def update(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        changed = [layout.names[at] for at in layout.changed]
        if not changed:
            return
        staging = self._stage(layout, rows)
        self._lock(layout, staging)
        sets = ", ".join(f"{name} = staged.{name}" for name in changed)
        self._run(f"UPDATE {layout.target.quoted} AS target SET {sets} FROM {staging} AS staged WHERE {_same(layout)}")

    def delete(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        staging = self._stage(layout, rows)
        self._lock(layout, staging)
        self._run(f"DELETE FROM {layout.target.quoted} AS target USING {staging} AS staged WHERE {_same(layout)}")

    def truncate(self, connection: Connection, target: Target) -> None:
        self._run(f"TRUNCATE TABLE {target.quoted}")

    def check(self, connection: Connection) -> None:
        self._run("SET CONSTRAINTS ALL IMMEDIATE")

    def _stage(self, layout: Layout, rows: pa.RecordBatch) -> str:
        """The name of a temporary table that holds these rows until the transaction ends."""
        name, columns = self._staging.get(layout), ", ".join(layout.names)
        if name is None:
            # One of this name may be there, with the types of another time, or be gone with a rollback.
            new = self._staging.new_name(layout)
            name = f"pg_temp.{new}"
            self._run(f"DROP TABLE IF EXISTS {name}")
            self._run(
                f"CREATE TEMPORARY TABLE {new} ON COMMIT DELETE ROWS AS "
                f"SELECT {columns} FROM {layout.target.quoted} WITH NO DATA"
            )
            self._staging.made(layout, name)
        elif name in self._used:
            self._run(f"DELETE FROM {name}")
        elif self._has_other_types(layout, name):
            # A column that has more digits now would lose them here without a word.
            raise Outdated(f'Columns of table "{layout.target.name}" have been changed.')
        self._used.add(name)
        self._copy(f"{name} ({columns})", rows)
        return name

    def _has_other_types(self, layout: Layout, staging: str) -> bool:
        """Whether columns of the table were changed since. From here on they stay until the transaction ends."""
        with self._raw.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM pg_attribute AS now JOIN pg_attribute AS staged ON staged.attname = now.attname "
                f"WHERE NOT EXISTS (SELECT FROM {layout.target.quoted} WHERE false) AND now.attrelid = to_regclass(%s) "
                "AND staged.attrelid = to_regclass(%s) AND staged.attnum > 0 "
                "AND (now.atttypid, now.atttypmod) IS DISTINCT FROM (staged.atttypid, staged.atttypmod) LIMIT 1",
                [layout.target.quoted.replace("%%", "%"), staging],
            )
            return cursor.fetchone() is not None

    def _lock(self, layout: Layout, staging: str) -> None:
        """Lock the rows in the order of their keys, so that no two tasks deadlock."""
        keys = ", ".join(f"staged.{name}" for name in layout.names[: layout.keys])
        self._run(
            f"SELECT count(*) FROM (SELECT 1 FROM {layout.target.quoted} AS target JOIN {staging} AS staged "
            f"ON {_same(layout)} ORDER BY {keys} FOR UPDATE OF target) AS locked"
        )

    def _takes_copy(self, layout: Layout) -> bool:
        """Whether it is a table, without row-level security; a view accepts rows by INSERT only."""
        with self._raw.cursor() as cursor:
            cursor.execute(
                "SELECT relkind::text IN ('r', 'p', 'f') AND NOT row_security_active(oid) FROM pg_class "
                "WHERE oid = to_regclass(%s)",
                [layout.target.quoted.replace("%%", "%")],
            )
            found = cursor.fetchone()
        return found is None or bool(found[0])

    def _run(self, statement: str) -> None:
        with self._raw.cursor() as cursor:
            # With parameters, if none: names come with their percent signs doubled.
            cursor.execute(statement, ())

    def _copy(self, into: str, rows: pa.RecordBatch) -> None:
        sink = pa.BufferOutputStream()
        pa.csv.write_csv(_texts(rows), sink, _CSV)
        statement = f"COPY {into} FROM STDIN (FORMAT csv)".replace("%%", "%")
        with self._raw.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(memoryview(sink.getvalue()))


def _same(layout: Layout) -> str:
    return " AND ".join(f"target.{name} = staged.{name}" for name in layout.names[: layout.keys])


def _texts(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with columns that Arrow can write as CSV."""
    for at, array in enumerate(rows.columns):
        if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
            texts = [None if item is None else f"\\x{item.hex()}" for item in array.to_pylist()]
            rows = rows.set_column(at, rows.schema.names[at], pa.array(texts, pa.string()))
    return rows
