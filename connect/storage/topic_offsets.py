"""Source offsets in a compacted topic, byte for byte as Java's workers keep them."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence

from connect.errors import ConnectError
from connect.kafka.compacted_log import CompactedLog, LogRecord
from connect.kafka.topics import TopicShape
from connect.storage.memory_offsets import Offsets
from connect.storage.offsets import Offset, OffsetStore, OffsetStoreError, Partition, identity, key, to_json

log = logging.getLogger("connect.storage")

_READ_S = 30.0
_WRITE_S = 30.0


class TopicOffsetStore(OffsetStore):
    """Offsets of all connectors of a cluster.

    `get` and `all` first read the topic to its end, so they see what any worker has stored before.

    Args:
        topic: `offset.storage.topic`.
        clients: Java's client settings of the worker.
        shape: of the topic.
    """

    def __init__(self, topic: str, clients: Mapping[str, str], shape: TopicShape) -> None:
        self._offsets: Offsets = {}
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
        return [dict(entry[1]) if entry else None for entry in found]

    def set(self, connector: str, entries: Sequence[tuple[Partition, Offset | None]]) -> None:
        records = [
            (key(connector, partition), None if offset is None else to_json(offset).encode())
            for partition, offset in entries
        ]
        try:
            self._log.send(records, _WRITE_S)
        except ConnectError as error:
            raise OffsetStoreError(str(error)) from error

    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        self._catch_up()
        with self._lock:
            return [(dict(partition), dict(offset)) for partition, offset in self._offsets.get(connector, {}).values()]

    def close(self) -> None:
        self._log.close()

    def _catch_up(self) -> None:
        try:
            self._log.read_to_end(_READ_S)
        except ConnectError as error:
            raise OffsetStoreError(str(error)) from error

    def _take(self, record: LogRecord) -> None:
        try:
            connector, partition = json.loads(record.key or b"")
            offset = None if record.value is None else json.loads(record.value)
        except (ValueError, TypeError):
            log.warning("Record %d-%d of the offsets topic cannot be read", record.partition, record.offset)
            return
        with self._lock:
            stored = self._offsets.setdefault(connector, {})
            name = identity(partition)
            if offset is None:
                stored.pop(name, None)
            else:
                stored[name] = (partition, offset)
