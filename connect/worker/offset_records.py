"""Source offsets as records of the offsets topic, which a task writes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.storage.offsets import identity, to_json

Entries = Sequence[tuple[dict[str, Any], dict[str, Any] | None]]

#: A source with more partitions than this is asked about them again now and then.
_MOST = 100_000


class OffsetRecords:
    """Makes keys and values, byte for byte as Java's workers write them.

    Args:
        ask: gives, for source partitions, the keys under which each is to be written: mostly one.
    """

    def __init__(self, ask: Callable[[Sequence[Mapping[str, Any]]], list[list[bytes]]]) -> None:
        self._ask = ask
        self._keys: dict[str, list[bytes]] = {}

    def of(self, entries: Entries) -> list[tuple[bytes, bytes | None]]:
        """The records that store these offsets. Asks the worker for what is new.

        Raises:
            ConnectError: it does not answer, or JSON cannot say what a partition or an offset holds.
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
