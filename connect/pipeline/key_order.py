"""Which records of a key wait in retry topics, so that those behind them wait too: `errors.retry.topics.keep.order`.

No I/O. For each topic, partition and key of a task it holds the offsets of the records that wait, by where they were
consumed first. The retry topics contain all of it after a crash, so it is not stored.

A record may be in the retry topics more than once: parked, and then parked again before the offset of the first time
was committed. Only the last one counts; the number of times that it was parked identifies it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from connect.data.record import TopicPartition
from connect.pipeline.error_headers import ParkedHeaders

_LONGEST_KEY: Final = 32


class Turn(enum.Enum):
    """What to do with a consumed record."""

    GO = "let through"
    """It is the first of its key: let it through."""
    WAIT = "park behind"
    """Others of its key come first: park it behind them."""
    DROP = "drop"
    """It is through already, or waits in another place."""


class KeyOrder:
    """The waiting records, by key. For the task's thread."""

    def __init__(self) -> None:
        self._waiting: dict[TopicPartition, dict[bytes, dict[int, int]]] = {}  # offsets, with how often parked
        self._let_through: dict[tuple[TopicPartition, bytes], set[int]] = {}  # of the batch in hand
        self._failed: dict[tuple[TopicPartition, bytes], int] = {}  # likewise: the first offset of a key
        self._passed: dict[TopicPartition, int] = {}  # up to which offset the sink's own topics were consumed
        self._count = 0

    def __len__(self) -> int:
        """The number of waiting records."""
        return self._count

    # What is known at the beginning.

    def begin(self, partition: TopicPartition, offset: int) -> None:
        """One of the sink's own partitions is consumed from this offset on."""
        self._passed[partition] = offset

    def learn(self, key: bytes | None, parked: ParkedHeaders) -> None:
        """A record is in a retry topic."""
        if key is None:
            return
        waiting = self._waiting.setdefault(TopicPartition(parked.topic, parked.partition), {})
        offsets = waiting.setdefault(_short(key), {})
        self._count += parked.offset not in offsets
        offsets[parked.offset] = max(parked.parked, offsets.get(parked.offset, 0))

    def forget(self, number: int) -> None:
        """Partitions of this number are no longer assigned, or are learned again."""
        for partition in [each for each in self._waiting if each.partition == number]:
            self._count -= sum(map(len, self._waiting.pop(partition).values()))
        for table in (self._let_through, self._failed):
            for parked in [each for each in table if each[0].partition == number]:
                del table[parked]
        for partition in [each for each in self._passed if each.partition == number]:
            del self._passed[partition]

    # One batch after another: a turn for each of its records, in order; what failed; and then that it was taken.

    def consumed(self, partition: TopicPartition, offset: int, key: bytes | None) -> Turn:
        """What to do with a record from one of the sink's own topics."""
        self._passed[partition] = offset + 1
        if key is None:
            return Turn.GO
        short = _short(key)
        waiting = self._offsets(partition, short)
        if offset in waiting:
            return Turn.DROP
        return self._turn(partition, short, offset, waiting)

    def due(self, parked: ParkedHeaders, key: bytes | None) -> Turn:
        """What to do with a record from a retry topic."""
        if key is None:
            return Turn.GO
        partition, short = TopicPartition(parked.topic, parked.partition), _short(key)
        waiting = self._offsets(partition, short)
        if waiting.get(parked.offset) != parked.parked:
            return Turn.DROP
        if self._passed.get(partition, 0) <= parked.offset:
            return Turn.WAIT  # the sink's own topic is being read once more, and has not come so far
        turn = self._turn(partition, short, parked.offset, waiting)
        if turn is Turn.GO:
            self._let_through.setdefault((partition, short), set()).add(parked.offset)
        return turn

    def failed(self, key: bytes | None, parked: ParkedHeaders) -> None:
        """A record of the batch was parked because it failed."""
        self.parked(key, parked)
        if key is not None:
            at = (TopicPartition(parked.topic, parked.partition), _short(key))
            self._failed[at] = min(parked.offset, self._failed.get(at, parked.offset))

    def parked(self, key: bytes | None, parked: ParkedHeaders) -> None:
        """A record of the batch was parked."""
        self.learn(key, parked)
        if key is not None:
            at = (TopicPartition(parked.topic, parked.partition), _short(key))
            self._let_through.get(at, set()).discard(parked.offset)

    def given_up(self, key: bytes | None, topic: str, partition: int, offset: int) -> None:
        """A record of the batch was given up: others of its key need not wait for it."""
        if key is not None:
            at = (TopicPartition(topic, partition), _short(key))
            self._let_through.get(at, set()).discard(offset)
            self._done(*at, [offset])

    def any_failed(self) -> bool:
        """Whether a record of the batch was parked because it failed."""
        return bool(self._failed)

    def is_behind(self, partition: TopicPartition, offset: int, key: bytes | None) -> bool:
        """Whether a record of the batch comes after one of its key that failed."""
        return key is not None and self._failed.get((partition, _short(key)), offset) < offset

    def taken(self) -> None:
        """The batch is finished."""
        for at, offsets in self._let_through.items():
            self._done(*at, offsets)
        self._let_through.clear()
        self._failed.clear()

    def _turn(self, partition: TopicPartition, short: bytes, offset: int, waiting: dict[int, int]) -> Turn:
        through = self._let_through.get((partition, short), ())
        first = all(other >= offset or other in through for other in waiting)
        return Turn.GO if first else Turn.WAIT

    def _offsets(self, partition: TopicPartition, short: bytes) -> dict[int, int]:
        return self._waiting.get(partition, {}).get(short, {})

    def _done(self, partition: TopicPartition, short: bytes, offsets: Iterable[int]) -> None:
        waiting = self._offsets(partition, short)
        for offset in offsets:
            self._count -= waiting.pop(offset, None) is not None
        if not waiting:
            self._waiting.get(partition, {}).pop(short, None)


def _short(key: bytes) -> bytes:
    """A key, or a hash of a long one: two with the same hash merely wait for each other."""
    return key if len(key) <= _LONGEST_KEY else blake2b(key, digest_size=_LONGEST_KEY).digest()
