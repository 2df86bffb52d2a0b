"""The retry topics of a sink task: records that failed are parked in them, and come back when they are due.

The task's own consumer reads them, in the same group. A partition of which the next record is not due is paused, and
read from that record again when it is; all others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.read_range import StoredRecord
from connect.pipeline.dead_letters import Original, context_of, original
from connect.pipeline.error_headers import ErrorContext, ParkedHeaders
from connect.pipeline.error_topics import ErrorTopics
from connect.pipeline.failure import Failure
from connect.pipeline.key_order import KeyOrder, Turn
from connect.pipeline.parked import RetrySettings, Tier, parked, place_of, unparked
from connect.pipeline.policy import ErrorCounts

#: How long a partition rests at least, as a share of its tier's wait, so that records that come due one after another
#: are read together; at most so many seconds.
_REST_SHARE: Final = 0.1
_REST_S: Final = 1.0
#: How many records may wait whose keys are in order, before the sink's own topics rest too (P7).
_MOST_WAITING: Final = 500_000
#: Where reading begins in a partition of which nothing is committed: nothing that was parked may be left out.
_BEGINNING: Final = -2


class Consumer(Protocol):
    """What is needed of `connect.kafka.consume.BatchConsumer`."""

    def pause(self, partitions: Sequence[TopicPartition]) -> None: ...

    def resume(self, partitions: Sequence[TopicPartition]) -> None: ...

    def seek(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...


@dataclass(frozen=True, slots=True)
class _Rest:
    """A partition that waits: from which offset on, and until when on the monotonic clock."""

    offset: int
    until: float


class RetryTopics:
    """Parks records and lets them through when they are due. Called from the task's thread.

    Args:
        settings: see there.
        connector, task: for the headers.
        topics: writes.
        partitions: how many a topic has.
        counts: counts what is parked without having failed.
        read: the records of retry partitions from offsets on, to the present end; for keys in order.
        purge: deletes records of retry partitions before offsets, some time.
    """

    def __init__(
        self,
        settings: RetrySettings,
        connector: str,
        task: int,
        topics: ErrorTopics,
        partitions: Callable[[str], int],
        counts: ErrorCounts,
        read: Callable[[Mapping[TopicPartition, int]], Iterable[StoredRecord]],
        purge: Callable[[Mapping[TopicPartition, int]], None],
    ) -> None:
        self._settings = settings
        self._connector = connector
        self._task = task
        self._topics = topics
        self._partitions = partitions
        self._waits = {tier.topic: tier.wait_ms / 1000 for tier in settings.tiers}
        self._resting: dict[TopicPartition, _Rest] = {}
        self._counts = counts
        self._read = read
        self._purge = purge
        self._order = KeyOrder() if settings.keep_order else None

    @property
    def names(self) -> tuple[str, ...]:
        """The topics, which the task's consumer is to read besides its own."""
        return self._settings.topics

    def park(self, failure: Failure) -> bool:
        """Park a record that failed, unless it has been through all tiers. See `ErrorPolicy.park`."""
        batch = failure.batch
        if not isinstance(batch, SinkBatch):
            return False  # the task's own record: nobody can hand it in again
        source = original(batch, 0, parked=batch.original_topics[0] in self._waits)
        tier = self._settings.after((source.parked.attempt if source.parked else 0) + 1)
        if tier is None:
            if self._order is not None:
                self._order.given_up(source.letter.key, source.topic, source.partition, source.offset)
            return False
        context = context_of(failure, self._connector, self._task, source)
        parked = self._write(source, context, tier, failed=True)
        if self._order is not None:
            self._order.failed(source.letter.key, parked)
        return True

    def _write(self, source: Original, context: ErrorContext, tier: Tier, *, failed: bool) -> ParkedHeaders:
        letter = parked(source, context, tier.wait_ms, _now_ms(), failed=failed)
        self._topics.send(tier.topic, letter, source.partition % self._partitions(tier.topic))
        return ParkedHeaders.split(letter.headers)[1]

    def _park_behind(self, batch: SinkBatch, row: int) -> None:
        """Park a record behind others of its key, untried."""
        assert self._order is not None
        topic = batch.original_topics[row]
        source = original(batch, row, parked=topic in self._waits)
        context = ErrorContext(
            topic=source.topic,
            partition=source.partition,
            offset=source.offset,
            connector=self._connector,
            task=self._task,
            message="It waits behind a record of its key.",
        )
        parked = self._write(source, context, self._settings.behind(topic), failed=False)
        self._order.parked(source.letter.key, parked)
        self._counts.parked += 1

    # Partitions that come.

    def begin(
        self, partitions: Sequence[TopicPartition], known: Mapping[TopicPartition, int], consumer: Consumer
    ) -> dict[TopicPartition, int]:
        """Where to begin in partitions that were assigned, as far as that is for us to say.

        Args:
            partitions: which.
            known: where the sink's target says that it goes on.
            consumer: the task's.

        Raises:
            ConnectError: the brokers do not say; or a record might meet others of its key in another task.
        """
        mine = [partition for partition in partitions if partition.topic in self._waits]
        if not mine and self._order is None:
            return dict(known)
        asked = list(partitions) if self._order is not None else mine
        begin = dict.fromkeys(mine, _BEGINNING) | dict(consumer.committed(asked)) | dict(known)
        if self._order is not None:
            self._learn(self._order, partitions, begin)
        return {partition: begin[partition] for partition in partitions if partition in mine or partition in known}

    def _learn(
        self, order: KeyOrder, partitions: Sequence[TopicPartition], begin: Mapping[TopicPartition, int]
    ) -> None:
        for number in {partition.partition for partition in partitions}:
            order.forget(number)
            missing = [name for name in self.names if TopicPartition(name, number) not in partitions]
            if missing:
                raise ConnectError(
                    f"Partition {number} was assigned without that of {missing[0]}: the order of keys cannot be kept."
                    " All members of the group have to assign by range, and topics to have one number of partitions."
                )
        for partition in partitions:
            if partition.topic not in self._waits:
                order.begin(partition, begin.get(partition, 0))
        self._read_again(order, {parked: begin[parked] for parked in partitions if parked.topic in self._waits})

    def _read_again(self, order: KeyOrder, begin: Mapping[TopicPartition, int]) -> None:
        for record in self._read(begin):
            try:
                parked = ParkedHeaders.split(record.headers)[1]
            except ValueError:
                continue  # said when it is consumed
            order.learn(record.key, parked)

    def rewound(self, offsets: Mapping[TopicPartition, int]) -> None:
        """The task wants to be given partitions again from these offsets on."""
        self.forget_rests(list(offsets))
        if self._order is not None:
            for partition, offset in offsets.items():
                if partition.topic not in self._waits:
                    self._order.begin(partition, offset)
            self._read_again(self._order, {p: o for p, o in offsets.items() if p.topic in self._waits})

    # What the consumer brings.

    def admit(self, batch: SinkBatch, consumer: Consumer) -> SinkBatch:
        """A batch as consumed, without what is not due yet, and what is due as it was before it was parked."""
        topics, order = batch.original_topics, self._order
        if order is None and topics.constant and topics[0] not in self._waits:
            return batch
        full = order is not None and len(order) >= _MOST_WAITING
        kept: list[int] = []
        due: dict[int, ParkedHeaders] = {}
        now_ms = _now_ms()
        for row, topic in enumerate(topics):
            partition = TopicPartition(topic, batch.original_partitions[row])
            if partition in self._resting:
                continue  # came before the pause took hold; it is read again
            if topic not in self._waits:
                if full:
                    self._rest(partition, batch.offsets[row], _REST_S, consumer)
                elif order is None or self._goes(
                    order.consumed(partition, batch.offsets[row], batch.keys[row]), batch, row
                ):
                    kept.append(row)
                continue
            parked = place_of(batch, row)
            if parked.due > now_ms:
                least = min(self._waits[topic] * _REST_SHARE, _REST_S)
                self._rest(partition, batch.offsets[row], max((parked.due - now_ms) / 1000, least), consumer)
            elif order is None or self._goes(order.due(parked, batch.keys[row]), batch, row):
                due[len(kept)] = parked
                kept.append(row)
        return unparked(batch if len(kept) == len(batch) else batch.take(kept), due)

    def _goes(self, turn: Turn, batch: SinkBatch, row: int) -> bool:
        if turn is Turn.WAIT:
            self._park_behind(batch, row)
        return turn is Turn.GO

    def hold_back(self, batch: SinkBatch) -> SinkBatch:
        """A part of the batch without the records behind one of their key that failed in it: these are parked."""
        order = self._order
        if order is None or not order.any_failed():
            return batch
        kept = []
        for row in range(len(batch)):
            source = original(batch, row, parked=batch.original_topics[row] in self._waits)
            if order.is_behind(TopicPartition(source.topic, source.partition), source.offset, source.letter.key):
                self._park_behind(batch, row)
            else:
                kept.append(row)
        return batch if len(kept) == len(batch) else batch.take(kept)

    def taken(self) -> None:
        """The batch is through."""
        if self._order is not None:
            self._order.taken()

    def in_order(
        self,
        current: Mapping[TopicPartition, int],
        durable: Mapping[TopicPartition, int],
        committed: Mapping[TopicPartition, int],
    ) -> Mapping[TopicPartition, int]:
        """What of it may be committed, so that after a crash no record of a key comes again without those behind it.

        Args:
            current: up to where the task was given everything.
            durable: up to where it said that all is durable.
            committed: what is committed already.
        """
        if self._order is None:
            return durable
        late = {
            partition.partition
            for partition, offset in current.items()
            if partition.topic in self._waits and durable.get(partition, committed.get(partition, -1)) < offset
        }
        return {partition: offset for partition, offset in durable.items() if partition.partition not in late}

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """These offsets are committed: what is before them in retry topics is done with."""
        self._purge({partition: offset for partition, offset in offsets.items() if partition.topic in self._waits})

    def _rest(self, partition: TopicPartition, offset: int, seconds: float, consumer: Consumer) -> None:
        self._resting[partition] = _Rest(offset, time.monotonic() + seconds)
        consumer.pause([partition])

    def resting(self) -> Mapping[TopicPartition, object]:
        """The partitions that wait."""
        return self._resting

    def positions(self) -> dict[TopicPartition, int]:
        """From which offset on partitions are read again that wait; the client's position is behind that."""
        return {partition: rest.offset for partition, rest in self._resting.items()}

    def next_due(self, flows: Callable[[TopicPartition], bool]) -> float | None:
        """When the next partition is to be read again, on the monotonic clock. `flows` as for `wake`."""
        return min((rest.until for partition, rest in self._resting.items() if flows(partition)), default=None)

    def wake(self, consumer: Consumer, flows: Callable[[TopicPartition], bool]) -> None:
        """Have partitions read again that have waited long enough.

        Args:
            consumer: the task's.
            flows: whether nobody else wants a partition paused.
        """
        now = time.monotonic()
        for partition, rest in list(self._resting.items()):
            if rest.until <= now and flows(partition):
                del self._resting[partition]
                consumer.resume([partition])
                consumer.seek({partition: rest.offset})

    def forget_rests(self, partitions: Sequence[TopicPartition]) -> None:
        """These are read from elsewhere."""
        for partition in partitions:
            self._resting.pop(partition, None)

    def forget(self, partitions: Sequence[TopicPartition]) -> None:
        """These are not ours any more."""
        self.forget_rests(partitions)
        if self._order is not None:
            for number in {partition.partition for partition in partitions}:
                self._order.forget(number)


def _now_ms() -> int:
    return int(time.time() * 1000)
