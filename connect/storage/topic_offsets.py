"""Source offsets in a compacted topic, byte for byte as Java's workers keep them.

Two keys can spell the same source partition, with its entries in a different order: a Java task wrote one, a Python
task the other, and they are in different partitions of the topic. The newest counts, by the timestamp of its record. An
offset is stored under every known spelling, so that each reader finds it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from connect.errors import ConnectError
from connect.kafka.admin.topics import TopicShape
from connect.kafka.compacted_log import Clients, CompactedLog, LogRecord
from connect.storage.offsets import Offset, OffsetStore, OffsetStoreError, Partition, identity, key, to_json

log = logging.getLogger("connect.storage")

#: Longer than an abandoned transaction: Kafka aborts it after a minute.
_READ_S = 85.0
_WRITE_S = 30.0


class _Entry(NamedTuple):
    """The offset stored under one key."""

    partition: dict[str, Any]
    offset: dict[str, Any]
    timestamp: int


#: The entries of one source partition by their keys, in the order in which they were read.
_Spellings = dict[bytes, _Entry]


class TopicOffsetStore(OffsetStore):
    """Offsets of all connectors of a pool.

    `get` and `all` first read the topic to its end, so they see what any worker has stored before. The entries of one
    `set` are written one after another: when it raises, some of them may be stored. Tasks write to the topic as well.

    Args:
        topic: `offset.storage.topic`, or a connector's own `offsets.storage.topic`.
        clients: Java's client settings, see `CompactedLog`.
        shape: how the topic is created.
    """

    def __init__(self, topic: str, clients: Clients, shape: TopicShape) -> None:
        #: For each connector by the identity of a source partition.
        self._offsets: dict[str, dict[str, _Spellings]] = {}
        self._lock = threading.Lock()
        self._log = CompactedLog(topic, clients, shape, self._take)

    def start(self, timeout: float = 60) -> None:
        """Read everything. Raises `ConnectError`."""
        self._log.start(timeout)

    def get(self, connector: str, partitions: Sequence[Partition]) -> list[Offset | None]:
        self._catch_up()
        with self._lock:
            stored = self._offsets.get(connector, {})
            found = [stored.get(identity(partition)) for partition in partitions]
        return [dict(_newest(spellings).offset) if spellings else None for spellings in found]

    def set(self, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> None:
        values = [None if offset is None else to_json(offset).encode() for _, offset in entries]
        keys = self.spellings(connector, [partition for partition, _ in entries])
        records = [(spelling, value) for each, value in zip(keys, values, strict=True) for spelling in each]
        try:
            self._log.send(records, _WRITE_S)
        except ConnectError as error:
            raise OffsetStoreError(str(error)) from error

    def spellings(self, connector: str, partitions: Sequence[Partition]) -> list[list[bytes]]:
        """The keys under which to write the offset of each partition, so that every reader finds it.

        Raises:
            OffsetStoreError: the topic cannot be read.
            DataError: as in `set`.
        """
        written = [key(connector, partition) for partition in partitions]
        self._catch_up(open_too=False)  # for the spellings that other writers use
        with self._lock:
            stored = self._offsets.get(connector, {})
            known = [stored.get(identity(partition)) for partition in partitions]
        return [list(found) if found else [own] for found, own in zip(known, written, strict=True)]

    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        self._catch_up()
        with self._lock:
            found = [_newest(spellings) for spellings in self._offsets.get(connector, {}).values()]
        return [(dict(entry.partition), dict(entry.offset)) for entry in found]

    def close(self) -> None:
        self._log.close()

    def _catch_up(self, *, open_too: bool = True) -> None:
        # A task must see what its predecessor committed, even while another task's transaction is open: a consumer that
        # reads only committed records stops at the first open transaction of a partition.
        try:
            self._log.read_to_end(_READ_S, open_too=open_too)
        except ConnectError as error:
            raise OffsetStoreError(str(error)) from error

    def _take(self, record: LogRecord) -> None:
        try:
            connector, partition = json.loads(record.key or b"")
            offset = None if record.value is None else json.loads(record.value)
            if not (isinstance(connector, str) and isinstance(partition, dict) and isinstance(offset, dict | None)):
                raise TypeError("not a connector's name, its partition and an offset")
            name = identity(partition)
        except (ValueError, TypeError, RecursionError):
            log.warning(
                "Skipped record %d-%d of the offsets topic: it is not an offset", record.partition, record.offset
            )
            return
        assert record.key is not None
        with self._lock:
            stored = self._offsets.setdefault(connector, {})
            spellings = stored.setdefault(name, {})
            spellings.pop(record.key, None)
            if offset is not None:
                spellings[record.key] = _Entry(partition, offset, record.timestamp or 0)
            if not spellings:
                del stored[name]


def _newest(spellings: _Spellings) -> _Entry:
    # Of two with the same timestamp, the one that was read last.
    return max(reversed(spellings.values()), key=lambda entry: entry.timestamp)


class LayeredOffsetStore(OffsetStore):
    """A connector's own topic over another store: an offset in its own topic counts, the other store has the rest.

    A connector that is given `offsets.storage.topic` continues from its offsets in the shared topic. One that loses the
    key also continues from the shared topic, to which its offsets were written as well (KIP-618).

    Args:
        own: the connector's topic; closed with this store.
        shared: the store below; not closed.
    """

    def __init__(self, own: TopicOffsetStore, shared: OffsetStore) -> None:
        self.own = own
        self._shared = shared

    def get(self, connector: str, partitions: Sequence[Partition]) -> list[Offset | None]:
        below = self._shared.get(connector, partitions)
        above = self.own.get(connector, partitions)
        return [low if high is None else high for high, low in zip(above, below, strict=True)]

    def set(self, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> None:
        forgotten = [(partition, offset) for partition, offset in entries if offset is None]
        if forgotten:
            # Below first: once forgotten above, an offset must not be read from there.
            self._shared.set(connector, forgotten)
        self.own.set(connector, entries)
        kept = [(partition, offset) for partition, offset in entries if offset is not None]
        try:
            self._shared.set(connector, kept)
        except OffsetStoreError as error:
            log.warning("Offsets of %s were stored in its own topic, but not in the shared one: %s", connector, error)

    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        found = {identity(partition): (partition, offset) for partition, offset in self._shared.all(connector)}
        found |= {identity(partition): (partition, offset) for partition, offset in self.own.all(connector)}
        return list(found.values())

    def close(self) -> None:
        self.own.close()
