"""Which of a batch's rows count: the newest of each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

_NEVER: Final = -(1 << 63)
#: Columns of our own beside a table's, which may have any name without a NUL.
_ROW, _RANK, _BARRIER = "\0row", "\0rank", "\0barrier"
_TOPIC, _PARTITION, _TIME = "\0topic", "\0partition", "\0timestamp"
_PLACE: Final = [_TOPIC, _PARTITION]


class Newest(NamedTuple):
    """The newest row of each key.

    Attributes:
        rows: their numbers, ascending.
        cleared: for each, whether a deletion without a sequence came before it: then the table's row does not count.
    """

    rows: pa.Array
    cleared: pa.Array


def newest(rows: pa.Table, origins: pa.Table, keys: Sequence[str], sequence: Sequence[str] = ()) -> Newest:
    """Choose the newest row of each key.

    The largest sequence wins. Where sequences are equal, the last row of a partition of a topic does, and between
    partitions that with the latest timestamp. A deletion that has no sequence outdates all rows before it in its
    partition.

    Args:
        rows: of a batch.
        origins: where they come from, see `Part`.
        keys: the columns that make the key.
        sequence: the columns that say which of two rows is newer; empty for the order in Kafka.
    """
    numbered = rows.select(list(keys))
    for name in (*_PLACE, _TIME):
        numbered = numbered.append_column(name, origins.column(name[1:]))
    order: list[str] = []
    for number, column in enumerate(sequence):
        order += [f"\0there{number}", f"\0{number}"]  # a missing value is smaller than any other
        numbered = numbered.append_column(order[-2], pc.is_valid(rows.column(column)))
        numbered = numbered.append_column(order[-1], rows.column(column))
    numbered = numbered.append_column(_ROW, pa.array(range(len(rows)), pa.int64()))
    numbered, barriers = _behind_barriers(numbered, origins.column("deleted"), keys, order[1:2])
    last = _best(numbered, [*keys, *_PLACE], [*order, _ROW])
    if len(origins.group_by(["topic", "partition"]).aggregate([])) > 1:
        times = numbered.column(_TIME).fill_null(_NEVER)
        numbered = numbered.set_column(numbered.column_names.index(_TIME), _TIME, times)
        last = _best(numbered.filter(pc.is_in(numbered.column(_ROW), last)), keys, [*order, _TIME, _ROW])
    last = last.sort()
    return Newest(last, pc.is_in(last, barriers))


def _best(rows: pa.Table, groups: Sequence[str], order: Sequence[str]) -> pa.Array:
    """The number of each group's last row in an order."""
    if list(order) != [_ROW]:
        rows = rows.sort_by([(name, "ascending") for name in order])
    rows = rows.append_column(_RANK, pa.array(range(len(rows)), pa.int64()))
    best = rows.group_by(list(groups)).aggregate([(_RANK, "max")]).column(f"{_RANK}_max")
    return rows.column(_ROW).take(best).combine_chunks()


def _behind_barriers(
    rows: pa.Table, deleted: pa.ChunkedArray, keys: Sequence[str], sequence: Sequence[str]
) -> tuple[pa.Table, pa.Array]:
    """The rows without those that a deletion without a sequence outdates, and the numbers of those behind one."""
    nothing = pa.array([], pa.int64())
    if not sequence:
        return rows, nothing
    unordered = rows.filter(pc.and_(deleted, pc.is_null(rows.column(sequence[0]))))
    if not len(unordered):
        return rows, nothing
    groups = [*keys, *_PLACE]
    barriers = unordered.group_by(groups).aggregate([(_ROW, "max")]).rename_columns([*groups, _BARRIER])
    rows = rows.join(barriers, groups, join_type="left outer").sort_by(_ROW)
    barrier = rows.column(_BARRIER)
    rows = rows.filter(pc.or_(pc.is_null(barrier), pc.greater_equal(rows.column(_ROW), pc.fill_null(barrier, _NEVER))))
    behind = rows.filter(pc.is_valid(rows.column(_BARRIER))).column(_ROW).combine_chunks()
    return rows.drop_columns([_BARRIER]), behind
