"""Source offsets in a connector's own topic, over those in the topic that all connectors of the cluster share.

A connector that gets `offsets.storage.topic` goes on from what the shared topic has of it; one that loses the key goes
on from what was written to the shared topic besides (KIP-618).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from connect.storage.offsets import Offset, OffsetStore, OffsetStoreError, Partition, identity
from connect.storage.topic_offsets import TopicOffsetStore

log = logging.getLogger("connect.storage")


class LayeredOffsetStore(OffsetStore):
    """One store over another: what the first knows counts, the second answers for the rest.

    Args:
        own: the connector's topic; closed with this store.
        shared: below it; not closed.
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
            # Below first: what is forgotten above must not shine through from there.
            self._shared.set(connector, forgotten)
        self.own.set(connector, entries)
        kept = [(partition, offset) for partition, offset in entries if offset is not None]
        try:
            self._shared.set(connector, kept)
        except OffsetStoreError as error:
            log.warning("Offsets of %s are in its own topic, but not in the shared one: %s", connector, error)

    def all(self, connector: str) -> list[tuple[Partition, Offset]]:
        found = {identity(partition): (partition, offset) for partition, offset in self._shared.all(connector)}
        found |= {identity(partition): (partition, offset) for partition, offset in self.own.all(connector)}
        return list(found.values())

    def close(self) -> None:
        self.own.close()
