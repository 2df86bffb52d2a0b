"""Records that do not have all columns: what older ones of their keys in the same batch say of the others.

So a batch leaves in a table what its records would leave if each was committed by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.rows.newest import Batch

#: By number, the columns that a record has; None for all.
RecordColumns = Sequence[frozenset[str] | None]


class Completed(NamedTuple):
    """The newest row of each key, with what older ones say of columns that its record does not have.

    Attributes:
        rows: with all columns of the table.
        numbers: for each row that of the columns of which something is said; null for a deletion, and for no row.
        columns: by number, those columns. None for all.
        said: the numbers of the columns of all rows of the batch, and of these.
        since: for each column that got values of older rows, for each row the sequence of that which its value is of.
        ended: for each row, whether a deletion came before it: then nothing of the table's row counts.
    """

    rows: pa.Table
    numbers: pa.ChunkedArray | pa.Array
    columns: RecordColumns
    said: frozenset[int]
    since: Mapping[str, pa.Table]
    ended: pa.Array

    def lacking(self) -> dict[str, pa.Array]:
        """The columns of which nothing is said of some rows, and for each row whether it is one of those."""
        found = {}
        for name in self.rows.column_names:
            lacks = [number for number in self.said if (has := self.columns[number]) is not None and name not in has]
            mask = pc.fill_null(pc.is_in(self.numbers, pa.array(lacks, pa.int32())), False)
            if lacks and pc.any(mask).as_py():
                found[name] = mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
        return found


def completed(
    rows: pa.Table,
    origins: pa.Table,
    batch: Batch,
    chosen: pa.Array,
    columns: RecordColumns,
    *,
    outlive: bool,
) -> Completed:
    """Complete the newest rows of a batch.

    Args:
        rows: of the batch, with all columns of the table.
        origins: where they come from, see `Part`.
        batch: their order.
        chosen: the numbers of the newest; null where a key has none.
        columns: by number, those that records have.
        outlive: whether rows outlive their deletion; else it ends what was said before.
    """
    deleted = origins.column("deleted").take(chosen)
    numbers = pc.if_else(deleted, pa.scalar(None, pa.int32()), origins.column("columns").take(chosen))
    said = frozenset(origins.column("columns").unique().drop_null().to_pylist())
    names = frozenset(rows.column_names)
    has = {number: names if (own := columns[number]) is None else own & names for number in said}
    every = frozenset().union(*has.values())
    newest = _among(chosen, numbers, [number for number, own in has.items() if own < every])
    if not outlive and pc.any(origins.column("deleted")).as_py():
        reborn = batch.of_deleted_keys(_among(chosen, numbers, [number for number, own in has.items() if own < names]))
        newest = pa.concat_arrays([newest, reborn]).unique()
    if not len(newest):
        return Completed(rows.take(chosen), numbers, columns, said, {}, pa.array([], pa.bool_()))
    found = _Completing(rows, origins, columns)
    for row, before in batch.histories(newest, live=outlive).items():
        found.complete(row, before)
    numbered = chosen.to_pylist()
    at = {row: place for place, row in enumerate(numbered)}
    cells = {name: rows.column(name).take(chosen) for name in rows.column_names}
    since = {}
    for name, donors in found.donors.items():
        taken = list(numbered)
        for row, donor in donors.items():
            taken[at[row]] = donor
        cells[name] = rows.column(name).take(pa.array(taken, pa.int64()))
        since[name] = rows.select(batch.sequence).take(pa.array(taken, pa.int64()))
    new = numbers.to_pylist()
    for row, number in found.numbers.items():
        new[at[row]] = number
    said |= frozenset(found.numbers.values())
    ended = pa.array([row in found.ended for row in numbered], pa.bool_())
    return Completed(pa.table(cells), pa.array(new, pa.int32()), found.columns, said, since, ended)


def _among(rows: pa.Array, numbers: pa.ChunkedArray, wanted: Sequence[int]) -> pa.Array:
    """The rows of which the number is a wanted one."""
    return rows.filter(pc.is_in(numbers, pa.array(wanted, pa.int32())).combine_chunks())


class _Completing:
    """Finds which older row has the value of a column.

    Attributes:
        columns: by number, those of which something is said.
        numbers: for each row that its own.
        donors: for each column, for some rows the older row with the value.
        ended: rows that a deletion came before.
    """

    def __init__(self, rows: pa.Table, origins: pa.Table, columns: RecordColumns) -> None:
        self.columns = list(columns)
        self.numbers: dict[int, int] = {}
        self.donors: dict[str, dict[int, int]] = {}
        self.ended: set[int] = set()
        self._names = frozenset(rows.column_names)
        self._of: list[Any] = origins.column("columns").to_pylist()
        self._deleted: list[bool] = origins.column("deleted").to_pylist()
        self._known = {has: number for number, has in enumerate(columns)}

    def complete(self, row: int, before: Sequence[int]) -> None:
        """Complete a row from the ones before it, the last one first, up to a deletion: behind that it is whole."""
        lacking = set(self._names) - self._has(row)
        for other in before:
            if self._deleted[other]:
                self.ended.add(row)
                lacking.clear()
            if not lacking:
                break
            for name in lacking & self._has(other):
                self.donors.setdefault(name, {})[row] = other
                lacking.remove(name)
        has = self._names - lacking if lacking else None
        self.numbers[row] = self._known.setdefault(has, len(self.columns))
        if self.numbers[row] == len(self.columns):
            self.columns.append(has)

    def _has(self, row: int) -> frozenset[str]:
        has = self.columns[self._of[row]]
        return self._names if has is None else has
