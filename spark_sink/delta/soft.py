"""Merges rows into a table that keeps deleted ones: a column says that they are deleted (delete.mode=soft)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.delta.merge import Merge, free_name, partly, started
from spark_sink.delta.modes import Offsets, quoted
from spark_sink.delta.table import Table
from spark_sink.merge_rules import SoftMarks, SoftMerge
from spark_sink.rows.newest import Batch, KeyChanges
from spark_sink.rows.partial import RecordColumns, completed

_EPOCH_MS = 0
_MARKS = ("has_row", "has_order", "is_dead", "dies", "died_at", "dies_at")


def soft_upsert(
    table: Table,
    rows: pa.Table,
    origins: pa.Table,
    how: Merge,
    columns: RecordColumns,
    deleted: tuple[str, bool],
    offsets: Offsets,
) -> None:
    """As `spark_sink.delta.merge.upsert`, but deletions mark their key's row.

    Args:
        table, rows, origins, how, columns, offsets: as there.
        deleted: the column that says that a row is deleted, and whether it holds the time of the deletion.
    """
    how = how.spelled_as(table)
    deleted = next(name for name in rows.column_names if name.casefold() == deleted[0].casefold()), deleted[1]
    batch = Batch(rows, origins, how.keys, how.sequence)
    said = batch.by_key()
    found = completed(rows, origins, batch, said.live, columns, outlive=True)
    source, soft = _source(rows, found.rows, origins, how, said, deleted)
    others = [name for name in rows.column_names if name != deleted[0]]
    marked, new = partly(found, others, how.sequence, source)
    new |= {name: f"s.{quoted(name)}" for name in how.sequence if name in new}  # of the newest change, not of the row
    changed = {
        quoted(name): soft.value(quoted(name), new[name]) for name in others if name not in how.keys and name in new
    }
    cells = {quoted(name): f"s.{quoted(name)}" for name in others}

    def merge(delta: Any, properties: Any) -> None:
        merger = started(delta, marked, how.on, properties)
        merger = merger.when_matched_update({**changed, soft.column: soft.deleted}, soft.changes)
        merger.when_not_matched_insert({**cells, soft.column: soft.new_deleted}, soft.is_new_row).execute()

    table.commit(merge, offsets)


def _source(
    rows: pa.Table, live: pa.Table, origins: pa.Table, how: Merge, said: KeyChanges, deleted: tuple[str, bool]
) -> tuple[pa.Table, SoftMerge]:
    """A row for each key: the columns of its newest record, the sequence of its newest change, and the marks."""
    newest = rows.take(said.newest)
    column, is_timestamp = deleted
    cells = {}
    for name in rows.column_names:
        if name in how.keys:
            cells[name] = said.keys.column(name)
        elif name in how.sequence:
            cells[name] = newest.column(name)
        elif name != column:
            cells[name] = live.column(name)
    kind = rows.schema.field(column).type if is_timestamp else pa.timestamp("ms", "UTC")
    times = pc.fill_null(origins.column("timestamp"), _EPOCH_MS).cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
    times = times.cast(kind).combine_chunks()
    gone = origins.column("deleted").combine_chunks()
    unordered_later = pc.fill_null(pc.greater(said.unordered, pc.fill_null(said.newest, -1)), False)
    is_dead = pc.or_(unordered_later, pc.fill_null(gone.take(said.newest), False))
    dies_at = times.take(said.unordered)
    died_at = pc.if_else(
        is_dead, pc.coalesce(pc.if_else(unordered_later, dies_at, None), times.take(said.newest)), None
    )
    marks = {
        "has_row": pc.is_valid(said.live),
        "has_order": pc.is_valid(said.newest),
        "is_dead": is_dead,
        "dies": pc.is_valid(said.unordered),
        "died_at": died_at,
        "dies_at": dies_at,
    }
    source = pa.table(cells)
    names = {}
    for what in _MARKS:
        names[what] = free_name(source, what)
        source = source.append_column(names[what], marks[what])
    row_sequence = []
    for number, name in enumerate(how.sequence):
        row_sequence.append(free_name(source, f"row_sequence_{number}"))
        source = source.append_column(row_sequence[-1], live.column(name))
    found = SoftMarks(**{what: quoted(name) for what, name in names.items()}, row_sequence=[*map(quoted, row_sequence)])
    return source, SoftMerge([quoted(name) for name in how.sequence], quoted(column), is_timestamp, found)
