"""Reads ranges of offsets of single partitions, without a group, for Spark's executors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.errors import ConnectError, RetriableError
from connect.kafka.reading.messages import assigned_consumer, batch_of, records_of

log = logging.getLogger("connect.kafka")

#: How long records are gathered for one batch, where fewer come than it may hold.
_WAIT_S: Final = 0.05
#: How long a broker may wait for records that are not there yet. A request that waits holds up the next range's.
_BROKER_WAIT_MS: Final = 100
#: How long to wait for word of a topic's leaders, which is a matter of milliseconds.
_METADATA_S: Final = 5.0


class DataLossError(ConnectError):
    """Requested records no longer exist."""


class RangeConsumer:
    """Reads one range after another. For one thread.

    A range that begins where the last one ended uses what the client has already fetched.

    Args:
        settings: librdkafka's, of a consumer.
        fail_on_data_loss: whether missing records are an error; else reading continues behind them.
        fetch_ahead_kb: how much may be fetched and not yet read.
        silence_s: seconds without a message after which reading is given up.
        truncated_s: how long a partition may end before a range does: its leader may be a new one that catches up.
        unknown_s: how long brokers may not know a partition, likewise.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        fail_on_data_loss: bool = True,
        fetch_ahead_kb: int = 4_096,
        silence_s: float = 60.0,
        truncated_s: float = 10.0,
        unknown_s: float = 10.0,
    ) -> None:
        own = {
            "auto.offset.reset": "error" if fail_on_data_loss else "earliest",
            "fetch.wait.max.ms": _BROKER_WAIT_MS,
            "queued.max.messages.kbytes": fetch_ahead_kb,
            "topic.metadata.propagation.max.ms": int(unknown_s * 1000),
        }
        self._open: Callable[[], Any] = lambda: assigned_consumer(settings, own, self._on_error)
        self._consumer = self._open()
        self._fail = fail_on_data_loss
        self._silence_s = silence_s
        self._truncated_s = truncated_s
        self._at: tuple[TopicPartition, int] | None = None  # what the client hands out next
        self._place: TopicPartition | None = None
        self._gone = ""  # why nothing is left to be read
        self._problem = ""

    def read(self, partition: TopicPartition, start: int, end: int, rows: int) -> Iterator[SinkBatch]:
        """The records from offset `start` up to, not including, `end`, as batches of bytes of at most `rows`.

        Raises:
            DataLossError: some no longer exist.
            RetriableError: no broker answers for a while.
            ConnectError: the brokers refuse.
        """
        from confluent_kafka import Message
        from confluent_kafka import TopicPartition as ClientPartition

        self._place, self._gone, self._problem = partition, "", ""
        if start < end and self._at != (partition, start):
            self._consumer.assign([ClientPartition(partition.topic, partition.partition, start)])
            self._hasten(partition.topic)
        position, partition_end, heard = start, -1, time.monotonic()
        while position < end and not self._gone:
            self._at = None  # until it is certain again
            records = self._consumer.consume(min(rows, end - position), _WAIT_S)
            if any(map(Message.error, records)):
                partition_end = self._partition_end(records, partition_end)
                records = [message for message in records if message.error() is None]
            if records and records[0].offset() < position:  # `start` was out of range, and the client started over
                records = [message for message in records if message.offset() >= position]
            if records:
                position = records[-1].offset() + 1
                self._at = (partition, max(position, partition_end))
                if position > end:  # behind a gap
                    records = [message for message in records if message.offset() < end]
                if records:
                    yield batch_of(records, partition)
                heard = time.monotonic()  # not before: who takes the records may take long
            elif partition_end >= end:  # only marks of transactions, or what was compacted, lies between
                position = end
                self._at = (partition, partition_end)
            elif partition_end >= 0 and time.monotonic() - heard > self._truncated_s:
                self._gone = f"the partition ends at offset {partition_end}, before {end}"
            elif time.monotonic() - heard > self._silence_s:
                # A client may stand still for good, see `standstill.py`: the next try has another one.
                self._consumer.close()
                self._consumer = self._open()
                raise RetriableError(
                    f"{partition.topic}-{partition.partition} cannot be read: nothing came for {self._silence_s:.0f} s."
                    f" {self._problem}".rstrip()
                )
        if position < end:
            self._lost(partition, self._gone)

    def _hasten(self, topic: str) -> None:
        """Have the client fetch a newly assigned partition now, not at its next check, once a second."""
        from confluent_kafka import KafkaException

        try:
            self._consumer.list_topics(topic, timeout=_METADATA_S)
        except KafkaException:
            pass  # reading tells what is wrong

    def _partition_end(self, messages: list[Any], known: int) -> int:
        """The end of the partition, if the client reported it. Raises errors that do not pass."""
        from confluent_kafka import KafkaError

        for message in messages:
            error = message.error()
            if error is None:
                continue
            if error.code() == KafkaError._PARTITION_EOF:
                known = message.offset()
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                self._gone = error.str()
            else:
                records_of([message], self._say)
        return known

    def _on_error(self, error: Any) -> None:
        """Called by the client while it consumes."""
        from confluent_kafka import KafkaError

        unknown = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
        partition = self._place
        if error.code() not in unknown:
            self._say(error.str())
        elif partition is not None and error.str().startswith(f"{partition.topic} [{partition.partition}]"):
            self._gone = "there is no such partition any more"

    def _lost(self, partition: TopicPartition, why: str) -> None:
        words = f"Records of {partition.topic}-{partition.partition} are gone before they were read: {why}."
        if self._fail:
            raise DataLossError(
                f"{words} Alter the connector's offsets to go on from what is there, or set fail.on.data.loss=false."
            )
        log.warning("%s Reading goes on behind them.", words)

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            log.warning("%s", problem)

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()
