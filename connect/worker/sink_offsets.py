"""The offsets of a sink task in each of its partitions: what it was given, and what of that is committed. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition


class SinkOffsets:
    """The offsets of one task's partitions, each one after the last record in question.

    Attributes:
        given: up to here the task has accepted everything.
        committed: the last commit since the partitions were assigned.
    """

    def __init__(self) -> None:
        self.given: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self._after: dict[TopicPartition, int] = {}  # where we are once the batch in hand is taken
        self._first: dict[TopicPartition, int] = {}  # where the first record of each partition was

    def consumed(self, batch: SinkBatch, positions: dict[TopicPartition, int]) -> None:
        """A batch was consumed; the consumer continues at these positions."""
        self._after = positions
        if not positions.keys() <= self._first.keys():
            self._first = {**batch.first_offsets(), **self._first}

    def nothing_in_hand(self) -> None:
        """The next put has no records."""
        self._after = {}

    def taken(self) -> None:
        """The task has accepted the batch."""
        self.given.update(self._after)

    def known(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The target has everything up to here."""
        self.given.update(offsets)

    def rewound(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The task rewinds to here."""
        self.given.update(offsets)
        self._after.update(offsets)  # it may come out of the `put` that takes the batch in hand
        for partition in offsets:
            self.committed.pop(partition, None)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions are no longer assigned."""
        for partition in partitions:
            for offsets in (self.given, self.committed, self._after, self._first):
                offsets.pop(partition, None)

    def to_ask(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What the task was given of these partitions; nothing where all of it is committed."""
        given = {partition: self.given[partition] for partition in partitions if partition in self.given}
        return given if any(self.committed.get(each) != offset for each, offset in given.items()) else {}

    def to_commit(
        self, given: Mapping[TopicPartition, int], durable: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """What the task reports as durable, was given, and is not committed yet."""
        return {
            partition: min(offset, given[partition])
            for partition, offset in durable.items()
            if partition in given and self.committed.get(partition) != offset
        }

    def uncommitted(self) -> list[int]:
        """The number of offsets of each partition that the task was given and has not committed."""
        after = {**self.given, **self._after}
        return [
            max(0, offset - self.committed.get(partition, self._first.get(partition, offset)))
            for partition, offset in after.items()
        ]
