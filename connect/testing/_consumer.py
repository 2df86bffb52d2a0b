"""Topics in memory that a sink's consumer reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from connect.data.batch import SinkBatch
from connect.data.column import Plain
from connect.data.record import SinkRecord, TopicPartition
from connect.kafka.reading.consume import RebalanceListener


class MemoryTopics:
    """Records in topics, and the offsets that the group committed.

    Attributes:
        log: all records, in order.
        committed: for each partition the offset of the record at which a new owner begins.
    """

    def __init__(self) -> None:
        self.log: list[SinkRecord] = []
        self.committed: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}

    def append(self, record: SinkRecord) -> SinkRecord:
        """Append a record; returns it with its offset."""
        partition = TopicPartition(record.topic, record.partition)
        offset = self.end(partition)
        self._ends[partition] = offset + 1
        stored = record.replace(offset=offset)
        self.log.append(stored)
        return stored

    def end(self, partition: TopicPartition) -> int:
        """The offset of the next record."""
        return self._ends.get(partition, 0)

    def at(self, timestamp: int, partition: TopicPartition) -> int:
        """The offset of the first record of a time (ms since 1970) or later; else the end."""
        later = [
            record.offset
            for record in self.log
            if (record.topic, record.partition) == partition and (record.timestamp or 0) >= timestamp
        ]
        return min(later, default=self.end(partition))


class MemoryConsumer:
    """Replaces `connect.kafka.reading.consume.BatchConsumer`.

    Args:
        topics: that it reads.
        listener: called when partitions are assigned and revoked.
        turn: gives the turn to the test; called at the beginning of each poll.
        commit: called with commits, or raises ConnectError.
        rows: the maximum number of records of a batch.

    Attributes:
        moves: assignments and revocations for the next poll: (listener's method, partitions).
        quiet: whether the last poll had no records.
    """

    group = "connect-test"
    member_id: str | None = None
    instance_id = ""
    can_be_woken = False

    def __init__(
        self,
        topics: MemoryTopics,
        listener: RebalanceListener,
        turn: Callable[[], None],
        commit: Callable[[Mapping[TopicPartition, int]], None],
        rows: int,
    ) -> None:
        self.moves: list[tuple[str, list[TopicPartition]]] = []
        self.quiet = False
        self._topics = topics
        self._listener = listener
        self._turn = turn
        self._commit = commit
        self._rows = rows
        self._positions: dict[TopicPartition, int] = {}
        self._delivered: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()

    def wake(self) -> None:
        """Nothing waits in a poll."""

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._positions)

    def poll(self, timeout: float) -> SinkBatch | None:
        self._turn()
        while self.moves:
            self._move(*self.moves.pop(0))
        records = self._next()
        self.quiet = not records
        if not records:
            return None
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            self._positions[partition] = record.offset + 1
            self._delivered.add(partition)
        # Headers of records in bytes are pairs, which the chain decodes.
        raw: list[Any] = [record.headers for record in records]
        batch = SinkBatch.of(records)
        return batch.with_columns(
            headers=Plain(raw), original_topics=batch.topics, original_partitions=batch.partitions
        )

    def positions(self) -> dict[TopicPartition, int]:
        return {partition: position for partition, position in self._positions.items() if partition in self._delivered}

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._commit(offsets)

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {
            partition: self._topics.committed[partition]
            for partition in partitions
            if partition in self._topics.committed
        }

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self._topics.at(timestamp, partition) for partition in partitions}

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._positions.update(
            {partition: offset for partition, offset in offsets.items() if partition in self._positions}
        )

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._paused |= set(partitions) & self.assignment

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._paused -= set(partitions)

    def lag(self, without: Any = ()) -> int:
        return sum(self._topics.end(partition) - position for partition, position in self._positions.items())

    def close(self) -> bool:
        if self._positions:
            self._move("revoked", list(self._positions))
        return True

    def _next(self) -> list[SinkRecord]:
        wanted = {
            partition: position for partition, position in self._positions.items() if partition not in self._paused
        }
        waiting = (
            record
            for record in self._topics.log
            if record.offset >= wanted.get(TopicPartition(record.topic, record.partition), record.offset + 1)
        )
        return [record for record, _ in zip(waiting, range(self._rows), strict=False)]

    def _move(self, how: str, partitions: Sequence[TopicPartition]) -> None:
        if how == "assigned":
            # Known before the listener is told, so that what it pauses is paused.
            self._positions.update({partition: self._topics.committed.get(partition, 0) for partition in partitions})
            known = self._listener.assigned(partitions) or {}
            self.seek({partition: offset for partition, offset in known.items() if partition in partitions})
            return
        tell = self._listener.revoked if how == "revoked" else self._listener.lost
        try:
            tell(partitions)
        finally:
            for partition in partitions:
                self._positions.pop(partition, None)
                self._delivered.discard(partition)
                self._paused.discard(partition)
