"""Where a sink task is in each of its partitions: what it was given, and what of that is committed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition


class SinkOffsets:
    """The offsets of one task's partitions, each one after the last record that is meant.

    Attributes:
        given: up to where the task has taken everything.
        committed: what was committed since the partitions are ours.
    """

    def __init__(self) -> None:
        self.given: dict[TopicPartition, int] = {}
        self.committed: dict[TopicPartition, int] = {}
        self._after: dict[TopicPartition, int] = {}  # where we are once the batch in hand is taken
        self._first: dict[TopicPartition, int] = {}  # where the first record of each partition was

    def consumed(self, batch: SinkBatch, positions: dict[TopicPartition, int]) -> None:
        """A batch is in hand; the consumer goes on from these positions."""
        self._after = positions
        if not positions.keys() <= self._first.keys():
            self._first = {**batch.first_offsets(), **self._first}

    def nothing_in_hand(self) -> None:
        """What is put next are not records."""
        self._after = {}

    def taken(self) -> None:
        """The task has taken the batch in hand."""
        self.given.update(self._after)

    def known(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The target has all up to here."""
        self.given.update(offsets)

    def rewound(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The task wants to go on from here."""
        self.given.update(offsets)
        self._after.update(offsets)  # it may come out of the `put` that takes the batch in hand
        for partition in offsets:
            self.committed.pop(partition, None)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are not ours any more."""
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
        """What is new of what the task says is durable, and was given to it."""
        return {
            partition: min(offset, given[partition])
            for partition, offset in durable.items()
            if partition in given and self.committed.get(partition) != offset
        }

    def uncommitted(self) -> list[int]:
        """How many offsets of each partition the task was given and has not committed."""
        after = {**self.given, **self._after}
        return [
            max(0, offset - self.committed.get(partition, self._first.get(partition, offset)))
            for partition, offset in after.items()
        ]
