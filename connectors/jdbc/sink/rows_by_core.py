"""Other databases: rows go in by SQLAlchemy's own statements, with its types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.sql.elements import quoted_name

from connectors.jdbc.sink.cells import python_values
from connectors.jdbc.sink.statements import Layout, chunks
from connectors.jdbc.sink.target import Target

_Rows = list[dict[str, Any]]


class CoreStatements:
    """See `Statements`. Upserts read which keys exist: their rows are updated, the others inserted.

    Args:
        batch_size: the number of rows of a statement.
        quotes: whether names are quoted.
    """

    def __init__(self, batch_size: int, *, quotes: bool) -> None:
        self._batch_size = batch_size
        self._quotes = quotes
        self._tables: dict[Layout, sqlalchemy.TableClause] = {}

    def begin(self, connection: Connection) -> None:
        """See `Statements`."""

    def forget(self) -> None:
        self._tables.clear()

    def insert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        self._insert(connection, layout, _dicts(layout, rows))

    def upsert(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        table, items = self._table(layout), _dicts(layout, rows)
        query = sqlalchemy.select(sqlalchemy.literal(1)).select_from(table).where(*_same(table, layout))
        new: _Rows = []
        known: _Rows = []
        for item in items:
            there = connection.execute(query, item).first() is not None
            (known if there else new).append(item)
        self._update(connection, layout, known)
        self._insert(connection, layout, new)

    def update(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        self._update(connection, layout, _dicts(layout, rows))

    def delete(self, connection: Connection, layout: Layout, rows: pa.RecordBatch) -> None:
        table = self._table(layout)
        self._many(connection, table.delete().where(*_same(table, layout)), _dicts(layout, rows))

    def truncate(self, connection: Connection, target: Target) -> None:
        # TRUNCATE would end the transaction in some databases.
        connection.exec_driver_sql(f"DELETE FROM {target.quoted}")

    def check(self, connection: Connection) -> None:
        """See `Statements`."""

    def _insert(self, connection: Connection, layout: Layout, items: _Rows) -> None:
        table = self._table(layout)
        values = {column: sqlalchemy.bindparam(f"c{at}", type_=column.type) for at, column in enumerate(table.c)}
        self._many(connection, table.insert().values(values), items)

    def _update(self, connection: Connection, layout: Layout, items: _Rows) -> None:
        table = self._table(layout)
        columns = list(table.c)
        values = {columns[at]: sqlalchemy.bindparam(f"c{at}", type_=columns[at].type) for at in layout.changed}
        if values:
            self._many(connection, table.update().where(*_same(table, layout)).values(values), items)

    def _many(self, connection: Connection, statement: sqlalchemy.Executable, items: _Rows) -> None:
        for part in chunks(items, self._batch_size):
            connection.execute(statement, list(part))

    def _table(self, layout: Layout) -> sqlalchemy.TableClause:
        table = self._tables.get(layout)
        if table is None:
            name = layout.target.name
            columns: list[sqlalchemy.ColumnClause[Any]] = [
                # JSON comes as its text.
                sqlalchemy.column(
                    quoted_name(column.name, self._quotes or None),
                    sqlalchemy.Text() if isinstance(column.type, sqlalchemy.JSON) else column.type,
                )
                for column in layout.columns
            ]
            table = self._tables[layout] = sqlalchemy.table(
                quoted_name(name.name, self._quotes or None), *columns, schema=name.sqlalchemy_schema
            )
        return table


def _same(table: sqlalchemy.TableClause, layout: Layout) -> Sequence[sqlalchemy.ColumnElement[bool]]:
    return [
        column == sqlalchemy.bindparam(f"c{at}", type_=column.type)
        for at, column in enumerate(table.c)
        if at < layout.keys
    ]


def _dicts(layout: Layout, rows: pa.RecordBatch) -> _Rows:
    names = [f"c{at}" for at in range(len(layout.columns))]
    columns = [python_values(array) for array in rows.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
