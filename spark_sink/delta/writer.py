"""One table of a task: makes rows for it, keeps them, and writes them with their offsets in one commit."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from connect.data.batch import SinkBatch
from connect.data.evolution import Mismatch
from connect.data.record import TopicPartition
from connect.data.schema import OPTIONAL_STRING, Schema
from connect.data.tables import schema_of_table, table_schema
from connect.data.values import Values
from connect.errors import ConnectError, SchemaError
from spark_sink.delta.changes import add_columns, allow_null, set_properties
from spark_sink.delta.columns import MoreColumns, metadata_types
from spark_sink.delta.limits import DeltaFormat
from spark_sink.delta.merge import Merge, upsert
from spark_sink.delta.modes import append, overwrite
from spark_sink.delta.own_columns import own_columns
from spark_sink.delta.soft import soft_upsert
from spark_sink.delta.table import Table
from spark_sink.delta.versions import merge_versions
from spark_sink.merge_keys import SOFT
from spark_sink.merge_rules import missing_sequence
from spark_sink.row_keys import OVERWRITE, UPSERT
from spark_sink.rows.complete import complete
from spark_sink.rows.conflicts import until_committed
from spark_sink.rows.fitting import Fitting
from spark_sink.rows.hints import Hints
from spark_sink.rows.pending import new_offsets, pending
from spark_sink.rows.shape import Shape, declared
from spark_sink.rows.waiting import Part, Waiting, joined
from spark_sink.table_rules import is_one_table
from spark_sink.table_settings import TableOptions


class Writer:
    """The writer of one table.

    Attributes:
        table: see `Table`.
        waiting: rows to write.
    """

    def __init__(self, table: Table, options: TableOptions) -> None:
        self.table = table
        self.waiting = Waiting()
        self._options = options
        self._more = MoreColumns(options)
        self._hints = Hints(options.hints)
        self._fitting = Fitting(self._hints, options.rescued)
        self._shape: Shape | None = None
        self._columns: pa.Schema | None = None
        self._look_again = True
        self._has_properties = False  # those of the configuration: the table has them, or had them
        self._keys: list[str] = []  # the columns that make the key, as the table spells them

    # Taking.

    def prepare(
        self, batch: SinkBatch, gone: Container[int] = (), unsent: Mapping[int, frozenset[str]] | None = None
    ) -> tuple[Part, list[Mismatch]]:
        """Make rows of a batch, and find the records that do not fit. The caller adds the rows by `waiting.add`.

        Args:
            batch: records of the table.
            gone: those that are deletions although they have a value.
            unsent: fields that records have in their schema only.

        Raises:
            RetriableError: the table's storage does not answer.
            ConnectError: the table cannot be read or created.
        """
        shape = self._current()
        values, problems = self._more.of(batch)
        fine: Sequence[int] = range(len(batch))
        if problems:
            fine = [row for row in fine if row not in problems]
            values = values.take(fine)
        fit = self._fitting.fit(shape, values)
        kept = [fine[row] for row in fit.kept] if problems else fit.kept
        columns = self._declared(values, fine, fit.rows.type, unsent or {}) if self._options.mode == UPSERT else []
        unfit = {**problems, **{fine[each.row]: each.reason for each in fit.mismatches}}
        rows = fit.rows
        keyed = self._options.mode == UPSERT
        if gone and not self._options.deletes:
            fine = [at for at, row in enumerate(kept) if row not in gone]
            kept, rows = [kept[at] for at in fine], rows.take(pa.array(fine, pa.int64()))
        if keyed and len(rows):
            kept, rows = self._with_keys(kept, rows, unfit)
        part = self.waiting.part(rows, batch, kept, columns, keyed=keyed, gone=gone)
        return part, [Mismatch(row, why) for row, why in sorted(unfit.items())]

    def _declared(
        self, values: Values, fine: Sequence[int], rows: pa.StructType, unsent: Mapping[int, frozenset[str]]
    ) -> list[tuple[Sequence[int], frozenset[str] | None]]:
        """The columns that records have, as the table spells them, with the records' rows in the batch."""
        spelled = {field.name.casefold(): field.name for field in rows}
        more = [] if self._options.rescued is None else [self._options.rescued]
        found: list[tuple[Sequence[int], frozenset[str] | None]] = []
        for at, names in declared(values):
            has = None if names is None else frozenset([*(spelled.get(name.casefold(), name) for name in names), *more])
            numbers = [fine[row] for row in at]
            for row in unsent.keys() & set(numbers) if unsent else ():
                lacks = {spelled.get(name.casefold(), name) for name in unsent[row]}
                found.append(([row], (frozenset(spelled.values()) if has is None else has) - lacks))
            found.append(([row for row in numbers if row not in unsent] if unsent else numbers, has))
        return found

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop the rows of partitions that the task no longer owns."""
        partitions = list(partitions)
        self.table.forget(partitions)
        self.waiting.forget(partitions)

    def _with_keys(
        self, kept: Sequence[int], rows: pa.StructArray, unfit: dict[int, str]
    ) -> tuple[Sequence[int], pa.StructArray]:
        """The rows whose key is complete."""
        spelled = {field.name.casefold(): field.name for field in rows.type}
        if missing := [name for name in self._more.pk if name.casefold() not in spelled]:
            raise ConnectError(
                f'Table {self.table.uri} has no column "{missing[0]}", which pk.fields makes part of the key.'
            )
        self._keys = [spelled[name.casefold()] for name in self._more.pk]
        wanted = dict.fromkeys(self._keys, "is part of its key")
        if self._options.ends is not None:
            sequence = self._options.sequence[0]
            if sequence.casefold() not in spelled:
                raise ConnectError(missing_sequence(self.table.uri, sequence))
            wanted[spelled[sequence.casefold()]] = "says when its version began"
        return complete(kept, rows, wanted, unfit, 'The column "{}" of pk.fields')

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
        try:
            written = until_committed(self.table.uri, lambda: self._write(positions), self._conflicted)
        except BaseException:
            self._look_again = True
            raise
        self.waiting.clear()
        return written

    def _conflicted(self, _: int) -> None:
        self._look_again = True

    def _write(self, positions: Mapping[TopicPartition, int]) -> int:
        one_table = is_one_table(self._options.table)
        if not self.waiting.records and not (one_table and positions):
            return 0
        shape = self._current()
        if not self.table.exists:
            if not self.waiting.records:
                return 0
            self._create(shape)
        offsets = new_offsets(self.waiting, positions, all_of_them=one_table)
        self.table.check_owned(offsets)
        offsets, parts = pending(self.waiting, offsets, self.table.offset)
        if not offsets:
            return 0
        spans = self.waiting.spans()
        self.table.expect_rows({p: max(first, self.table.offset(p) or 0) for p, (first, _) in spans.items()})
        if not parts:
            self.table.commit_offsets(offsets)
            return 0
        self._grow(shape, offsets)
        if self._options.properties and not self._has_properties:
            set_properties(self.table, self._options.properties, offsets)
            self._has_properties = True
        try:
            rows, partitions = joined(parts, self.table.columns)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ConnectError(
                f"Table {self.table.uri} was changed by another writer, and rows that wait do not fit it: {error}"
            ) from error
        if self._options.mode == UPSERT:
            columns = self.waiting.columns
            how = Merge(self._keys, self._options.sequence, self._options.merge_condition)
            if self._options.ends is not None:
                merge_versions(self.table, rows, partitions, how, columns, self._options.ends, offsets)
            elif self._options.delete_mode == SOFT and self._options.deletes:
                deleted = self._options.delete_column, self._options.delete_column_type == "timestamp"
                soft_upsert(self.table, rows, partitions, how, columns, deleted, offsets)
            else:
                upsert(self.table, rows, partitions, how, columns, offsets)
        elif self._options.mode == OVERWRITE:
            overwrite(self.table, rows, self._options.replace_where, offsets)
        else:
            append(self.table, rows, offsets)
        return len(rows)

    # The table's columns.

    def _current(self) -> Shape:
        """The table's columns as last seen, with those that the waiting rows will add."""
        if self._look_again:
            self.table.look()
            self._look_again = False
        if self._shape is None:
            told = {name.casefold(): kind for name, kind in metadata_types(self._options).items()}
            policy = self._options.policy
            if self._options.rescued is not None:  # unknown fields are rescued, too
                policy = replace(policy, ignore_unknown=False)
            self._shape = Shape(DeltaFormat(), policy, None, {**self._hints.types, **told})
            if not self.table.exists and not self._options.auto_create:
                self._look_again = True
                raise ConnectError(
                    f"Table {self.table.uri} does not exist, and auto.create=false. Create it, or set auto.create=true."
                )
        if self.table.exists and (columns := self.table.columns) != self._columns:
            try:
                self._shape.found(self._with_rescued(schema_of_table(columns)))
            except SchemaError as error:
                raise ConnectError(f"Table {self.table.uri}: {error}") from error
            self._columns = columns
        return self._shape

    def _with_rescued(self, schema: Schema) -> Schema:
        rescued = self._options.rescued
        if rescued is None or schema.field(rescued) is not None:
            return schema
        return Schema.struct({**{field.name: field.schema for field in schema.fields}, rescued: OPTIONAL_STRING})

    def _create(self, shape: Shape) -> None:
        assert shape.schema is not None, "rows wait, so their columns are known"
        columns = table_schema(shape.schema)
        columns = pa.schema([*columns, *self._own(columns)])
        if missing := [name for name in self._options.partition_by if name not in columns.names]:
            raise ConnectError(
                f'Table {self.table.uri} is to be partitioned by "{missing[0]}", and the first records have no such '
                f"field. They have {', '.join(columns.names)}."
            )
        self.table.create(columns, self._options.partition_by, self._options.properties)
        self._current()

    def _own(self, columns: pa.Schema) -> list[pa.Field]:
        """The columns that no record brings, as far as the table lacks them."""
        known = {name.casefold() for name in (self.table.columns if self.table.exists else columns).names}
        found = own_columns(self._options, self.table.uri, columns)
        return [field for field in found if field.name.casefold() not in known]

    def _grow(self, shape: Shape, offsets: Mapping[TopicPartition, int]) -> None:
        """Add the new columns of the waiting rows to the table. They stay, whatever happens to the rows."""
        assert shape.schema is not None
        own = self._own(table_schema(shape.schema))
        if own:
            add_columns(self.table, pa.schema(own), offsets)
        has = schema_of_table(self.table.columns)
        if has == shape.schema:
            return
        wanted = table_schema(shape.schema)
        new: list[pa.Field] = []
        for field in shape.schema.fields:
            known = has.field(field.name)
            if known is not None and not known.schema.optional and field.schema.optional:
                allow_null(self.table, field.name, offsets)
            if known is None or _inside(known.schema) != _inside(field.schema):
                new.append(wanted.field(field.name))
        if new:
            add_columns(self.table, pa.schema(new), offsets)
        self._columns = self.table.columns
        shape.found(self._with_rescued(schema_of_table(self._columns)))


def _inside(schema: Schema) -> Schema:
    return schema.as_optional()
