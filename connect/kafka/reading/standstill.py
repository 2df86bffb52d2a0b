"""Finds out whether a consumer's client still reads its partitions.

librdkafka keeps the leader epoch of a partition whose topic is deleted. What brokers say of a topic of the same name
that is created later is outdated for it, as its epochs begin at 0, and it reads nothing of it, without a word, until it
is replaced (https://github.com/confluentinc/librdkafka/issues/4898 for producers; Java's client until KAFKA-12257).

With every answer to a fetch, an empty one too, the client learns where a partition ends. So it stands still where that
end has stayed the same, and brokers that are asked name another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from connect.data.record import TopicPartition

#: In place of a time: the end of a partition (KIP-79).
_END: Final = -1
_ANSWER_S: Final = 2.0
#: A look comes as often as the client refreshes what it knows of topics, within these bounds.
_EVERY_S: Final = (5.0, 60.0)
#: Answers of a broker that the client should not have asked.
_ASKED_IN_VAIN: Final = frozenset(
    {"NOT_LEADER_FOR_PARTITION", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "UNKNOWN_TOPIC_ID"}
)


class _Reach(NamedTuple):
    """How far the client has come in a partition.

    Attributes:
        position: the next offset; -1 where no record was delivered.
        heard: the end as of the last answer to a fetch; negative where there was none.
    """

    position: int
    heard: int


class Standstill:
    """The partitions in which one client stands still. Called on the consumer's thread.

    Args:
        consumer: a `confluent_kafka.Consumer`.
        settings: its own, of librdkafka.
        clock: seconds, monotonic.
    """

    def __init__(self, consumer: Any, settings: Mapping[str, Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        refresh = int(settings.get("topic.metadata.refresh.interval.ms", 300_000)) / 1000
        self._every = min(max(refresh, _EVERY_S[0]), _EVERY_S[1])
        # An end is the last stable offset then, which may be lower than the end that is heard.
        self._stable_only = settings.get("isolation.level", "read_committed") == "read_committed"
        self._clock = clock
        self._due = clock() + self._every
        self._suspects: dict[TopicPartition, _Reach] = {}
        self._gone: set[TopicPartition] = set()

    @property
    def gone(self) -> frozenset[TopicPartition]:
        """Partitions that brokers did not know when offsets were committed, and that were not seen alive since."""
        return frozenset(self._gone)

    def is_gone(self, partitions: Iterable[TopicPartition]) -> None:
        """Brokers do not know these partitions, which are assigned."""
        if not (unknown := set(partitions)):
            return
        self._gone |= unknown
        self._due = min(self._due, self._clock() + _EVERY_S[0])

    def rest(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions are not read for now."""
        for partition in partitions:
            self._suspects.pop(partition, None)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions are no longer assigned."""
        self.rest(partitions)
        self._gone.difference_update(partitions)

    def look(
        self, reading: frozenset[TopicPartition], positions: Callable[[], Mapping[TopicPartition, int]]
    ) -> frozenset[TopicPartition]:
        """Those in which the client stood still at this look and at the one before. Quick, unless a look is due.

        Args:
            reading: the assigned partitions that are not paused. Nothing that the client has fetched of them waits.
            positions: gives the next offset of those that had records.
        """
        now = self._clock()
        if now < self._due or not reading:
            return frozenset()
        self._due = now + self._every
        reached = positions()
        suspects = {}
        for partition, end in self._ends(reading).items():
            reach = _Reach(reached.get(partition, -1), self._heard(partition))
            if self._is_behind(reach, end):
                suspects[partition] = reach
            elif reach.heard == end:
                self._gone.discard(partition)
        stuck = frozenset(partition for partition, reach in suspects.items() if self._suspects.get(partition) == reach)
        self._suspects = suspects
        return stuck

    def _is_behind(self, reach: _Reach, end: int | None) -> bool:
        if end is None or reach.heard < 0:
            return end != 0
        return end > reach.heard or reach.position > end or (end < reach.heard and not self._stable_only)

    def _heard(self, partition: TopicPartition) -> int:
        from confluent_kafka import TopicPartition as ClientPartition

        known: tuple[int, int] | None = self._consumer.get_watermark_offsets(ClientPartition(*partition), cached=True)
        return -1 if known is None else known[1]

    def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """The ends that brokers name now; None where the client asks the wrong one. Others are left out."""
        from confluent_kafka import KafkaException
        from confluent_kafka import TopicPartition as ClientPartition

        asked = [ClientPartition(*partition, _END) for partition in partitions]
        try:
            answers = self._consumer.offsets_for_times(asked, timeout=_ANSWER_S)
        except KafkaException:
            return {}  # brokers are away, and the client tells of it
        return {
            TopicPartition(str(each.topic), int(each.partition)): None if each.error else int(each.offset)
            for each in answers
            if each.error is None or each.error.name() in _ASKED_IN_VAIN
        }
