"""Offsets in memory: for tests, and for connectors that need to remember nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from connect.storage.offsets import Offset, OffsetStore, Partition, identity, to_json

#: For each connector: by the identity of a partition, the partition and its offset.
Offsets = dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]]


class MemoryOffsetStore(OffsetStore):
    """Offsets that last as long as the process."""

    def __init__(self) -> None:
        self._offsets: Offsets = {}
        self._lock = threading.Lock()

    def get(self, connector: str, partitions: Sequence[Partition]) -> list[Offset | None]:
        with self._lock:
            stored = self._offsets.get(connector, {})
            found = [stored.get(identity(partition)) for partition in partitions]
        return [dict(entry[1]) if entry else None for entry in found]

    def set(self, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> None:
        with self._lock:
            changed = updated(self._offsets, connector, entries)
            self._save(changed)
            self._offsets = changed

    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        with self._lock:
            return [(dict(partition), dict(offset)) for partition, offset in self._offsets.get(connector, {}).values()]

    def close(self) -> None:
        pass

    def _save(self, offsets: Offsets) -> None:
        """Make them durable before they count."""


def updated(offsets: Offsets, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> Offsets:
    """The offsets with some of one connector's changed. Touches nothing that was there; raises DataError."""
    stored = dict(offsets.get(connector, {}))
    for partition, offset in entries:
        name = identity(partition)
        if offset is None:
            stored.pop(name, None)
        else:
            # What comes back is what any store gives back: plain JSON, shared with nobody.
            stored[name] = json.loads(to_json(partition)), json.loads(to_json(offset))
    changed = {**offsets, connector: stored}
    return {name: entries_of for name, entries_of in changed.items() if entries_of}
