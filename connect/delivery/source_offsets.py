"""Source offsets: where reading continues after a batch, and their records in the offsets topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.data.batch import SourceBatch
from connect.data.column import Dictionary
from connect.storage.offsets import identity, to_json

Entries = Sequence[tuple[dict[str, Any], dict[str, Any] | None]]

#: For each source partition, by its canonical JSON, the partition and the offset after its last record.
Positions = dict[str, tuple[dict[str, Any], dict[str, Any] | None]]

#: A source with more partitions than this is asked about them again now and then.
_MOST = 100_000


def positions(batch: SourceBatch) -> Positions:
    """Where reading continues after a batch, which has at least one row."""
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


class OffsetRecords:
    """Makes keys and values, byte for byte as Java's workers write them.

    Args:
        ask: returns, for source partitions, the keys under which each is written: mostly one.
    """

    def __init__(self, ask: Callable[[Sequence[Mapping[str, Any]]], list[list[bytes]]]) -> None:
        self._ask = ask
        self._keys: dict[str, list[bytes]] = {}

    def of(self, entries: Entries) -> list[tuple[bytes, bytes | None]]:
        """The records that store these offsets. Asks the worker about new partitions.

        Raises:
            ConnectError: it does not answer, or a partition or an offset cannot be JSON.
        """
        names = [identity(partition) for partition, _ in entries]
        new = {name: entry[0] for name, entry in zip(names, entries, strict=True) if name not in self._keys}
        if new:
            if len(self._keys) > _MOST:
                self._keys.clear()
                return self.of(entries)
            self._keys.update(zip(new, self._ask(list(new.values())), strict=True))
        values = [None if offset is None else to_json(offset).encode() for _, offset in entries]
        return [(key, value) for name, value in zip(names, values, strict=True) for key in self._keys[name]]


def _identity(partition: Mapping[str, Any]) -> Any:
    try:
        return frozenset(partition.items())
    except TypeError:  # nested values
        return _canonical(partition)


def _canonical(partition: Mapping[str, Any]) -> str:
    return json.dumps(partition, sort_keys=True, default=str)
