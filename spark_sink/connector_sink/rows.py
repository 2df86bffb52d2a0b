"""Turns the rows of a query's writing side into batches of records.

A raw row is a record as it lies in Kafka, see `RAW_COLUMNS`. The columns of a batch are decoded from Arrow when they
are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import lt
from typing import Any

from connect.data.batch import SinkBatch
from connect.data.column import Column, Constant, Deferred, Plain
from connect.data.values import Values
from connect.errors import ConnectError
from connect.pipeline import Chain, sink_chain
from connect.plugins import Plugins
from spark_sink.raw_rows import RAW_COLUMNS

#: The records of a pyarrow.RecordBatch, in order, in batches.
Batches = Callable[[Any], Iterator[SinkBatch]]


class Rows(ABC):
    """The form of the rows, and how they become records. Travels to the executors with the plan: a frozen dataclass."""

    @abstractmethod
    def check(self, columns: Sequence[str]) -> None:
        """Check the columns of the rows. Raises ConnectError."""

    @abstractmethod
    def chain(
        self,
        plugins: Plugins,
        worker: Mapping[str, str],
        connector: Mapping[str, str],
        pause: Callable[[float], None],
    ) -> Chain:
        """The converters and transformations for the batches. Arguments and errors as in `sink_chain`."""

    @abstractmethod
    def batches(self, number: int, most: int) -> Batches:
        """A maker of batches for one write.

        Args:
            number: of the Spark task.
            most: the most records of a batch.
        """


@dataclass(frozen=True)
class RawRows(Rows):
    """Rows of the columns `RAW_COLUMNS`."""

    def check(self, columns: Sequence[str]) -> None:
        if sorted(columns) != sorted(RAW_COLUMNS):
            raise ConnectError(
                f"A sink connector's rows on Spark have the columns {', '.join(RAW_COLUMNS)}, not {', '.join(columns)}."
            )

    def chain(
        self,
        plugins: Plugins,
        worker: Mapping[str, str],
        connector: Mapping[str, str],
        pause: Callable[[float], None],
    ) -> Chain:
        return sink_chain(plugins, worker, connector, pause)

    def batches(self, number: int, most: int) -> Batches:
        return lambda rows: batches(rows, most)


def batches(rows: Any, most: int) -> Iterator[SinkBatch]:
    """The records of a pyarrow.RecordBatch of raw rows, in order, in batches of bounded size."""
    for start in range(0, rows.num_rows, most):
        yield _batch(rows.slice(start, most))


def _batch(rows: Any) -> SinkBatch:
    n = rows.num_rows
    return SinkBatch(
        _often_constant(rows.column("topic")),
        Values.raw(rows.column("value").to_pylist()),
        partitions=_often_constant(rows.column("partition")),
        offsets=_deferred(rows.column("offset")),
        keys=Values.raw(_optional(rows.column("key"))),
        timestamps=_optional(rows.column("timestamp")),
        timestamp_types=_often_constant(rows.column("timestamp_type")),
        headers=_headers(rows.column("headers"), n),
    )


def _often_constant(items: Any) -> Column[Any]:
    import pyarrow.compute as pc

    first = items[0].as_py()
    if items.null_count == 0 and pc.all(pc.equal(items, items[0])).as_py():
        return Constant(first, len(items))
    return Plain(items.to_pylist())


def _optional(items: Any) -> Column[Any]:
    return Constant(None, len(items)) if items.null_count == len(items) else _deferred(items)


def _deferred(items: Any) -> Column[Any]:
    return Deferred(len(items), items.to_pylist, lambda row: items[row].as_py())


def _headers(items: Any, n: int) -> Column[Any]:
    """Headers as a consumer returns them: pairs of key and bytes; None for a record without headers."""
    if items.null_count == n:
        return Constant(None, n)

    def decode() -> list[Any]:
        import pyarrow.compute as pc

        keys, values = items.flatten().flatten()
        pairs = iter(zip(keys.to_pylist(), values.to_pylist(), strict=True))
        lengths = pc.list_value_length(items).to_pylist()
        return [None if length is None else list(islice(pairs, length)) for length in lengths]

    return Deferred(n, decode)


class Order:
    """Checks that the offsets of each topic partition ascend within one write.

    A query that shuffles rows would write an older record over a newer one.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], int] = {}

    def check(self, batch: SinkBatch) -> None:
        """Raises ConnectError for a row whose offset is not above those before it."""
        if batch.topics.constant and batch.partitions.constant:
            origin = (batch.topics[0], batch.partitions[0])
            offsets = batch.offsets.to_list()
            if offsets[0] <= self._last.get(origin, -1) or not _ascend(offsets):
                self._each(batch)  # finds the row, for the message
            self._last[origin] = offsets[-1]
        else:
            self._each(batch)

    def _each(self, batch: SinkBatch) -> None:
        for topic, partition, offset in zip(batch.topics, batch.partitions, batch.offsets, strict=True):
            last = self._last.get((topic, partition), -1)
            if offset <= last:
                raise ConnectError(
                    f"Records of {topic}-{partition} come out of order: offset {offset} after {last}. The query must"
                    " not shuffle its rows, and a partition is read by one Spark task."
                )
            self._last[topic, partition] = offset


def _ascend(offsets: list[int]) -> bool:
    return all(map(lt, offsets, islice(offsets, 1, None)))
