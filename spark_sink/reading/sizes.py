"""The size of records: converts a limit of bytes into a number of records.

Brokers report offsets, not bytes. So the driver samples the first records of a batch before it is admitted, a few of
each of some partitions, where the limit may be near or the last sample is old.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from typing import Final

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.range_consumer import RangeConsumer
from spark_sink.reading.plan import ReadPlan

log = logging.getLogger("connect.spark")

#: What a record counts as of which nothing is known, because no record could be looked at yet.
GUESS: Final = 1024.0
#: Records of a partition that are looked at, and partitions at a time: those in which the most waits.
_ROWS: Final = 50
_PLACES: Final = 8
#: A limit is near where records as large as this many that are known would reach it.
_NEAR: Final = 4.0
#: Brokers refuse records that are larger than this, unless told otherwise: so few of them need no look.
_LARGEST: Final = 1 << 20
#: How long what was seen is believed while the limit is not near.
_BELIEVED_S: Final = 30.0
_SILENCE_S: Final = 5.0


class RecordSizes:
    """The bytes of keys and values of one plan's records. For one thread.

    Args:
        plan: its topics, and the size of its records if known.
    """

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan
        self._consumer: RangeConsumer | None = None
        self._of: dict[TopicPartition, float] = {}
        self._mean = plan.record_bytes or GUESS
        self._looked = time.monotonic() if plan.record_bytes else -math.inf

    def records(self, begin: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: float) -> float:
        """About how many of the waiting records fill a batch's limit of bytes; at least one.

        Args:
            begin, ends: the offsets of the next record, and after the last.
            most: the maximum.
        """
        limit = self._plan.most_bytes
        waiting = {partition: end - begin[partition] for partition, end in ends.items() if end > begin[partition]}
        count = min(sum(waiting.values()), most)
        if count * _LARGEST <= limit:
            return math.inf
        near = count * self._about(waiting) * _NEAR > limit
        if near or time.monotonic() - self._looked > _BELIEVED_S:
            self._look(waiting, begin, ends)
        return max(1.0, limit // self._about(waiting))

    def close(self) -> None:
        """Close the client."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _about(self, waiting: Mapping[TopicPartition, int]) -> float:
        """The mean over what waits, of which a batch has a share of each partition."""
        whole = sum(waiting.values())
        size = sum(count * self._of.get(partition, self._mean) for partition, count in waiting.items())
        return max(1.0, size / whole)

    def _look(
        self,
        waiting: Mapping[TopicPartition, int],
        begin: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
    ) -> None:
        seen: list[float] = []
        for partition in sorted(waiting, key=lambda partition: -waiting[partition])[:_PLACES]:
            try:
                size = self._first(partition, begin[partition], min(ends[partition], begin[partition] + _ROWS))
            except ConnectError as error:
                log.debug("How large records are is not known: %s", error)  # whoever reads them says what is wrong
                break
            if size is not None:
                self._of[partition] = size
                seen.append(size)
        if seen:
            self._mean = sum(seen) / len(seen)
            self._looked = time.monotonic()

    def _first(self, partition: TopicPartition, start: int, end: int) -> float | None:
        """The average size of the first records of a range; None where it has none."""
        if self._consumer is None:
            clients = task_client_settings("consumer", self._plan.worker, self._plan.config)
            self._consumer = RangeConsumer(
                clients.librdkafka, fail_on_data_loss=False, fetch_ahead_kb=1024, silence_s=_SILENCE_S
            )
        for batch in self._consumer.read(partition, start, end, _ROWS):
            return bytes_of(batch) / len(batch)
        return None


def bytes_of(batch: SinkBatch) -> int:
    """The size of keys and values of raw records."""
    return sum(len(item) for column in (batch.keys, batch.values) for item in column if item is not None)
