"""One table of a task: makes rows for it, keeps them, and writes them with their offsets in one commit."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from connect.data.batch import SinkBatch
from connect.data.evolution import Mismatch
from connect.data.record import TopicPartition
from connect.data.schema import Schema
from connect.data.unavailable import Placeholder
from connect.data.values import Values
from connect.errors import ConnectError, SchemaError
from spark_sink.iceberg.deletions import key_rows
from spark_sink.iceberg.evolution import changes
from spark_sink.iceberg.files import DataFiles, misfits, table_of
from spark_sink.iceberg.keys import IcebergOptions, TablePlan
from spark_sink.iceberg.problems import table_error
from spark_sink.iceberg.table import Table, pause
from spark_sink.iceberg.types import IcebergFormat, of_iceberg, to_iceberg
from spark_sink.iceberg.upsert import Keys, merge
from spark_sink.iceberg.values import converted
from spark_sink.rows.conflicts import OthersFirst, until_committed
from spark_sink.rows.pending import Pending, new_offsets, pending
from spark_sink.rows.shape import Fit, Shape, spelled_as
from spark_sink.rows.waiting import Part, Waiting

if TYPE_CHECKING:
    from pyiceberg.schema import Schema as IcebergSchema

    from spark_sink.iceberg.transaction import Attempt

log = logging.getLogger(__name__)

_NO_KEY: Final = "its key has not all of the id columns, so that nobody knows which row it deletes."


class Writer:
    """The writer of one table.

    Attributes:
        table: see `Table`.
        waiting: rows to write.
    """

    def __init__(self, table: Table, options: IcebergOptions, plan: TablePlan) -> None:
        self.table = table
        self.waiting = Waiting()
        self._options = options
        self._plan = plan
        self._format = IcebergFormat(ignores_case=options.ignores_case, optional=options.force_optional)
        self._shape = Shape(self._format, options.policy, None)
        self._columns: Schema | None = None
        self._look_again = True
        self._converts = False  # whether values were seen that are not of their column's type
        self._files: DataFiles | None = None
        self._placeholder = Placeholder(options.unavailable) if options.unavailable else None

    # Taking.

    def is_left_out(self) -> bool:
        """Whether the table does not exist, is not to be created, and was chosen by records: then they are left out."""
        self._look()
        return self._options.dynamic and not self.table.exists and not self._options.auto_create

    def prepare(self, batch: SinkBatch, gone: Container[int] = ()) -> tuple[list[Part], list[Mismatch]]:
        """Make rows of a batch, and find the records that do not fit. The caller adds the rows by `waiting.add`.

        Args:
            batch: records of the table.
            gone: those that are deletions although they have a value.

        Raises:
            RetriableError: the catalog, or the table's storage, does not answer.
            ConnectError: the table cannot be read, or does not exist and may not be created.
        """
        shape = self._current()
        fit = self._fit(shape, batch.values)
        kept, rows = fit.kept, fit.rows
        unfit = {each.row: each.reason for each in fit.mismatches}
        if refused := misfits(rows, self._wanted(shape)):
            unfit.update((kept[at], why) for at, why in refused.items())
            fine = [at for at in range(len(kept)) if at not in refused]
            kept, rows = [kept[at] for at in fine], rows.take(pa.array(fine, pa.int64()))
        if not self._options.keyed:
            part = self.waiting.part(rows, batch, kept)
            return [part], [Mismatch(row, why) for row, why in sorted(unfit.items())]
        keys = self._keys(rows.type)
        columns = self._sent(batch.values, rows.type)
        if keys is not None:
            kept, rows = keys.complete(kept, rows, unfit)
        there = rows.is_valid()
        deleted = [row for row, present in zip(kept, there.to_pylist(), strict=True) if not present]
        alive = [row for row, present in zip(kept, there.to_pylist(), strict=True) if present]
        parts = [self.waiting.part(rows.filter(there), batch, alive, columns, keyed=True, gone=gone)]
        if deleted and keys is not None:  # without columns there is no row to delete
            assert shape.schema is not None
            found, rows = key_rows(batch.keys.take(deleted), shape.schema, self._plan.id_columns)
            lost = set(range(len(deleted))) - set(found)
            unfit.update({deleted[at]: _NO_KEY for at in lost})
            mine = [deleted[at] for at in found]
            parts.append(self.waiting.part(rows, batch, mine, keyed=True, gone=frozenset(mine)))
        return parts, [Mismatch(row, why) for row, why in sorted(unfit.items())]

    def _sent(self, values: Values, columns: pa.StructType) -> list[tuple[Sequence[int], frozenset[str] | None]]:
        """Rows, and the columns that the database sent of them; None for all."""
        if self._placeholder is None:
            return []
        folded = str.casefold if self._options.ignores_case else str
        names = {folded(field.name): field.name for field in columns}
        found: list[tuple[Sequence[int], frozenset[str] | None]] = [(range(len(values)), None)]
        for lacking, rows in self._placeholder.rows_lacking(values).items():
            sent = names.keys() - set(map(folded, lacking))
            found.append((rows, frozenset(names[name] for name in sent)))
        return found

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the rows of partitions that the task no longer owns."""
        partitions = list(partitions)
        self.table.forget(partitions)
        self.waiting.forget(partitions)

    def _fit(self, shape: Shape, values: Values) -> Fit:
        if self._converts and shape.schema is not None:
            values = converted(values, shape.schema)
        fit = shape.fit(values)
        if not fit.mismatches or shape.schema is None or self._converts:
            return fit
        if self._options.ignores_case:
            values = spelled_as(shape.schema, values)
        again = shape.fit(converted(values, shape.schema))
        self._converts = len(again.mismatches) < len(fit.mismatches)
        return again

    def _keys(self, rows: pa.StructType) -> Keys | None:
        names = {field.name for field in rows}
        if not names:
            return None  # no record has had a value so far
        if missing := [name for name in self._plan.id_columns if name not in names]:
            raise ConnectError(f'Table {self.table.name} has no column "{missing[0]}", which the id columns name.')
        return Keys(self._plan.id_columns)

    # Writing.

    def flush(self, positions: Mapping[TopicPartition, int]) -> int:
        """Write the waiting rows with their offsets, without those that the table already has.

        Args:
            positions: the offset behind the last record of each partition, dropped records included.

        Returns:
            the number of rows written.

        Raises:
            RetriableError: it may work later; the rows still wait.
            FencedError: another task owns a partition.
            ConnectError: it cannot be written.
        """
        if not self.waiting.records:
            self._look_again = self._look_again or not self.table.exists
            return 0
        self._look_again = True  # a catalog may give credentials with a table, and they expire
        try:
            written = until_committed(self.table.name, lambda: self._write(positions), self._conflicted)
        except OthersFirst:
            self._look_again = True
            self._discard()
            raise
        except BaseException:
            self._look_again = True
            self._files = None  # whether the last commit was made is not known, so they are not deleted
            raise
        self.waiting.clear()
        self._files = None
        return written

    def _conflicted(self, tried: int) -> None:
        pause(tried)
        self._look_again = True

    def _write(self, positions: Mapping[TopicPartition, int]) -> int:
        shape = self._current()
        if not self.table.exists:
            self._create(shape)
        offsets = new_offsets(self.waiting, positions, all_of_them=self._options.one_table is not None)
        new = self._new(offsets)
        if not new.parts:
            self._discard()
            return 0
        if shape.schema != of_iceberg(self.table.schema):
            self._grow(shape)
        try:
            rows, origins = table_of(new.parts, self.table.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ConnectError(
                f"Table {self.table.name} was changed by another writer, and rows that wait do not fit it: {error}"
            ) from error
        if self._options.keyed:
            columns = self.waiting.columns if self._placeholder is not None else None
            keys = Keys(self._plan.id_columns)
            merge(self.table, rows, origins, keys, columns, self._options.write_props, new.offsets)
        else:
            self._append(rows, new.offsets)
        return len(rows)

    def _new(self, offsets: Mapping[TopicPartition, int]) -> Pending:
        """What the table does not have yet. Raises FencedError if another task has taken over a partition."""
        try:
            self.table.check_owned(offsets)
        except BaseException:
            self._discard()
            raise
        return pending(self.waiting, offsets, self.table.offset)

    def _append(self, rows: pa.Table, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit rows. Their files outlive a conflict."""
        held = self._files
        if held is not None and not (held.fit(self.table.there) and held.rows == len(rows)):
            self._discard()
            held = None
        if held is None:
            held = DataFiles(self.table.there, self._options.write_props)
            try:
                held.write(rows)
            except Exception as error:
                held.discard()
                raise table_error(error, self.table.name, "be written") from error
            self._files = held
        files = list(held.written)

        def add(attempt: Attempt) -> None:
            with self.table.snapshot(attempt).fast_append() as snapshot:
                for file in files:
                    snapshot.append_data_file(file)

        self.table.commit(add, offsets)

    def _discard(self) -> None:
        """Delete files that no commit names for certain."""
        if self._files is not None:
            self._files.discard()
            self._files = None

    # The table's columns.

    def _wanted(self, shape: Shape) -> IcebergSchema:
        """The columns that rows are made for."""
        if self.table.exists:
            return self.table.schema
        return to_iceberg(shape.schema or Schema.struct({}))

    def _look(self) -> None:
        if self._look_again:
            self.table.look()
            self._look_again = False

    def _current(self) -> Shape:
        """The table's columns as last seen, with those that the waiting rows will add."""
        self._look()
        if not self.table.exists:
            if not self._options.auto_create:
                self._look_again = True
                raise ConnectError(
                    f"Table {self.table.name} does not exist, and iceberg.tables.auto-create-enabled=false. Create it, "
                    "or write true."
                )
            return self._shape
        try:
            columns = of_iceberg(self.table.schema)
            if columns != self._columns:
                self._shape.found(columns)
        except SchemaError as error:
            raise ConnectError(f"Table {self.table.name}: {error}") from error
        self._columns = columns
        return self._shape

    def _create(self, shape: Shape) -> None:
        assert shape.schema is not None, "rows wait, so their columns are known"
        columns = to_iceberg(shape.schema, optional=self._options.force_optional)
        self.table.create(columns, self._plan.partition_by, self._options.create_props)
        self._current()

    def _grow(self, shape: Shape) -> None:
        """Change the table so that the waiting rows fit. That stays, whatever happens to the rows."""
        assert shape.schema is not None
        self.table.grow(changes(of_iceberg(self.table.schema), shape.schema))
        self._current()
