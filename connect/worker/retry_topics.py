"""The retry topics of a sink task: records that failed are parked in them, and come back when they are due.

The task's own consumer reads them, in the same group. A partition of which the next record is not due is paused, and
read from that record again when it is; all others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.pipeline.dead_letters import context_of, original
from connect.pipeline.error_headers import ParkedHeaders
from connect.pipeline.failure import Failure
from connect.pipeline.parked import RetrySettings, parked, place_of, unparked
from connect.worker.side_topics import SideTopics

#: How long a partition rests at least, as a share of its tier's wait, so that records that come due one after another
#: are read together; at most so many seconds.
_REST_SHARE: Final = 0.1
_REST_S: Final = 1.0
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
    """

    def __init__(
        self,
        settings: RetrySettings,
        connector: str,
        task: int,
        topics: SideTopics,
        partitions: Callable[[str], int],
    ) -> None:
        self._settings = settings
        self._connector = connector
        self._task = task
        self._topics = topics
        self._partitions = partitions
        self._waits = {tier.topic: tier.wait_ms / 1000 for tier in settings.tiers}
        self._resting: dict[TopicPartition, _Rest] = {}

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
            return False
        context = context_of(failure, self._connector, self._task, source)
        letter = parked(source, context, tier.wait_ms, _now_ms(), failed=True)
        self._topics.send(tier.topic, letter, source.partition % self._partitions(tier.topic))
        return True

    # What the consumer brings.

    def begin(self, partitions: Sequence[TopicPartition], consumer: Consumer) -> dict[TopicPartition, int]:
        """Where to begin in retry partitions that were assigned."""
        mine = [partition for partition in partitions if partition.topic in self._waits]
        if not mine:
            return {}
        return dict.fromkeys(mine, _BEGINNING) | dict(consumer.committed(mine))

    def admit(self, batch: SinkBatch, consumer: Consumer) -> SinkBatch:
        """A batch as consumed, without what is not due yet, and what is due as it was before it was parked."""
        topics = batch.original_topics
        if topics.constant and topics[0] not in self._waits:
            return batch
        kept: list[int] = []
        due: dict[int, ParkedHeaders] = {}
        now_ms = _now_ms()
        for row, topic in enumerate(topics):
            if topic not in self._waits:
                kept.append(row)
                continue
            partition = TopicPartition(topic, batch.original_partitions[row])
            if partition in self._resting:
                continue  # came before the pause took hold; it is read again
            place = place_of(batch, row)
            if place.due <= now_ms:
                due[len(kept)] = place
                kept.append(row)
            else:
                self._rest(partition, batch.offsets[row], (place.due - now_ms) / 1000)
                consumer.pause([partition])
        return unparked(batch if len(kept) == len(batch) else batch.take(kept), due)

    def _rest(self, partition: TopicPartition, offset: int, seconds: float) -> None:
        least = min(self._waits[partition.topic] * _REST_SHARE, _REST_S)
        self._resting[partition] = _Rest(offset, time.monotonic() + max(seconds, least))

    def resting(self) -> dict[TopicPartition, int]:
        """The partitions that wait, and from which offset on they are read again."""
        return {partition: rest.offset for partition, rest in self._resting.items()}

    def next_due(self) -> float | None:
        """When the next partition is to be read again, on the monotonic clock."""
        return min((rest.until for rest in self._resting.values()), default=None)

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

    def forget(self, partitions: Sequence[TopicPartition]) -> None:
        """These are read from elsewhere, or by somebody else."""
        for partition in partitions:
            self._resting.pop(partition, None)


def _now_ms() -> int:
    return int(time.time() * 1000)
