"""Rows that wait to be written, each with its partition and offset in Kafka. Loads pyarrow: for tasks only."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.batch import SinkBatch
from connect.data.column import Column, Constant
from connect.data.record import TopicPartition
from connect.data.values import Values


class Part(NamedTuple):
    """Rows of one batch.

    Attributes:
        rows: with the table's columns at the time they were made.
        origins: for each row `topic` (its number), `partition`, `offset`, `timestamp` (milliseconds; null unless it
            is asked for), `deleted`: whether it stands for the deletion of its key's row, and `columns`: those that its
            record has (their number in `Waiting.columns`; null unless it is said).
    """

    rows: pa.RecordBatch
    origins: pa.RecordBatch

    def keep(self, mask: pa.BooleanArray) -> Part:
        """The rows where the mask is true."""
        return Part(self.rows.filter(mask), self.origins.filter(mask))


class Waiting:
    """Waiting rows, in the order in which they came.

    Attributes:
        records: their number.
        bytes: their size in memory.
    """

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._topics: dict[str, int] = {}
        self._columns: dict[frozenset[str] | None, int] = {}
        self.records = 0
        self.bytes = 0

    def part(
        self,
        rows: pa.StructArray,
        batch: SinkBatch,
        kept: Sequence[int],
        columns: Sequence[tuple[Sequence[int], frozenset[str] | None]] = (),
        *,
        keyed: bool = False,
        gone: Container[int] = (),
    ) -> Part:
        """Rows of a batch, without the null ones.

        Args:
            rows: made of the records.
            batch: the records' batch.
            kept: the records' positions in the batch.
            columns: rows of the batch, and the columns that those records have; None for all.
            keyed: whether rows have keys: then timestamps matter, and a record without a value is a deletion.
            gone: further records that are deletions.
        """
        nulls = set(_nulls(batch.values)) if keyed else set()
        if rows.null_count:
            there = rows.is_valid()
            kept = [row for row, valid in zip(kept, there.to_pylist(), strict=True) if valid]
            rows = rows.filter(there)
        topics, partitions, offsets = batch.original_topics, batch.original_partitions, batch.offsets
        times = batch.timestamps
        if len(kept) < len(batch):
            topics, partitions, offsets = topics.take(kept), partitions.take(kept), offsets.take(kept)
            times = times.take(kept) if keyed else times
        origins = {
            "topic": self._numbers(topics),
            "partition": _integers(partitions, pa.int32()),
            "offset": _integers(offsets, pa.int64()),
            "timestamp": pa.nulls(len(kept), pa.int64()) if not keyed else pa.array(times.to_list(), pa.int64()),
            "deleted": pa.array([row in gone or row in nulls for row in kept], pa.bool_())
            if gone or nulls
            else _repeated(False, len(kept)),
            "columns": self._numbers_of_columns(columns, kept),
        }
        return Part(pa.RecordBatch.from_struct_array(rows), pa.RecordBatch.from_pydict(origins))

    @property
    def columns(self) -> list[frozenset[str] | None]:
        """By number, columns that records have; None for all."""
        return list(self._columns)

    def add(self, part: Part) -> None:
        """Add a part."""
        if len(part.rows):
            self._parts.append(part)
            self.records += len(part.rows)
            self.bytes += part.rows.nbytes + part.origins.nbytes

    def clear(self) -> None:
        """Remove all rows."""
        self._parts.clear()
        self.records = self.bytes = 0

    def spans(self) -> dict[TopicPartition, tuple[int, int]]:
        """For each partition the offsets of its first and last row."""
        if not self._parts:
            return {}
        origins = pa.Table.from_batches([part.origins for part in self._parts])
        found = origins.group_by(["topic", "partition"]).aggregate([("offset", "min"), ("offset", "max")])
        topics = list(self._topics)
        return {
            TopicPartition(topics[each["topic"]], each["partition"]): (each["offset_min"], each["offset_max"])
            for each in found.to_pylist()
        }

    def from_offsets(self, begin: Mapping[TopicPartition, int]) -> list[Part]:
        """The rows at or behind these offsets; all rows of partitions without an offset."""
        parts = self._parts
        for partition, offset in begin.items():
            parts = [part.keep(pc.invert(self._is_before(part, partition, offset))) for part in parts]
        return [part for part in parts if len(part.rows)]

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove the rows of these partitions."""
        parts = self.from_offsets(dict.fromkeys(partitions, 1 << 62))
        self.clear()
        for part in parts:
            self.add(part)

    def _is_before(self, part: Part, partition: TopicPartition, offset: int) -> pa.BooleanArray:
        topics, partitions, offsets = part.origins.columns[:3]
        here = pc.and_(
            pc.equal(topics, self._topics.get(partition.topic, -1)), pc.equal(partitions, partition.partition)
        )
        return pc.and_(here, pc.less(offsets, offset))

    def _numbers_of_columns(
        self, columns: Sequence[tuple[Sequence[int], frozenset[str] | None]], kept: Sequence[int]
    ) -> pa.Array:
        numbers = self._columns
        by_row = [(rows, numbers.setdefault(names, len(numbers))) for rows, names in columns]
        different = {number for _, number in by_row}
        if len(different) < 2:
            return _repeated(different.pop(), len(kept), pa.int32()) if different else pa.nulls(len(kept), pa.int32())
        number_of = {row: number for rows, number in by_row for row in rows}
        return pa.array([number_of[row] for row in kept], pa.int32())

    def _numbers(self, topics: Column[str]) -> pa.Array:
        numbers = self._topics
        if isinstance(topics, Constant) and len(topics):
            return _repeated(numbers.setdefault(topics[0], len(numbers)), len(topics), pa.int32())
        return pa.array([numbers.setdefault(topic, len(numbers)) for topic in topics], pa.int32())


def joined(parts: Sequence[Part], columns: pa.Schema) -> tuple[pa.Table, pa.Table]:
    """The rows of parts with a table's current columns, and their origins.

    Raises:
        pa.ArrowInvalid: another writer narrowed a column, and a value does not fit.
    """
    rows = [
        pa.RecordBatch.from_arrays([_column(part.rows, field) for field in columns], schema=columns) for part in parts
    ]
    return pa.Table.from_batches(rows, columns), pa.Table.from_batches([part.origins for part in parts])


def _column(rows: pa.RecordBatch, field: pa.Field) -> pa.Array:
    partition = rows.schema.get_field_index(field.name)
    if partition < 0:
        return pa.nulls(len(rows), field.type)
    column = rows.column(partition)
    return column if column.type == field.type else column.cast(field.type)


def _integers(column: Column[int], kind: pa.DataType) -> pa.Array:
    if isinstance(column, Constant) and len(column):
        return _repeated(column[0], len(column), kind)
    # Through Python's own array: Arrow looks at each item for null first.
    packed = array("i" if kind == pa.int32() else "q", column.to_list())
    return pa.Array.from_buffers(kind, len(packed), [None, pa.py_buffer(packed)])


def _repeated(value: bool | int, length: int, kind: pa.DataType | None = None) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), length)


def _nulls(values: Values) -> list[int]:
    """The rows that are null."""
    groups = [(rows, group) for rows, group in values.groups() if group.struct_columns is None]
    return [row for rows, group in groups for row, item in zip(rows, group.to_list(), strict=True) if item is None]
