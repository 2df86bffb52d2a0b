"""The three ways of writing rows to a table: append, overwrite of partitions, and merge by key."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from spark_sink.delta.table import Table

_NEVER: Final = -(1 << 63)
Offsets = Mapping[TopicPartition, int]


def append(table: Table, rows: pa.Table, offsets: Offsets) -> None:
    """Append rows. All three raise as `Table.commit`."""
    from deltalake import write_deltalake

    table.commit(
        lambda delta, properties: write_deltalake(delta, rows, mode="append", commit_properties=properties), offsets
    )


def overwrite(table: Table, rows: pa.Table, where: str | None, offsets: Offsets) -> None:
    """Replace the rows for which a condition holds; without a condition, those of the same partitions."""
    from deltalake import write_deltalake

    condition = where or _same_partitions(table, rows)
    table.commit(
        lambda delta, properties: write_deltalake(
            delta, rows, mode="overwrite", predicate=condition, commit_properties=properties
        ),
        offsets,
    )


def upsert(
    table: Table,
    rows: pa.Table,
    origins: pa.Table,
    keys: Sequence[str],
    columns: frozenset[str] | None,
    offsets: Offsets,
) -> None:
    """Merge: the newest row of each key replaces the table's; a deletion removes it.

    Args:
        table: to write to.
        rows: with all columns of the table.
        origins: where they come from, see `Part`.
        keys: the columns that make the key.
        columns: those that the records have; the others keep their values. None for all.
        offsets: committed with the rows.
    """
    newest = _newest(rows.select(list(keys)), origins)
    rows, deleted = rows.take(newest), origins.column("deleted").take(newest)
    deletions = pc.any(deleted).as_py()
    mark = _free_name(rows)
    source = rows.append_column(mark, deleted) if deletions else rows
    same = " AND ".join(f"target.{_quoted(name)} = source.{_quoted(name)}" for name in keys)
    alive = f"NOT source.{_quoted(mark)}" if deletions else None
    cells = {_quoted(name): f"source.{_quoted(name)}" for name in rows.column_names}
    changed = {_quoted(n): f"source.{_quoted(n)}" for n in rows.column_names if columns is None or n in columns}

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
        merger.when_matched_update(changed, alive).when_not_matched_insert(cells, alive).execute()

    table.commit(merge, offsets)


def _newest(keys: pa.Table, origins: pa.Table) -> pa.Array:
    """The number of the winning row of each key, ascending.

    Within a partition of a topic the last row wins, between partitions that with the latest timestamp.
    """
    names = keys.column_names
    numbered = keys
    for name in ("topic", "partition", "timestamp"):
        column = origins.column(name)
        numbered = numbered.append_column(f"\0{name}", column.fill_null(_NEVER) if name == "timestamp" else column)
    numbered = numbered.append_column("\0row", pa.array(range(len(keys)), pa.int64()))
    last = numbered.group_by([*names, "\0topic", "\0partition"]).aggregate([("\0row", "max")]).column("\0row_max")
    last = last.combine_chunks().sort()
    if len(origins.group_by(["topic", "partition"]).aggregate([])) == 1:
        return last
    order = pc.sort_indices(numbered.take(last), [("\0timestamp", "ascending"), ("\0row", "ascending")])
    by_time = numbered.take(last.take(order))
    ranked = by_time.append_column("\0rank", pa.array(range(len(by_time)), pa.int64()))
    best = ranked.group_by(names).aggregate([("\0rank", "max")]).column("\0rank_max")
    return ranked.column("\0row").take(best).combine_chunks().sort()


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
