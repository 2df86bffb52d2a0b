"""One object while it is read: its chunks, and which one is the last; and chunks of several objects as one batch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from connect import SourceBatch, Text, schema
from connect.data import Constant, Deferred, Plain
from connect.data.column import Column
from connect.data.grouping import concat_values
from connectors.objects.formats.read import ReadOptions, read
from connectors.objects.formats.reading import Chunk, Chunks, OnBad
from connectors.s3.source.body import Body
from connectors.s3.source.walk import Next


class Part(NamedTuple):
    """Some records of an object.

    Attributes:
        last: whether no more follow.
        begun: the offset within the object, without the record.
        after: the offset after the last record of the last part.
    """

    chosen: Next
    chunk: Chunk
    last: bool
    begun: Mapping[str, Any] = {}
    after: Mapping[str, Any] = {}


class OpenObject:
    """Reads one object from a record on, one chunk ahead: the offset of the last record says that it is done.

    Args:
        chosen: the object, and how many of its records were read.
        body: its bytes.
        options: how to read it.
        on_bad: called with records that cannot be read.

    Attributes:
        position: how many records were returned, including those before the first.
        ended: whether all were returned.
    """

    def __init__(self, chosen: Next, body: Body, options: ReadOptions, on_bad: Callable[[Next], OnBad]) -> None:
        self.chosen = chosen
        self.position = chosen.record
        self.ended = False
        self._body = body
        self._chunks: Chunks = self._begin(options, on_bad(chosen))
        self._ahead: Chunk | None = None
        self._error: Exception | None = None

    def next(self) -> Part | None:
        """The next records; None if none are left.

        Raises:
            DataError: the object cannot be read any further. What was returned is good.
            RetriableError, Gone, Changed: as `Body.read`.
        """
        if self._error is not None:
            raise self._error
        chunk = self._ahead if self._ahead is not None else self._read()
        if chunk is None:
            self.ended = True
            return None
        try:
            self._ahead = self._read()
        except Exception as error:
            self._ahead, self._error = None, error  # for the next call: the current chunk is good
            self.position = chunk.ends[-1]
            return Part(self.chosen, chunk, last=False)
        self.position = chunk.ends[-1]
        self.ended = self._ahead is None
        return Part(self.chosen, chunk, self.ended)

    def close(self) -> None:
        """Close the object's body."""
        self._body.close()

    def _begin(self, options: ReadOptions, on_bad: OnBad) -> Chunks:
        """A generator, so that nothing is requested before the first chunk is needed."""
        yield from read(self._body, options, self.chosen.record, on_bad)

    def _read(self) -> Chunk | None:
        for chunk in self._chunks:
            if len(chunk.ends):
                return chunk
        return None


def batch_of(parts: Sequence[Part], *, key_is_object: bool) -> SourceBatch:
    """One batch of all records; at least one part."""
    lengths = [len(part.chunk.ends) for part in parts]
    places = [part.chosen.place for part in parts]
    return SourceBatch(
        _each([place.topic for place in places], lengths),
        concat_values([part.chunk.values for part in parts]),
        keys=_keys(parts, lengths) if key_is_object else None,
        partitions=_each([place.partition for place in places], lengths),
        source_partitions=_each([part.chosen.lane.partition for part in parts], lengths),
        source_offsets=_offsets(parts, lengths),
    )


def _each(values: list[Any], lengths: list[int]) -> Column[Any]:
    """A value for all records of each part."""
    if all(value == values[0] for value in values):
        return Constant(values[0], sum(lengths))
    return Plain([value for value, length in zip(values, lengths, strict=True) for _ in range(length)])


def _keys(parts: Sequence[Part], lengths: list[int]) -> Text:
    names = [part.chosen.found.key.encode("utf-8", "replace") for part in parts]
    return Text([n for n, length in zip(names, lengths, strict=True) for _ in range(length)], schema.STRING)


def _offsets(parts: Sequence[Part], lengths: list[int]) -> Column[Mapping[str, Any]]:
    ends = list(accumulate(lengths))
    starts = [0, *ends[:-1]]

    def offset_at(row: int) -> Mapping[str, Any]:
        number = bisect_right(ends, row)
        part, place = parts[number], row - starts[number]
        if part.last and place == lengths[number] - 1:
            return part.after
        return {**part.begun, "record": part.chunk.ends[place]}

    return Deferred(ends[-1], lambda: list(map(offset_at, range(ends[-1]))), offset_at)
