"""What a Spark task reads: a range of a partition's offsets, or only the list of a batch's ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from connect.data.record import TopicPartition

#: A range is not cut smaller.
_LEAST_ROWS: Final = 20_000


class Part(InputPartition):
    """A range of one partition's offsets, read by one Spark task."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(None)
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end


class Parts(InputPartition):
    """All ranges of a batch; one Spark task turns each into a row."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__(None)
        self._parts = list(parts)

    def rows(self) -> pa.RecordBatch:
        """The ranges in the columns of `spark_sink.raw_rows.RANGES_SCHEMA`."""
        parts = self._parts
        return pa.RecordBatch.from_pydict(
            {
                "topic": pa.array([part.topic for part in parts], pa.string()),
                "partition": pa.array([part.partition for part in parts], pa.int32()),
                "start": pa.array([part.start for part in parts], pa.int64()),
                "end": pa.array([part.end for part in parts], pa.int64()),
            }
        )


def cut_all(parts: Sequence[Part], most: int) -> list[Part]:
    """A batch's ranges in parts of about the same size, none small.

    Args:
        parts: the ranges.
        most: about how many parts are wanted, if none of them is small; 0 for the ranges as they are.
    """
    whole = sum(part.end - part.start for part in parts)
    if not most or not whole:
        return list(parts)
    size = max(_LEAST_ROWS, -(-whole // most))
    return [piece for part in parts for piece in cut(part, size)]


def begins_and_ends(parts: Sequence[Part]) -> Mapping[TopicPartition, tuple[int, int]]:
    """For each partition, the first offset of its ranges and the one after the last."""
    found: dict[TopicPartition, tuple[int, int]] = {}
    for part in parts:
        partition = TopicPartition(part.topic, part.partition)
        start, end = found.get(partition, (part.start, part.end))
        found[partition] = (min(start, part.start), max(end, part.end))
    return found


def cut(part: Part, size: int) -> Iterator[Part]:
    """A range in parts of about the same size, none smaller than this unless the range is."""
    pieces = max(1, (part.end - part.start) // size)
    step = -(-(part.end - part.start) // pieces)
    for start in range(part.start, part.end, step):
        yield Part(part.topic, part.partition, start, min(part.end, start + step))
