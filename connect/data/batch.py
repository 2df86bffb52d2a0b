"""Batch: the records of one poll, held as columns. The unit of the data plane.

A batch is a sequence of records: iterate, and `SinkRecord` or `SourceRecord` objects are made on demand. Or use
columns: `batch.values`, `batch.topics`, `batch.by_topic()`. Batches are immutable; `with_columns` and `take` return new
ones that share what did not change.
"""

from __future__ import annotations

import builtins
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import is_
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from connect.data.column import Column, Constant, Deferred, Plain, column, concat, interleave
from connect.data.grouping import concat_values, interleave_values
from connect.data.headers import NO_HEADERS, Headers
from connect.data.record import Origin, Record, SinkRecord, SourceRecord, TopicPartition
from connect.data.values import Values

R = TypeVar("R", bound=Record)


class Batch(Sequence[R], Generic[R]):
    """Records of one poll, in order, across topics and partitions.

    Attributes:
        topics: str, one a row.
        partitions: int of the topic; None in a source batch leaves it to the partitioner.
        keys, values: `Values`, with their schemas.
        timestamps: milliseconds since the epoch, or None.
        headers: `Headers`.
        rows: the row of each record in the batch that was polled or consumed (`SinkBatch.consumed`), whatever was
            dropped, split or merged since.
    """

    __slots__ = ("_length", "_records", "headers", "keys", "partitions", "rows", "timestamps", "topics", "values")

    COLUMNS: ClassVar[tuple[str, ...]] = ("topics", "partitions", "keys", "values", "timestamps", "headers", "rows")

    def __init__(
        self,
        topics: Column[str] | Sequence[str] | str,
        values: Values,
        *,
        keys: Values | None = None,
        partitions: Column[Any] | Sequence[Any] | int | None = None,
        timestamps: Column[int | None] | Sequence[int | None] | None = None,
        headers: Column[Headers] | Sequence[Headers] | None = None,
    ) -> None:
        n = len(values)
        self._length = n
        self._records: list[R] | None = None
        self.values = values
        self.topics: Column[str] = Constant(topics, n) if isinstance(topics, str) else column(topics)
        self.partitions: Column[Any] = (
            Constant(partitions, n) if partitions is None or isinstance(partitions, int) else column(partitions)
        )
        self.keys = Values.nulls(n) if keys is None else keys
        self.timestamps: Column[int | None] = Constant(None, n) if timestamps is None else column(timestamps)
        self.headers: Column[Headers] = Constant(NO_HEADERS, n) if headers is None else column(headers)
        self.rows: Column[int] = Deferred(n, lambda: list(range(n)), lambda row: row)

    # As a sequence of records.

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[R]:
        return iter(self.records())

    @overload
    def __getitem__(self, row: int) -> R: ...
    @overload
    def __getitem__(self, row: builtins.slice) -> Self: ...
    def __getitem__(self, row: int | builtins.slice) -> R | Self:
        if isinstance(row, builtins.slice):
            start, stop, step = row.indices(self._length)
            return self.slice(start, max(start, stop)) if step == 1 else self.take(range(start, stop, step))
        return self.records()[row]

    def records(self) -> list[R]:
        """All records as objects. Made once; do not change the list."""
        if self._records is None:
            self._records = self._make_records()
        return self._records

    def _make_records(self) -> list[R]:
        raise NotImplementedError

    # As columns.

    def with_columns(self, **columns: Any) -> Self:
        """The same rows with these columns in place of theirs, each of the same length."""
        copy = self._copy()
        for name, new in columns.items():
            if name not in self.COLUMNS:
                raise TypeError(f"A {type(self).__name__} has no column {name}.")
            if len(new) != self._length:
                raise ValueError(f"Column {name} has {len(new)} rows, the batch {self._length}.")
            setattr(copy, name, new)
        return copy

    def take(self, rows: Sequence[int]) -> Self:
        """The batch of these rows, in this order."""
        copy = self._copy()
        copy._length = len(rows)
        for name in self.COLUMNS:
            setattr(copy, name, getattr(self, name).take(rows))
        return copy

    def slice(self, start: int, stop: int) -> Self:
        """The batch of the rows from `start` up to, not including, `stop`."""
        if start == 0 and stop == self._length:
            return self
        copy = self._copy()
        copy._length = stop - start
        for name in self.COLUMNS:
            setattr(copy, name, getattr(self, name).between(start, stop))
        return copy

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """The rows of several batches of one kind, one after another. At least one part."""
        if len(parts) == 1:
            return parts[0]
        joined = parts[0]._copy()
        joined._length = sum(map(len, parts))
        for name in cls.COLUMNS:
            columns = [getattr(part, name) for part in parts]
            setattr(joined, name, concat_values(columns) if name in ("keys", "values") else concat(columns))
        return joined

    @classmethod
    def interleave(cls, parts: Sequence[tuple[Sequence[int], Self]]) -> Self:
        """The rows of several batches of one kind, each at a given position.

        Args:
            parts: ascending positions and as many rows. Every position from 0 on occurs once. At least one part.
        """
        if len(parts) == 1:
            return parts[0][1]
        whole = parts[0][1]._copy()
        whole._length = sum(len(part) for _, part in parts)
        for name in cls.COLUMNS:
            columns = [(places, getattr(part, name)) for places, part in parts]
            setattr(whole, name, (interleave_values if name in ("keys", "values") else interleave)(columns))
        return whole

    def by_topic(self) -> dict[str, Self]:
        """For each topic, in order of first appearance, the batch of its records."""
        return {
            topic: self if len(places) == self._length else self.take(places)
            for topic, places in self.places_by_topic().items()
        }

    def places_by_topic(self) -> dict[str, Sequence[int]]:
        """For each topic, in order of first appearance, where its records are in this batch."""
        if self.topics.constant:
            return {self.topics[0]: range(self._length)} if self._length else {}
        places: dict[str, list[int]] = {}
        for place, topic in enumerate(self.topics):
            places.setdefault(topic, []).append(place)
        return dict(places)

    def with_records(self, records: Sequence[R | None]) -> Self:
        """The batch after a record-by-record step: one entry for each row, None where it dropped the row.

        Where the batch came from (consumed offsets, source offsets) stays with the row, whatever the records say.
        """
        if all(map(is_, records, self.records())):
            return self
        kept = [row for row, record in enumerate(records) if record is not None]
        batch = self if len(kept) == self._length else self.take(kept)
        changed: list[R] = [record for record in records if record is not None]
        try:
            return batch.with_columns(
                topics=Plain([r.topic for r in changed]),
                partitions=Plain([r.partition for r in changed]),
                keys=_values([r.key for r in changed], [r.key_schema for r in changed]),
                values=_values([r.value for r in changed], [r.value_schema for r in changed]),
                timestamps=Plain([r.timestamp for r in changed]),
                headers=Plain([r.headers for r in changed]),
            )
        except AttributeError as error:
            _refuse_others(changed, Record, "A step returns a record, or None to drop it", error)
            raise

    def _copy(self) -> Self:
        copy = object.__new__(type(self))
        copy._length = self._length
        copy._records = None
        for name in self.COLUMNS:
            setattr(copy, name, getattr(self, name))
        return copy

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._length} records)"


class SinkBatch(Batch[SinkRecord]):
    """Records that were consumed from topics.

    Attributes:
        offsets: of each record in its partition.
        timestamp_types: "CreateTime" or "LogAppendTime".
        original_topics, original_partitions: where the records were consumed, even if transformations have changed
            `topics` and `partitions` since (KIP-793). Errors, dead letters and commits use these.
    """

    __slots__ = ("_consumed", "offsets", "original_partitions", "original_topics", "timestamp_types")

    COLUMNS = (*Batch.COLUMNS, "offsets", "timestamp_types", "original_topics", "original_partitions")

    def __init__(
        self,
        topics: Column[str] | Sequence[str] | str,
        values: Values,
        *,
        offsets: Column[int] | Sequence[int],
        partitions: Column[int] | Sequence[int] | int = 0,
        timestamp_types: Column[str] | None = None,
        **columns: Any,
    ) -> None:
        super().__init__(topics, values, partitions=partitions, **columns)
        self.offsets: Column[int] = column(offsets)
        self.timestamp_types: Column[str] = timestamp_types or Constant("CreateTime", len(values))
        self.original_topics = self.topics
        self.original_partitions = self.partitions
        self._consumed: SinkBatch | None = None  # None for itself: a circle would wait for the garbage collector

    @property
    def consumed(self) -> SinkBatch:
        """The batch as it was consumed: the way back to the raw keys, values and headers."""
        return self if self._consumed is None else self._consumed

    @classmethod
    def of(cls, records: Iterable[SinkRecord]) -> SinkBatch:
        """A batch of these records."""
        rows = list(records)
        batch = cls(
            [r.topic for r in rows],
            _values([r.value for r in rows], [r.value_schema for r in rows]),
            offsets=[r.offset for r in rows],
            partitions=[r.partition for r in rows],
            keys=_values([r.key for r in rows], [r.key_schema for r in rows]),
            timestamps=[r.timestamp for r in rows],
            headers=[r.headers for r in rows],
            timestamp_types=Plain([r.timestamp_type for r in rows]),
        )
        batch.original_topics = Plain([r.original_topic for r in rows])
        batch.original_partitions = Plain([r.original_partition for r in rows])
        return batch

    def _make_records(self) -> list[SinkRecord]:
        moved = not (_alike(self.topics, self.original_topics) and _alike(self.partitions, self.original_partitions))
        origins: Iterable[Origin | None] = (
            map(Origin, self.original_topics, self.original_partitions, self.offsets)
            if moved
            else Constant(None, self._length)
        )
        return list(
            map(
                SinkRecord,
                self.topics,
                self.values,
                self.values.schemas,
                self.keys,
                self.keys.schemas,
                self.partitions,
                self.offsets,
                self.timestamps,
                self.timestamp_types,
                self.headers,
                origins,
            )
        )

    def _copy(self) -> Self:
        copy = super()._copy()
        copy._consumed = self.consumed
        return copy

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        joined = super().concat(parts)
        sources = list({id(part.consumed): part.consumed for part in parts}.values())
        if len(sources) > 1:
            starts = dict(zip(map(id, sources), accumulate(map(len, sources), initial=0), strict=False))
            joined.rows = Plain([row + starts[id(part.consumed)] for part in parts for row in part.rows])
            whole = len(sources) == len(parts) and all(map(is_, parts, sources))
            joined._consumed = None if whole else SinkBatch.concat(sources)
        return joined

    def without(self, partitions: Container[TopicPartition]) -> SinkBatch:
        """The batch without the records that were consumed from these partitions; itself if it has none of them."""
        origins = zip(self.original_topics, self.original_partitions, strict=True)
        kept = [row for row, origin in enumerate(origins) if origin not in partitions]
        return self if len(kept) == self._length else self.take(kept)

    def first_offsets(self) -> dict[TopicPartition, int]:
        """For each partition the records were consumed from, the offset of its first record."""
        if not self._length:
            return {}
        if self.original_topics.constant and self.original_partitions.constant:
            return {TopicPartition(self.original_topics[0], self.original_partitions[0]): self.offsets[0]}
        found: dict[TopicPartition, int] = {}
        for topic, partition, offset in zip(self.original_topics, self.original_partitions, self.offsets, strict=True):
            found.setdefault(TopicPartition(topic, partition), offset)
        return found

    def next_offsets(self) -> dict[TopicPartition, int]:
        """For each partition the records were consumed from, the offset after its last record."""
        if not self._length:
            return {}
        if self.original_topics.constant and self.original_partitions.constant:
            return {TopicPartition(self.original_topics[0], self.original_partitions[0]): self.offsets[-1] + 1}
        # Offsets ascend within a partition: the last one that a place is given is its highest.
        places = zip(self.original_topics, self.original_partitions, strict=True)
        return {
            TopicPartition(*place): last + 1 for place, last in dict(zip(places, self.offsets, strict=True)).items()
        }


class SourceBatch(Batch[SourceRecord]):
    """Records that a source task read.

    Attributes:
        source_partitions: the part of the source that each record comes from.
        source_offsets: where in that part reading continues after the record.
    """

    __slots__ = ("source_offsets", "source_partitions")

    COLUMNS = (*Batch.COLUMNS, "source_partitions", "source_offsets")

    def __init__(
        self,
        topics: Column[str] | Sequence[str] | str,
        values: Values,
        *,
        source_partitions: Column[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        source_offsets: Column[Mapping[str, Any]] | Sequence[Mapping[str, Any]] | None = None,
        **columns: Any,
    ) -> None:
        super().__init__(topics, values, **columns)
        n = len(values)
        self.source_partitions: Column[Mapping[str, Any]] = (
            source_partitions if isinstance(source_partitions, Column) else Constant(source_partitions or {}, n)
        )
        self.source_offsets: Column[Mapping[str, Any]] = (
            Constant({}, n) if source_offsets is None else column(source_offsets)
        )

    @classmethod
    def of(cls, records: Iterable[SourceRecord]) -> SourceBatch:
        """A batch of these records. Raises TypeError: one is something else, or has no text as its topic."""
        if isinstance(records, SourceRecord):
            raise TypeError("This is one SourceRecord, where a list of them is wanted.")
        rows = list(records)
        try:
            topics = [r.topic for r in rows]
            batch = cls(
                topics,
                _values([r.value for r in rows], [r.value_schema for r in rows]),
                keys=_values([r.key for r in rows], [r.key_schema for r in rows]),
                partitions=[r.partition for r in rows],
                timestamps=[r.timestamp for r in rows],
                headers=[r.headers for r in rows],
                # None is no part of the source, as in Kafka Connect.
                source_partitions=Plain([r.source_partition or {} for r in rows]),
                source_offsets=[r.source_offset or {} for r in rows],
            )
        except AttributeError as error:
            _refuse_others(rows, SourceRecord, "A source returns a list of SourceRecord", error)
            raise
        for topic in set(topics):
            if not isinstance(topic, str):
                raise TypeError(f"The topic of a SourceRecord is a {type(topic).__name__}, not the name of a topic.")
        batch._records = rows  # the very ones that the task made
        return batch

    def _make_records(self) -> list[SourceRecord]:
        return list(
            map(
                SourceRecord,
                self.topics,
                self.values,
                self.values.schemas,
                self.keys,
                self.keys.schemas,
                self.source_partitions,
                self.source_offsets,
                self.partitions,
                self.timestamps,
                self.headers,
            )
        )


def _alike(one: Column[Any], other: Column[Any]) -> bool:
    return one is other or (one[0] == other[0] if one.constant and other.constant and len(one) else one == other)


def _values(items: list[Any], schemas: list[Any]) -> Values:
    first = schemas[0] if schemas else None
    return Values(items, first if all(schema is first for schema in schemas) else Plain(schemas))


def _refuse_others(rows: Iterable[Any], wanted: Any, rule: str, error: Exception) -> None:
    """Raise TypeError for the first of these that is none of the wanted: what a plug-in made, in place of a record."""
    for row in rows:
        if not isinstance(row, wanted):
            raise TypeError(f"{rule}; here is a {type(row).__name__}.") from error
