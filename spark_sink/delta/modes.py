"""Three ways in which rows get into a table: appended, in place of partitions, or merged by their keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.delta.table import Table

Offsets = Mapping[TopicPartition, int]


def append(table: Table, rows: pa.Table, offsets: Offsets) -> None:
    """Add rows. Errors of all three as `Table.commit`."""
    from deltalake import write_deltalake

    table.commit(
        lambda delta, properties: write_deltalake(delta, rows, mode="append", commit_properties=properties), offsets
    )


def overwrite(table: Table, rows: pa.Table, where: str | None, offsets: Offsets) -> None:
    """Put rows in the place of those for which a condition holds; without one, of those in the same partitions."""
    from deltalake import write_deltalake

    condition = where or _same_partitions(table, rows)
    table.commit(
        lambda delta, properties: write_deltalake(
            delta, rows, mode="overwrite", predicate=condition, commit_properties=properties
        ),
        offsets,
    )


def upsert(table: Table, rows: pa.Table, deleted: pa.ChunkedArray, keys: Sequence[str], offsets: Offsets) -> None:
    """Let the last row of each key be its row in the table; where that is a deletion, none."""
    places = pa.table({**{name: rows.column(name) for name in keys}, "\0row": pa.array(range(len(rows)), pa.int64())})
    last = places.group_by(list(keys)).aggregate([("\0row", "max")]).column("\0row_max").combine_chunks().sort()
    rows, deleted = rows.take(last), deleted.take(last)
    deletions = pc.any(deleted).as_py()
    mark = _free_name(rows)
    source = rows.append_column(mark, deleted) if deletions else rows
    same = " AND ".join(f"target.{_quoted(name)} = source.{_quoted(name)}" for name in keys)
    alive = f"NOT source.{_quoted(mark)}" if deletions else None
    cells = {_quoted(name): f"source.{_quoted(name)}" for name in rows.column_names}

    def merge(delta: Any, properties: Any) -> None:
        merger = delta.merge(
            source,
            same,
            source_alias="source",
            target_alias="target",
            streamed_exec=False,
            commit_properties=properties,
        )
        if deletions:
            merger = merger.when_matched_delete(f"source.{_quoted(mark)}")
        merger.when_matched_update(cells, alive).when_not_matched_insert(cells, alive).execute()

    table.commit(merge, offsets)


def _same_partitions(table: Table, rows: pa.Table) -> str:
    columns = table.partition_columns
    if not columns:
        raise ConnectError(
            f"Table {table.uri} is not partitioned, and mode=overwrite replaces partitions. Set replace.where, or "
            "write to a new table with partition.by."
        )
    found = rows.select(columns).group_by(columns).aggregate([]).to_pylist()
    return " OR ".join(
        "(" + " AND ".join(_equals(name, value) for name, value in partition.items()) + ")" for partition in found
    )


def _equals(name: str, value: Any) -> str:
    return f"{_quoted(name)} IS NULL" if value is None else f"{_quoted(name)} = {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, dt.datetime):
        value = value.astimezone(dt.UTC).isoformat()
    return "'" + str(value).replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _free_name(rows: pa.Table) -> str:
    name = "deleted"
    while name in rows.column_names:
        name += "_"
    return name
