"""Merges rows into a table by their key: files that hold their keys are written again, without those rows.

All in one snapshot: a reader sees the table before or after it. pyiceberg's own upsert makes up to three, compares the
rows in expressions with a term for each, and knows no deletions.
"""

from __future__ import annotations

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

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask

    from spark_sink.iceberg.transaction import Attempt

#: How many values of a key's column are looked up in the statistics of files; of more, the smallest and the largest.
_MOST_VALUES: Final = 200
_ROW: Final = "\0row"


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
        mine = self.of(rows).cast(keys.schema).append_column(_ROW, pa.array(range(len(rows)), pa.int64()))
        others = mine.join(keys, self.columns, join_type="left anti").column(_ROW)
        return None if len(others) == len(rows) else rows.take(others.take(pc.sort_indices(others)))


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
    properties: Mapping[str, str],
    offsets: Mapping[TopicPartition, int],
) -> None:
    """Replace the rows of keys by the newest ones; a deletion removes its key's row.

    Args:
        table: to write to.
        rows: with all columns of the table.
        origins: where they come from, see `spark_sink.rows.waiting.Part`.
        keys: of the rows.
        properties: for what is written.
        offsets: committed with the rows.

    Raises:
        As `Table.commit`.
    """
    in_order = pc.sort_indices(origins, [(name, "ascending") for name in ("topic", "partition", "offset")])
    rows, origins = rows.take(in_order), origins.take(in_order)
    chosen = Batch(keys.of(rows), origins, keys.columns).newest().rows
    newest, deleted = rows.take(chosen), origins.column("deleted").take(chosen)
    files = DataFiles(table.there, properties)
    try:
        replaced = _rewrite(table, keys, keys.of(newest), files)
        files.write(newest.filter(pc.invert(deleted)))
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


def _rewrite(table: Table, keys: Keys, batch: pa.Table, files: DataFiles) -> list[FileScanTask]:
    """Write the files again that hold one of the keys, without the rows of those. Returns the old files."""
    there = table.there
    if there.snapshot_by_name(table.branch) is None:
        return []
    replaced = []
    for task in there.scan(keys.may_be_in(batch)).use_ref(table.branch).plan_files():
        if keys.without(_read(table, task, keys.columns), batch) is None:
            continue
        kept = keys.without(_read(table, task), batch)
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
