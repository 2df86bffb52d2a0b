"""Offset syncs: which are written, and the translation of the source's offsets to the target's (KIP-382).

A sync says that one record of the source has become one record of the target. Between two of them only the order is
known: what came later at the source came later at the target. So an offset is translated to just behind the last sync
before it: a group that continues there may read records again, and misses none (KAFKA-12468).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from connect.data.record import TopicPartition
from connectors.mirror.notes import OffsetSync

#: Of two neighbours one goes when what then lies between is at most this share of how far back it is.
_SHARE: Final = 0.5


class SyncChooser:
    """Chooses, for one partition, which of the acknowledged records get a sync.

    The first; one after this many records at the target since the last sync; and where either side jumps back. The
    others wait: the last of them is written when there is time (`late`).

    Args:
        partition: the partition of the source.
        lag: offset.lag.max.
    """

    def __init__(self, partition: TopicPartition, lag: int) -> None:
        self._partition = partition
        self._lag = lag
        self._last: OffsetSync | None = None  # that was written
        self._seen: OffsetSync | None = None
        self._late: OffsetSync | None = None

    def acknowledged(self, upstream: int, downstream: int) -> OffsetSync | None:
        """A record is at the target. Returns the sync to write now, if any."""
        sync = OffsetSync(self._partition, upstream, downstream)
        last, seen, self._seen = self._last, self._seen, sync
        if (
            last is None
            or seen is None
            or downstream - last.downstream > self._lag
            or downstream < seen.downstream
            or upstream <= seen.upstream
        ):
            self._last, self._late = sync, None
            return sync
        self._late = sync
        return None

    def late(self) -> OffsetSync | None:
        """The last record that has no sync. Given once."""
        sync, self._late = self._late, None
        if sync is not None:
            self._last = sync
        return sync


class SyncHistory:
    """The syncs of one partition that translate its offsets: all of the newest, fewer of older ones.

    An offset that lies `age` behind the newest is translated by a sync at most about half of `age` before it, so that a
    few dozen are enough for any partition.
    """

    def __init__(self) -> None:
        self._upstream: list[int] = []
        self._downstream: list[int] = []

    def __len__(self) -> int:
        return len(self._upstream)

    def add(self, upstream: int, downstream: int) -> None:
        """Add a newer sync. One that goes back means that a topic was recreated: earlier ones are void."""
        if self._upstream and (upstream < self._upstream[-1] or downstream < self._downstream[-1]):
            self._upstream.clear()
            self._downstream.clear()
        if self._upstream and upstream == self._upstream[-1]:
            return  # the first of two copies of a record: nothing is missed from there on
        self._upstream.append(upstream)
        self._downstream.append(downstream)
        kept = self._thinned()
        if len(kept) < len(self._upstream):
            self._upstream = [self._upstream[at] for at in kept]
            self._downstream = [self._downstream[at] for at in kept]

    def translate(self, upstream: int) -> int | None:
        """The target's position for this offset of the source; None where it is before what is known."""
        at = bisect_right(self._upstream, upstream) - 1
        if at < 0:
            return None
        return self._downstream[at] + (upstream > self._upstream[at])

    @property
    def furthest(self) -> int:
        """The greatest position that any offset is translated to; -1 without a sync."""
        return self._downstream[-1] + 1 if self._downstream else -1

    def _thinned(self) -> Sequence[int]:
        """The indices to keep: the newest and the oldest always."""
        partitions = self._upstream
        newest = partitions[-1]
        kept = [len(partitions) - 1]
        for at in range(len(partitions) - 2, 0, -1):
            after = partitions[kept[-1]]
            if after - partitions[at - 1] > (newest - after) * _SHARE:
                kept.append(at)
        if len(partitions) > 1:
            kept.append(0)
        kept.reverse()
        return kept


class SyncStore:
    """The histories of all partitions, as they are read from the topic of offset syncs."""

    def __init__(self) -> None:
        self._histories: dict[TopicPartition, SyncHistory] = {}

    def add(self, sync: OffsetSync) -> None:
        """Take a sync, in the order of the topic."""
        self._histories.setdefault(sync.partition, SyncHistory()).add(sync.upstream, sync.downstream)

    def translate(self, partition: TopicPartition, upstream: int) -> int | None:
        """See `SyncHistory.translate`; None for a partition without a sync."""
        history = self._histories.get(partition)
        return None if history is None else history.translate(upstream)

    def furthest(self, partition: TopicPartition) -> int:
        """See `SyncHistory.furthest`; -1 for a partition without a sync."""
        history = self._histories.get(partition)
        return -1 if history is None else history.furthest
