"""The retry topics of a sink task: failed records are parked in them, and tried again when they are due.

`connect.delivery.retrying_consumer` returns them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.pipeline.dead_letters import Original, context_of, original
from connect.pipeline.error_headers import ErrorContext, ParkedHeaders
from connect.pipeline.error_topics import ErrorTopics
from connect.pipeline.failure import Failure
from connect.pipeline.key_order import KeyOrder
from connect.pipeline.parked import RetrySettings, Tier, parked
from connect.pipeline.policy import ErrorCounts


class RetryTopics:
    """Parks records. For the task's thread.

    Args:
        settings: see there.
        connector, task: for the headers.
        topics: writes.
        partitions: the number of partitions of a topic.
        counts: counts records that are parked without having failed.

    Attributes:
        waits: for each topic the seconds that records wait in it.
        order: which records of a key wait; None where their order is not kept.
    """

    def __init__(
        self,
        settings: RetrySettings,
        connector: str,
        task: int,
        topics: ErrorTopics,
        partitions: Callable[[str], int],
        counts: ErrorCounts,
    ) -> None:
        self.waits = {tier.topic: tier.wait_ms / 1000 for tier in settings.tiers}
        self.order = KeyOrder() if settings.keep_order else None
        self._settings = settings
        self._connector = connector
        self._task = task
        self._topics = topics
        self._partitions = partitions
        self._counts = counts

    def park(self, failure: Failure) -> bool:
        """Park a record that failed, unless it has been through all tiers. See `ErrorPolicy.park`."""
        batch = failure.batch
        if not isinstance(batch, SinkBatch):
            return False  # the task's own record: nobody can hand it in again
        source = original(batch, 0, parked=batch.original_topics[0] in self.waits)
        tier = self._settings.after((source.parked.attempt if source.parked else 0) + 1)
        if tier is None:
            if self.order is not None:
                self.order.given_up(source.letter.key, source.topic, source.partition, source.offset)
            return False
        context = context_of(failure, self._connector, self._task, source)
        parked = self._write(source, context, tier, failed=True)
        if self.order is not None:
            self.order.failed(source.letter.key, parked)
        return True

    def park_behind(self, batch: SinkBatch, row: int) -> None:
        """Park a record behind others of its key, untried. Only where the order of keys is kept."""
        assert self.order is not None
        topic = batch.original_topics[row]
        source = original(batch, row, parked=topic in self.waits)
        context = ErrorContext(
            topic=source.topic,
            partition=source.partition,
            offset=source.offset,
            connector=self._connector,
            task=self._task,
            message="It waits behind a record of its key.",
        )
        parked = self._write(source, context, self._settings.behind(topic), failed=False)
        self.order.parked(source.letter.key, parked)
        self._counts.parked += 1

    def hold_back(self, batch: SinkBatch) -> SinkBatch:
        """Park the records of a batch that are behind one of their key that failed. See `ErrorPolicy.hold_back`."""
        order = self.order
        if order is None or not order.any_failed():
            return batch
        kept = []
        for row in range(len(batch)):
            source = original(batch, row, parked=batch.original_topics[row] in self.waits)
            if order.is_behind(TopicPartition(source.topic, source.partition), source.offset, source.letter.key):
                self.park_behind(batch, row)
            else:
                kept.append(row)
        return batch if len(kept) == len(batch) else batch.take(kept)

    def in_order(
        self,
        current: Mapping[TopicPartition, int],
        durable: Mapping[TopicPartition, int],
        committed: Mapping[TopicPartition, int],
    ) -> Mapping[TopicPartition, int]:
        """The offsets to commit, so that after a crash no record of a key is repeated without those behind it.

        Args:
            current: up to here the task was given everything.
            durable: up to here it said that all is durable.
            committed: what is already committed.
        """
        if self.order is None:
            return durable
        late = {
            partition.partition
            for partition, offset in current.items()
            if partition.topic in self.waits and durable.get(partition, committed.get(partition, -1)) < offset
        }
        return {partition: offset for partition, offset in durable.items() if partition.partition not in late}

    def _write(self, source: Original, context: ErrorContext, tier: Tier, *, failed: bool) -> ParkedHeaders:
        letter = parked(source, context, tier.wait_ms, int(time.time() * 1000), failed=failed)
        self._topics.send(tier.topic, letter, source.partition % self._partitions(tier.topic))
        return ParkedHeaders.split(letter.headers)[1]
