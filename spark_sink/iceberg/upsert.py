"""Merges rows into a table by their key: files that hold their keys are written again, without those rows.

All in one snapshot: a reader sees the table before or after it. pyiceberg's own upsert makes up to three, compares the
rows in expressions with a term for each, and knows no deletions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, GreaterThanOrEqual, In, LessThanOrEqual, Reference
from pyiceberg.io.pyarrow import ArrowScan

from connect.data.record import TopicPartition
from spark_sink.iceberg.files import DataFiles
from spark_sink.iceberg.problems import table_error
from spark_sink.iceberg.table import Table
from spark_sink.rows.complete import complete
from spark_sink.rows.conflicts import Conflict
from spark_sink.rows.newest import Batch
from spark_sink.rows.partial import RecordColumns, completed

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask

    from spark_sink.iceberg.transaction import Attempt

#: How many values of a key's column are looked up in the statistics of files; of more, the smallest and the largest.
_MOST_VALUES: Final = 200
_ROW, _OLD = "\0row", "\0old"


class Keys:
    """The columns that make a row's key."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    def complete(
        self, kept: Sequence[int], rows: pa.StructArray, unfit: dict[int, str]
    ) -> tuple[Sequence[int], pa.StructArray]:
        """The rows whose key is complete, and those of records without a value.

        Args:
            kept: the records of the rows.
            rows: null for a record without a value.
            unfit: gets a reason for each of the others.
        """
        return complete(kept, rows, dict.fromkeys(self.columns, "is part of its key"), unfit, 'The id column "{}"')

    def of(self, rows: pa.Table) -> pa.Table:
        """The keys of rows, in types that can be compared."""
        return pa.table([_compared(rows.column(name)) for name in self.columns], names=self.columns)

    def may_be_in(self, keys: pa.Table) -> BooleanExpression:
        """A condition that is true for all rows with one of these keys."""
        condition: BooleanExpression = AlwaysTrue()
        for name in self.columns:
            column = keys.column(name)
            if not any(check(column.type) for check in _COMPARED):
                continue
            values = pc.unique(column)
            if len(values) <= _MOST_VALUES:
                condition = And(condition, In(term=Reference(name), values=values.to_pylist()))
            else:
                term, bounds = Reference(name), pc.min_max(column)
                least, most = bounds["min"].as_py(), bounds["max"].as_py()
                condition = And(
                    condition, GreaterThanOrEqual(term=term, value=least), LessThanOrEqual(term=term, value=most)
                )
        return condition

    def without(self, rows: pa.Table, keys: pa.Table) -> pa.Table | None:
        """The rows that have none of the keys; None if that is all of them."""
        others = self._joined(rows, keys, "left anti")
        return None if len(others) == len(rows) else rows.take(others)

    def within(self, rows: pa.Table, keys: pa.Table) -> pa.Table:
        """The rows that have one of the keys."""
        return rows.take(self._joined(rows, keys, "left semi"))

    def _joined(self, rows: pa.Table, keys: pa.Table, how: str) -> pa.ChunkedArray:
        """The numbers of rows, ascending."""
        mine = self.of(rows).cast(keys.schema).append_column(_ROW, pa.array(range(len(rows)), pa.int64()))
        found = mine.join(keys, self.columns, join_type=how).column(_ROW)
        return found.take(pc.sort_indices(found))


_COMPARED: Final = (
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_decimal,
)


def _compared(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def merge(
    table: Table,
    rows: pa.Table,
    origins: pa.Table,
    keys: Keys,
    columns: RecordColumns | None,
    properties: Mapping[str, str],
    offsets: Mapping[TopicPartition, int],
) -> None:
    """Replace the rows of keys by the newest ones; a deletion removes its key's row.

    Args:
        table: to write to.
        rows: with all columns of the table.
        origins: where they come from, see `spark_sink.rows.waiting.Part`.
        keys: of the rows.
        columns: by number, those that the database sent of a record; a row that is there keeps the others. None where
            all are sent.
        properties: for what is written.
        offsets: committed with the rows.

    Raises:
        As `Table.commit`.
    """
    in_order = pc.sort_indices(origins, [(name, "ascending") for name in ("topic", "partition", "offset")])
    rows, origins = rows.take(in_order), origins.take(in_order)
    batch = Batch(keys.of(rows), origins, keys.columns)
    chosen = batch.newest().rows
    newest, deleted = rows.take(chosen), origins.column("deleted").take(chosen)
    lacking: dict[str, pa.Array] = {}
    if columns is not None:
        said = completed(rows, origins, batch, chosen, columns, outlive=False)
        newest, lacking = said.rows, said.lacking()
    files = DataFiles(table.there, properties)
    old = _OldCells(keys, newest, lacking)
    try:
        replaced = _rewrite(table, keys, keys.of(newest), files, old)
        files.write(old.filled().filter(pc.invert(deleted)))
    except Exception as error:
        files.discard()
        raise table_error(error, table.name, "be merged into") from error

    def change(attempt: Attempt) -> None:
        begun = table.snapshot(attempt)
        with begun.overwrite() if replaced else begun.fast_append() as snapshot:
            for task in replaced:
                snapshot.delete_data_file(task.file)
            for file in files.written:
                snapshot.append_data_file(file)

    try:
        table.commit(change, offsets)
    except Conflict:
        files.discard()
        raise


class _OldCells:
    """What rows keep of the table's rows that they replace.

    Args:
        keys: of the rows.
        rows: that are written.
        lacking: the columns that some rows keep, and for each row whether it does.
    """

    def __init__(self, keys: Keys, rows: pa.Table, lacking: Mapping[str, pa.Array]) -> None:
        self._keys = keys
        self._rows = rows
        self._lacking = lacking
        self._found: list[pa.Table] = []
        self._wanted = keys.of(rows.slice(0, 0))
        if lacking:
            self._wanted = keys.of(rows.filter(functools.reduce(pc.or_, lacking.values())))

    def look_in(self, replaced: pa.Table) -> None:
        """Note what is kept of rows of the table, of which some are replaced."""
        if len(self._wanted):
            mine = self._keys.within(replaced, self._wanted)
            columns = [mine.column(name).cast(self._rows.schema.field(name).type) for name in self._lacking]
            cells = self._keys.of(mine).cast(self._wanted.schema)
            for number, column in enumerate(columns):
                cells = cells.append_column(_cell(number), column)
            self._found.append(cells)

    def filled(self) -> pa.Table:
        """The rows, with what they keep. A row that the table did not have stays as it is."""
        if not self._found:
            return self._rows
        old = pa.concat_tables(self._found)
        numbered = old.select(self._keys.columns).append_column(_OLD, pa.array(range(len(old)), pa.int64()))
        last = numbered.group_by(self._keys.columns).aggregate([(_OLD, "max")])
        mine = self._keys.of(self._rows).cast(self._wanted.schema)
        mine = mine.append_column(_ROW, pa.array(range(len(mine)), pa.int64()))
        at = mine.join(last, self._keys.columns, join_type="left outer").sort_by(_ROW).column(f"{_OLD}_max")
        rows = self._rows
        for number, (name, lacks) in enumerate(self._lacking.items()):
            there, own = old.column(_cell(number)), rows.column(name)
            both = pa.chunked_array([*there.chunks, *own.chunks], own.type)
            itself = pa.array(range(len(there), len(there) + len(own)), pa.int64())
            taken = pc.if_else(pc.and_(lacks, pc.is_valid(at)), at, itself)
            rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), both.take(taken))
        return rows


def _cell(number: int) -> str:
    return f"\0cell{number}"


def _rewrite(table: Table, keys: Keys, batch: pa.Table, files: DataFiles, old: _OldCells) -> list[FileScanTask]:
    """Write the files again that hold one of the keys, without the rows of those. Returns the old files."""
    there = table.there
    if there.snapshot_by_name(table.branch) is None:
        return []
    replaced = []
    for task in there.scan(keys.may_be_in(batch)).use_ref(table.branch).plan_files():
        if keys.without(_read(table, task, keys.columns), batch) is None:
            continue
        there_is = _read(table, task)
        old.look_in(there_is)
        kept = keys.without(there_is, batch)
        assert kept is not None
        files.write(kept)
        replaced.append(task)
    return replaced


def _read(table: Table, task: FileScanTask, columns: Sequence[str] = ()) -> pa.Table:
    """The rows of a file that are not deleted, with the table's current columns or some of them."""
    there = table.there
    schema = there.schema().select(*columns) if columns else there.schema()
    scan: Any = ArrowScan(there.metadata, there.io, schema, AlwaysTrue())
    return scan.to_table([task])
