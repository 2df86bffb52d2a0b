"""Records of one or several objects as one batch, whose offsets are made when somebody asks for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from connect import SourceBatch, Text, schema
from connect.data import Constant, Deferred, Plain
from connect.data.column import Column
from connect.data.grouping import concat_values
from connectors.s3.source.opened import Part


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
