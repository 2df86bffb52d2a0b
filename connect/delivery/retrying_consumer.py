"""The consumer of a sink task with retry topics: parked records are returned when they are due.

It wraps the task's own consumer, which reads the retry topics besides, in the same group. A partition whose next record
is not due is paused, and read from that record again when it is; all others continue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.delivery.retry_topics import RetryTopics
from connect.errors import ConnectError
from connect.kafka.reading.consume import RebalanceListener
from connect.kafka.reading.read_range import StoredRecord
from connect.pipeline.error_headers import ParkedHeaders
from connect.pipeline.key_order import KeyOrder, Turn
from connect.pipeline.parked import place_of, unparked

#: How long a partition rests at least, as a share of its tier's wait, so that records that come due one after another
#: are read together; at most so many seconds.
_REST_SHARE: Final = 0.1
_REST_S: Final = 1.0
#: How many records may wait whose keys are in order, before the sink's own topics rest too (P7).
_MOST_WAITING: Final = 500_000
#: Where reading begins in a partition of which nothing is committed: nothing that was parked may be left out.
_BEGINNING: Final = -2


class SinkConsumer(Protocol):
    """The interface of a consumer for a sink task's loop. The contract is at `BatchConsumer` of `connect.kafka`."""

    @property
    def assignment(self) -> frozenset[TopicPartition]: ...
    @property
    def group(self) -> str: ...
    @property
    def member_id(self) -> str | None: ...
    @property
    def instance_id(self) -> str: ...
    @property
    def can_be_woken(self) -> bool: ...
    def wake(self) -> None: ...
    def poll(self, timeout: float) -> SinkBatch | None: ...
    def positions(self) -> dict[TopicPartition, int]: ...
    def commit(self, offsets: Mapping[TopicPartition, int]) -> None: ...
    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]: ...
    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]: ...
    def seek(self, offsets: Mapping[TopicPartition, int]) -> None: ...
    def pause(self, partitions: Iterable[TopicPartition]) -> None: ...
    def resume(self, partitions: Iterable[TopicPartition]) -> None: ...
    def lag(self, without: Iterable[TopicPartition] = ()) -> int: ...
    def close(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Rest:
    """A waiting partition: from which offset on, and until when on the monotonic clock."""

    offset: int
    until: float


class RetryingConsumer:
    """A consumer that returns parked records when they are due. For one thread, except `wake`.

    Args:
        make: creates the consumer that reads, with this one as its listener.
        listener: see `RebalanceListener`.
        topics: parks.
        read: the records of retry partitions from offsets on, to the current end; for keys in order.
        purge: deletes records of retry partitions before offsets, eventually.
    """

    def __init__(
        self,
        make: Callable[[RebalanceListener], SinkConsumer],
        listener: RebalanceListener,
        topics: RetryTopics,
        read: Callable[[Mapping[TopicPartition, int]], Iterable[StoredRecord]],
        purge: Callable[[Mapping[TopicPartition, int]], None],
    ) -> None:
        self._listener = listener
        self._topics = topics
        self._waits = topics.waits
        self._order = topics.order
        self._read = read
        self._purge = purge
        self._resting: dict[TopicPartition, _Rest] = {}
        self._paused: set[TopicPartition] = set()  # by whoever calls us: what rests is paused besides
        self._consumer = make(self)

    # As the consumer has it.

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._consumer.assignment

    @property
    def group(self) -> str:
        return self._consumer.group

    @property
    def member_id(self) -> str | None:
        return self._consumer.member_id

    @property
    def instance_id(self) -> str:
        return self._consumer.instance_id

    @property
    def can_be_woken(self) -> bool:
        return self._consumer.can_be_woken

    def wake(self) -> None:
        self._consumer.wake()

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._consumer.committed(partitions)

    def offsets_at(self, timestamp: int, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._consumer.offsets_at(timestamp, partitions)

    def close(self) -> bool:
        return self._consumer.close()

    # Where records that are not due come in between.

    def poll(self, timeout: float) -> SinkBatch | None:
        """As `BatchConsumer.poll`. A batch may be empty when none of its records is due."""
        now = time.monotonic()
        self._read_what_is_due(now)
        due = min((rest.until for at, rest in self._resting.items() if at not in self._paused), default=None)
        if due is not None:
            timeout = min(timeout, max(0.0, due - now))
        batch = self._consumer.poll(timeout)
        return None if batch is None else self._admit(batch)

    def positions(self) -> dict[TopicPartition, int]:
        """As `BatchConsumer.positions`. Waiting partitions are read again from their waiting records."""
        return self._consumer.positions() | {partition: rest.offset for partition, rest in self._resting.items()}

    def lag(self, without: Iterable[TopicPartition] = ()) -> int:
        """As `BatchConsumer.lag`. Records that are not due do not count."""
        return self._consumer.lag([*without, *self._resting])

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """As `BatchConsumer.pause`."""
        self._paused.update(partitions)
        self._consumer.pause(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """As `BatchConsumer.resume`. Waiting partitions keep waiting."""
        self._paused.difference_update(partitions)
        self._consumer.resume([partition for partition in partitions if partition not in self._resting])

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None:
        """As `BatchConsumer.seek`. Partitions that move wait no more."""
        self._consumer.seek(offsets)
        ours = {partition: offset for partition, offset in offsets.items() if partition in self.assignment}
        waited = [partition for partition in ours if self._resting.pop(partition, None) is not None]
        self._consumer.resume([partition for partition in waited if partition not in self._paused])
        if self._order is not None:
            for partition, offset in ours.items():
                if partition.topic not in self._waits:
                    self._order.begin(partition, offset)
            self._learn(self._order, ours)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """As `BatchConsumer.commit`. Records before these offsets in retry topics are done."""
        self._consumer.commit(offsets)
        self._purge(self._of_retry_topics(offsets))

    # The listener of the consumer.

    def assigned(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where to begin, if that is not left to the group.

        Raises:
            ConnectError: the brokers do not answer; or a record might meet others of its key in another task.
        """
        known = dict(self._listener.assigned(partitions) or {})
        mine = [partition for partition in partitions if partition.topic in self._waits]
        if not mine and self._order is None:
            return known
        asked = mine if self._order is None else list(partitions)
        begin = dict.fromkeys(mine, _BEGINNING) | self._consumer.committed(asked) | known
        if self._order is not None:
            self._begin_order(self._order, partitions, begin)
        return {partition: begin[partition] for partition in partitions if partition in mine or partition in known}

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener.revoked`."""
        try:
            self._listener.revoked(partitions)
        finally:
            self._forget(partitions)

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        """See `RebalanceListener.lost`."""
        try:
            self._listener.lost(partitions)
        finally:
            self._forget(partitions)

    def _forget(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)
        for partition in partitions:
            self._resting.pop(partition, None)
            if self._order is not None:
                self._order.forget(partition.partition)

    def _begin_order(
        self, order: KeyOrder, partitions: Sequence[TopicPartition], begin: Mapping[TopicPartition, int]
    ) -> None:
        for number in {partition.partition for partition in partitions}:
            order.forget(number)
            missing = [name for name in self._waits if TopicPartition(name, number) not in partitions]
            if missing:
                raise ConnectError(
                    f"Partition {number} was assigned without that of {missing[0]}: the order of keys cannot be kept."
                    " All members of the group have to assign by range, and topics to have one number of partitions."
                )
        for partition in partitions:
            if partition.topic not in self._waits:
                order.begin(partition, begin.get(partition, 0))
        self._learn(order, {partition: begin[partition] for partition in partitions if partition in begin})

    def _learn(self, order: KeyOrder, begin: Mapping[TopicPartition, int]) -> None:
        """Learn which records wait in retry partitions, from these offsets on."""
        for record in self._read(self._of_retry_topics(begin)):
            try:
                parked = ParkedHeaders.split(record.headers)[1]
            except ValueError:
                continue  # said when it is consumed
            order.learn(record.key, parked)

    def _of_retry_topics(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {partition: offset for partition, offset in offsets.items() if partition.topic in self._waits}

    # What the consumer brings.

    def _admit(self, batch: SinkBatch) -> SinkBatch:
        """A consumed batch, without records that are not due yet, and due ones as they were before they were parked."""
        topics, order = batch.original_topics, self._order
        if order is not None:
            order.taken()  # whoever polls is done with what came before
        elif topics.constant and topics[0] not in self._waits:
            return batch
        full = order is not None and len(order) >= _MOST_WAITING
        kept: list[int] = []
        due: dict[int, ParkedHeaders] = {}
        now_ms = int(time.time() * 1000)
        for row, topic in enumerate(topics):
            partition = TopicPartition(topic, batch.original_partitions[row])
            if partition in self._resting:
                continue  # came before the pause took hold; it is read again
            if topic not in self._waits:
                if full:
                    self._rest(partition, batch.offsets[row], _REST_S)
                elif order is None or self._goes(
                    order.consumed(partition, batch.offsets[row], batch.keys[row]), batch, row
                ):
                    kept.append(row)
                continue
            parked = place_of(batch, row)
            if parked.due > now_ms:
                least = min(self._waits[topic] * _REST_SHARE, _REST_S)
                self._rest(partition, batch.offsets[row], max((parked.due - now_ms) / 1000, least))
            elif order is None or self._goes(order.due(parked, batch.keys[row]), batch, row):
                due[len(kept)] = parked
                kept.append(row)
        return unparked(batch if len(kept) == len(batch) else batch.take(kept), due)

    def _goes(self, turn: Turn, batch: SinkBatch, row: int) -> bool:
        if turn is Turn.WAIT:
            self._topics.park_behind(batch, row)
        return turn is Turn.GO

    def _rest(self, partition: TopicPartition, offset: int, seconds: float) -> None:
        self._resting[partition] = _Rest(offset, time.monotonic() + seconds)
        self._consumer.pause([partition])

    def _read_what_is_due(self, now: float) -> None:
        """Read partitions again whose records are due, unless the caller wants them paused."""
        for partition, rest in list(self._resting.items()):
            if rest.until <= now and partition not in self._paused:
                del self._resting[partition]
                self._consumer.resume([partition])
                self._consumer.seek({partition: rest.offset})
