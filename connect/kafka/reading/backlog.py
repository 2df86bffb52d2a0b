"""The number of records that wait for a consumer, as far as its client knows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from connect.data.record import TopicPartition

#: How long the group may be asked what it has committed, and how long not again after it had no answer.
_COMMITTED_WITHIN_S = 0.5
_COMMITTED_AGAIN_S = 10.0


class Backlog:
    """What waits in a consumer's partitions. Called on the consumer's thread.

    Args:
        consumer: a `confluent_kafka.Consumer`.
        from_end: whether reading begins at the end where nothing is committed.
    """

    def __init__(self, consumer: Any, *, from_end: bool) -> None:
        self._consumer = consumer
        self._from_end = from_end
        #: Where reading begins, as far as that was told or asked; None where that is for auto.offset.reset to say.
        self._begin: dict[TopicPartition, int | None] = {}
        self._ask_again = 0.0

    def begins(self, partition: TopicPartition, offset: int) -> None:
        """Reading of a partition begins there."""
        self._begin[partition] = offset

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions are no longer assigned."""
        for partition in partitions:
            self._begin.pop(partition, None)

    def count(self, assignment: frozenset[TopicPartition], positions: Mapping[TopicPartition, int]) -> int:
        """Records that wait, -1 while that is unknown for one of the partitions.

        Sends no request, except one for each partition without records so far: what the group has committed.

        Args:
            assignment: the assigned partitions.
            positions: the next offset of those that had records.
        """
        from confluent_kafka import TopicPartition as ClientPartition

        self._learn_begin(assignment - positions.keys() - self._begin.keys())
        total = 0
        for partition in assignment:
            # Cached: without that the client may wait forever while another thread polls it.
            ends: tuple[int, int] | None = self._consumer.get_watermark_offsets(
                ClientPartition(*partition), cached=True
            )
            low, high = (-1, -1) if ends is None else ends
            if high < 0 or (partition not in positions and partition not in self._begin):
                return -1
            position = positions.get(partition, self._begin.get(partition))
            if position is None:
                position = high if self._from_end else low
            total += max(0, high - max(position, low))
        return total

    def _learn_begin(self, unknown: Iterable[TopicPartition]) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka import TopicPartition as ClientPartition

        asked = [ClientPartition(*partition) for partition in unknown]
        if not asked or time.monotonic() < self._ask_again:
            return
        try:
            found = self._consumer.committed(asked, timeout=_COMMITTED_WITHIN_S)
        except KafkaException:  # the broker is away; the client tells of it
            self._ask_again = time.monotonic() + _COMMITTED_AGAIN_S
            return
        for answer in found:
            if answer.error is None:
                offset = int(answer.offset)
                self._begin[TopicPartition(str(answer.topic), int(answer.partition))] = offset if offset >= 0 else None
