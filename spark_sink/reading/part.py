"""A part of what a batch reads: for one Spark task."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.datasource import InputPartition


class Part(InputPartition):
    """A range of one partition's offsets, read by one Spark task."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(None)
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end


def cut(part: Part, size: int) -> Iterator[Part]:
    """A range in pieces of about the same size, none smaller than this unless the range is."""
    pieces = max(1, (part.end - part.start) // size)
    step = -(-(part.end - part.start) // pieces)
    for start in range(part.start, part.end, step):
        yield Part(part.topic, part.partition, start, min(part.end, start + step))
