"""A row for each version of a key, from when to when it was valid (scd.type=2): slowly changing dimensions of type 2.

A key's versions and deletions, those of the table and those of a batch, are put into the order of their sequence. Each
version is valid until the next of them. So a late record finds its place between others. What a record does not say of
a column, its version has from the one before it, unless that was deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from spark_sink.delta.merge import Merge, free_name, started
from spark_sink.delta.modes import Offsets, quoted
from spark_sink.delta.table import Table
from spark_sink.merge_keys import Ends
from spark_sink.rows.newest import Batch
from spark_sink.rows.partial import RecordColumns, completed

_AT, _OLD_TO, _KIND, _ROW = "\0at", "\0to", "\0kind", "\0row"
#: Kinds of events. At the same place in a key's history the largest counts.
_VERSION, _DELETION, _NEW_VERSION, _NEW_DELETION = range(4)
#: Types of keys of which files are skipped by ranges.
_RANGED: Final = (pa.types.is_integer, pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)


def merge_versions(
    table: Table,
    rows: pa.Table,
    origins: pa.Table,
    how: Merge,
    columns: RecordColumns,
    ends: Ends,
    offsets: Offsets,
) -> None:
    """Add the versions of a batch, and end those that they follow, or that are deleted.

    Args:
        table, rows, origins, how, columns, offsets: as of `spark_sink.delta.merge.upsert`.
        ends: the columns for when a version was valid.

    Raises:
        ConnectError: the table lacks a column, or cannot be read. Else as `Table.commit`.
    """
    how = how.spelled_as(table)
    spelled = {name.casefold(): name for name in rows.column_names}
    ends = Ends(*(spelled[name.casefold()] for name in ends))
    (sequence,) = how.sequence
    ordered = Batch(rows, origins, [*how.keys, sequence])
    chosen = ordered.newest().rows
    deleted = origins.column("deleted").take(chosen)
    said = completed(rows, origins, ordered, chosen, columns, outlive=False)
    lacking = {k: v for k, v in said.lacking().items() if k not in {*how.keys, sequence, *ends}}
    rows = said.rows
    batch = rows.select(list(how.keys)).append_column(_AT, rows.column(sequence))
    batch = batch.append_column(_OLD_TO, pa.nulls(len(batch), batch.schema.field(_AT).type))
    batch = batch.append_column(_KIND, pc.if_else(deleted, _NEW_DELETION, _NEW_VERSION).cast(pa.int8()))
    batch = batch.append_column(_ROW, pa.array(range(len(batch)), pa.int64()))
    history = _history(table, batch, how.keys, ends, list(lacking))
    source = _source(rows, _timeline(history, batch, rows, lacking, how.keys), how.keys, ends)
    new = free_name(rows, "is_new")
    source = source.append_column(new, pc.equal(source.column(_KIND), _NEW_VERSION)).drop_columns([_KIND])
    is_new = f"s.{quoted(new)}"
    ended = {quoted(name): f"s.{quoted(name)}" for name in (ends.valid_to, ends.is_current)}
    cells = {quoted(name): f"s.{quoted(name)}" for name in rows.column_names}
    on = f"{how.on} AND t.{quoted(ends.valid_from)} = s.{quoted(ends.valid_from)}"

    def merge(delta: Any, properties: Any) -> None:
        merger = started(delta, source, on, properties)
        merger = merger.when_matched_update(cells, is_new).when_matched_update(ended, f"NOT {is_new}")
        merger.when_not_matched_insert(cells, is_new).execute()

    table.commit(merge, offsets)


class _History(NamedTuple):
    """What a table has of a batch's keys.

    Attributes:
        events: the versions that the batch may change, and their deletions.
        cells: columns of the versions, to which `_ROW` of the events refers.
    """

    events: pa.Table
    cells: pa.Table


def _history(table: Table, batch: pa.Table, keys: Sequence[str], ends: Ends, more: list[str]) -> _History:
    """The versions of a batch's keys that it may change, with more columns."""
    first = pc.min_max(batch.column(_AT))["min"]
    where = ds.field(ends.valid_to).is_null() | (ds.field(ends.valid_to) >= first)
    for name in keys:
        if any(check(batch.schema.field(name).type) for check in _RANGED):
            bounds = pc.min_max(batch.column(name))
            where = where & (ds.field(name) >= bounds["min"]) & (ds.field(name) <= bounds["max"])
            if more:  # which may be large
                where = where & ds.field(name).isin(batch.column(name).unique())
    read = table.read([*keys, ends.valid_from, ends.valid_to, *more], where)
    found = read.select([*keys, ends.valid_from, ends.valid_to]).rename_columns([*keys, _AT, _OLD_TO])
    found = found.append_column(_ROW, pa.array(range(len(found)), pa.int64()))
    found = found.join(batch.select(list(keys)).group_by(list(keys)).aggregate([]), list(keys), join_type="left semi")
    found = found.sort_by([(name, "ascending") for name in (*keys, _AT)])
    following = _next(found, keys)
    ended = pc.and_(pc.is_valid(found.column(_OLD_TO)), pc.invert(_same(found.column(_OLD_TO), following)))
    gone = found.filter(ended)
    gone = gone.set_column(gone.column_names.index(_AT), _AT, gone.column(_OLD_TO))
    parts = [
        part.append_column(_KIND, pa.repeat(pa.scalar(kind, pa.int8()), len(part)))
        for part, kind in ((found, _VERSION), (gone, _DELETION))
    ]
    return _History(pa.concat_tables(parts), read.select(more))


def _timeline(
    history: _History, batch: pa.Table, rows: pa.Table, lacking: Mapping[str, pa.Array], keys: Sequence[str]
) -> pa.Table:
    """The events that are written: new versions, deletions, and versions of which the end changes.

    `_OLD_TO` is where they end now. Columns that records do not have are among theirs.
    """
    events = pa.concat_tables([history.events, batch.select(history.events.column_names).cast(history.events.schema)])
    events = events.sort_by([(name, "ascending") for name in (*keys, _AT, _KIND)])
    for name, lacks in lacking.items():
        events = events.append_column(name, _filled(events, history.cells, rows, (name, lacks), keys))
    events = events.filter(pc.invert(_same(events.column(_AT), _next(events, keys))))  # the last kind of a place counts
    following = _next(events, keys)
    kinds = events.column(_KIND)
    changed = pc.and_(pc.equal(kinds, _VERSION), pc.invert(_same(events.column(_OLD_TO), following, nulls=True)))
    # A deletion at the moment when a version began leaves one of no length, if it is there.
    until = pc.if_else(pc.equal(kinds, _NEW_DELETION), events.column(_AT), following)
    events = events.set_column(events.column_names.index(_OLD_TO), _OLD_TO, until)
    return events.filter(pc.or_(changed, pc.greater_equal(kinds, _NEW_VERSION)))


def _filled(
    events: pa.Table, cells: pa.Table, rows: pa.Table, lacking: tuple[str, pa.Array], keys: Sequence[str]
) -> pa.ChunkedArray:
    """A column of sorted events: what a record does not say of it is what the event before says."""
    name, lacks = lacking
    kinds, own = events.column(_KIND).combine_chunks(), events.column(_ROW).combine_chunks()
    is_new = pc.equal(kinds, _NEW_VERSION)
    lacks = pc.fill_null(lacks.take(pc.if_else(is_new, own, None)), False)
    number = pa.array(range(len(events)), pa.int64())
    said_by = pc.fill_null_forward(pc.if_else(pc.and_(lacks, _follows(events, keys)), None, number))
    # Of a deletion nothing is left.
    place = pc.if_else(is_new, pc.add(own, len(cells)), pc.if_else(pc.equal(kinds, _VERSION), own, None))
    column = rows.column(name)
    both = pa.chunked_array([*cells.column(name).cast(column.type).chunks, *column.chunks], column.type)
    return both.take(place.take(said_by))


def _source(rows: pa.Table, events: pa.Table, keys: Sequence[str], ends: Ends) -> pa.Table:
    """The rows of events: whole ones of new versions."""
    kinds = events.column(_KIND)
    whole = rows.take(pc.if_else(pc.equal(kinds, _NEW_VERSION), events.column(_ROW), None))
    cells = {
        name: events.column(name) if name in events.column_names else whole.column(name) for name in rows.column_names
    }
    cells[ends.valid_from], cells[ends.valid_to] = events.column(_AT), events.column(_OLD_TO)
    cells[ends.is_current] = pc.is_null(events.column(_OLD_TO))
    return pa.table({**cells, _KIND: kinds})


def _next(events: pa.Table, keys: Sequence[str]) -> pa.Array:
    """For each of sorted events where the key's next one is; null for the last."""
    at = events.column(_AT).combine_chunks()
    if not len(events):
        return at
    following = pc.if_else(_follows(events, keys).slice(1), at.slice(1), pa.scalar(None, at.type))
    return pa.concat_arrays([following, pa.nulls(1, at.type)])


def _follows(events: pa.Table, keys: Sequence[str]) -> pa.Array:
    """For each of sorted events, at least one, whether the one before it is of the same key."""
    same: Any = None
    for name in keys:
        column = events.column(name).combine_chunks()
        equal = pc.equal(column.slice(0, len(column) - 1), column.slice(1))
        same = equal if same is None else pc.and_(same, equal)
    return pa.concat_arrays([pa.array([False]), same])


def _same(one: Any, other: Any, *, nulls: bool = False) -> Any:
    """Whether values are equal. Two nulls are where `nulls` says so."""
    equal = pc.fill_null(pc.equal(one, other), False)
    return pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other))) if nulls else equal
