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


class KeyChanges(NamedTuple):
    """What a batch says of each key.

    Attributes:
        keys: the columns of the keys, a row for each.
        live: the number of the newest row that is not a deletion; null where there is none.
        newest: the number of the newest row or deletion with a sequence; null where there is none.
        unordered: the number of the last deletion without a sequence; null where there is none.
    """

    keys: pa.Table
    live: pa.Array
    newest: pa.Array
    unordered: pa.Array


class Batch:
    """A batch's rows in their order.

    The largest sequence is the newest. Where sequences are equal, the last row of a partition of a topic is, and
    between partitions that with the latest timestamp.

    Args:
        rows: with their columns.
        origins: where they come from, see `Part`.
        keys: the columns that make the key.
        sequence: the columns that say which of two rows is newer; empty for the order in Kafka.
    """

    def __init__(self, rows: pa.Table, origins: pa.Table, keys: Sequence[str], sequence: Sequence[str] = ()) -> None:
        self.sequence = list(sequence)
        self._keys = list(keys)
        self._deleted = origins.column("deleted")
        self._several = len(origins.group_by(["topic", "partition"]).aggregate([])) > 1
        numbered = rows.select(self._keys)
        for name in _PLACE:
            numbered = numbered.append_column(name, origins.column(name[1:]))
        self._order: list[str] = []
        for number, column in enumerate(sequence):
            self._order += [f"\0there{number}", f"\0{number}"]  # a missing value is smaller than any other
            numbered = numbered.append_column(self._order[-2], pc.is_valid(rows.column(column)))
            numbered = numbered.append_column(self._order[-1], rows.column(column))
        if self._several:
            numbered = numbered.append_column(_TIME, origins.column("timestamp").fill_null(_NEVER))
        self._rows = numbered.append_column(_ROW, pa.array(range(len(rows)), pa.int64()))
        # A deletion that does not have what the sequence begins with has no place in it.
        self._unordered = None
        if sequence:
            self._unordered = pc.and_(self._deleted, pc.is_null(rows.column(sequence[0])))

    def newest(self) -> Newest:
        """The newest row of each key. A deletion without a sequence outdates all rows before it in its partition."""
        rows, barriers = self._behind_barriers()
        last = self._newest(rows).sort()
        return Newest(last, pc.is_in(last, barriers))

    def by_key(self) -> KeyChanges:
        """What is said of each key."""
        ordered = self._rows if self._unordered is None else self._rows.filter(pc.invert(self._unordered))
        found = {"live": self._newest(self._rows.filter(pc.invert(self._deleted))), "newest": self._newest(ordered)}
        if self._unordered is not None:
            last = self._rows.filter(self._unordered).group_by(self._keys).aggregate([(_ROW, "max")])
            found["unordered"] = last.column(f"{_ROW}_max").combine_chunks()
        else:
            found["unordered"] = pa.array([], pa.int64())
        table = self._rows.group_by(self._keys).aggregate([])
        for name, numbers in found.items():
            mine = self._rows.select(self._keys).take(numbers).append_column(name, numbers)
            table = table.join(mine, self._keys, join_type="left outer")
        return KeyChanges(table.select(self._keys), *(table.column(name).combine_chunks() for name in found))

    def of_deleted_keys(self, rows: pa.Array) -> pa.Array:
        """Those of some rows whose key is deleted in their partition, before them or behind."""
        groups = [*self._keys, *_PLACE]
        deleted = self._rows.filter(self._deleted).select(groups)
        mine = self._rows.filter(pc.is_in(self._rows.column(_ROW), rows))
        return mine.join(deleted, groups, join_type="left semi").column(_ROW).combine_chunks()

    def histories(self, newest: pa.Array, *, live: bool) -> dict[int, list[int]]:
        """What came before some rows: those of the same key and partition that were the newest ones when they came.

        Args:
            newest: the numbers of rows that are the newest of their keys.
            live: whether deletions do not count, as in `by_key`; else rows behind the last deletion without a sequence
                count, as in `newest`.

        Returns:
            for each of these rows the numbers of the earlier ones, the last one first.
        """
        rows = self._rows.filter(pc.invert(self._deleted)) if live else self._behind_barriers()[0]
        groups = [*self._keys, *_PLACE]
        wanted = rows.filter(pc.is_in(rows.column(_ROW), newest)).select(groups)
        rows = rows.join(wanted, groups, join_type="left semi")
        rows = rows.sort_by([(name, "ascending") for name in (*self._order, _ROW)])
        rows = rows.append_column(_RANK, pa.array(range(len(rows)), pa.int64())).sort_by(_ROW)
        lists = rows.group_by(groups, use_threads=False).aggregate([(_ROW, "list"), (_RANK, "list")])
        found = {}
        for numbers, ranks in zip(*(lists.column(f"{name}_list").to_pylist() for name in (_ROW, _RANK)), strict=True):
            best, counted = -1, []
            for number, rank in zip(numbers, ranks, strict=True):
                if rank > best:
                    best = rank
                    counted.append(number)
            found[counted.pop()] = counted[::-1]
        return found

    def _newest(self, rows: pa.Table) -> pa.Array:
        """The number of each key's newest row."""
        last = _best(rows, [*self._keys, *_PLACE], [*self._order, _ROW])
        if self._several:
            some = rows.filter(pc.is_in(rows.column(_ROW), last))
            last = _best(some, self._keys, [*self._order, _TIME, _ROW])
        return last

    def _behind_barriers(self) -> tuple[pa.Table, pa.Array]:
        """The rows without those that a deletion without a sequence outdates, and the numbers of those behind one."""
        rows = self._rows
        if self._unordered is None or not pc.any(self._unordered).as_py():
            return rows, pa.array([], pa.int64())
        groups = [*self._keys, *_PLACE]
        barriers = rows.filter(self._unordered).group_by(groups).aggregate([(_ROW, "max")])
        rows = rows.join(barriers.rename_columns([*groups, _BARRIER]), groups, join_type="left outer").sort_by(_ROW)
        barrier = rows.column(_BARRIER)
        reached = pc.greater_equal(rows.column(_ROW), pc.fill_null(barrier, _NEVER))
        rows = rows.filter(pc.or_(pc.is_null(barrier), reached))
        behind = rows.filter(pc.is_valid(rows.column(_BARRIER))).column(_ROW).combine_chunks()
        return rows.drop_columns([_BARRIER]), behind


def _best(rows: pa.Table, groups: Sequence[str], order: Sequence[str]) -> pa.Array:
    """The number of each group's last row in an order."""
    if list(order) != [_ROW]:
        rows = rows.sort_by([(name, "ascending") for name in order])
    rows = rows.append_column(_RANK, pa.array(range(len(rows)), pa.int64()))
    best = rows.group_by(list(groups)).aggregate([(_RANK, "max")]).column(f"{_RANK}_max")
    return rows.column(_ROW).take(best).combine_chunks()
