"""Where reading goes on after a batch, for each source partition in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from connect.data.batch import SourceBatch
from connect.data.column import Dictionary

#: For each source partition, by its canonical JSON, the partition and the offset after its last record.
Positions = dict[str, tuple[dict[str, Any], dict[str, Any] | None]]


def positions(batch: SourceBatch) -> Positions:
    """Where reading goes on after a batch, which has one row at least."""
    if batch.source_partitions.constant:
        one = dict(batch.source_partitions[0])
        return {_canonical(one): (one, dict(batch.source_offsets[-1]))}
    if isinstance(batch.source_partitions, Dictionary):
        ends = dict(zip(batch.source_partitions.codes, range(len(batch)), strict=True))
        places = batch.source_partitions.distinct
        return {
            _canonical(places[code]): (dict(places[code]), dict(batch.source_offsets[at])) for code, at in ends.items()
        }
    last: dict[Any, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    for partition, offset in zip(batch.source_partitions, batch.source_offsets, strict=True):
        last[_identity(partition)] = (partition, offset)
    return {_canonical(p): (dict(p), dict(offset)) for p, offset in last.values()}


def _identity(partition: Mapping[str, Any]) -> Any:
    try:
        return frozenset(partition.items())
    except TypeError:  # nested values
        return _canonical(partition)


def _canonical(partition: Mapping[str, Any]) -> str:
    return json.dumps(partition, sort_keys=True, default=str)
