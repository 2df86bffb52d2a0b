"""Reads parts of partitions to their ends, without a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from connect.data.record import TopicPartition
from connect.kafka.reading.messages import assigned_consumer, cannot_read, records_of, take, timestamp_of

_WAIT_S: Final = 0.2
_ROWS: Final = 1000


class StoredRecord(NamedTuple):
    """A record as it is stored in a topic.

    Attributes:
        timestamp: milliseconds since the epoch; None where the record has none.
        timestamp_type: "CreateTime", "LogAppendTime" or "NoTimestampType".
        headers: pairs of key and bytes, in order.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]

    @classmethod
    def of(cls, message: Any) -> StoredRecord:
        """The record of a client's message."""
        kind, at = message.timestamp()
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp_of(kind, at),
            ("NoTimestampType", "CreateTime", "LogAppendTime")[kind],
            message.key(),
            message.value(),
            message.headers() or (),
        )

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        headers = sum(len(key) + len(data or b"") for key, data in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


def read_range(
    consumer: Any,
    begin: Mapping[TopicPartition, int],
    keep_going: Callable[[], None],
    *,
    until: Mapping[TopicPartition, int] | None = None,
    ends: dict[TopicPartition, int] | None = None,
    open_too: bool = False,
) -> Iterator[list[Any]]:
    """The client's messages of partitions, those of one in order.

    Args:
        consumer: from `assigned_consumer`; its creator closes it.
        begin: the offset to begin at, by partition.
        keep_going: called while waiting; raises to end it.
        until: the offset to stop before, by partition; by default, and at most, the end of the partition.
        ends: receives, for each finished partition, the offset behind it. The caller may add one to stop early.
        open_too: an end before the offset in `until` is that of open transactions, which are waited for.

    Raises:
        ConnectError: the brokers refuse, or there is no such topic.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka import TopicPartition as ClientPartition

    until, ends = until or {}, {} if ends is None else ends

    def ended(partition: TopicPartition, offset: int) -> None:
        if not open_too or offset >= until.get(partition, 0):
            ends.setdefault(partition, offset)

    def wanted(message: Any) -> bool:
        partition = TopicPartition(message.topic(), message.partition())
        offset, end = message.offset(), until.get(partition)
        if partition in through or (end is not None and offset >= end):
            ends.setdefault(partition, offset)
            return False
        if end is not None and offset + 1 >= end:
            ends[partition] = end
        return True

    try:
        consumer.assign([ClientPartition(*partition, offset) for partition, offset in begin.items()])
        while len(ends) < len(begin):
            keep_going()
            through = frozenset(ends)
            messages = records_of(take(consumer, _ROWS, _WAIT_S), lambda _: None, ended, waits=False)
            if through or until:
                messages = [message for message in messages if wanted(message)]
            if messages:
                yield messages
        consumer.unassign()
    except KafkaException as error:
        raise cannot_read(", ".join(sorted({partition.topic for partition in begin})), error.args[0]) from error


def read_records(
    settings: Mapping[str, Any],
    begin: Mapping[TopicPartition, int],
    keep_going: Callable[[], None],
    until: Mapping[TopicPartition, int] | None = None,
) -> Iterator[StoredRecord]:
    """As `read_range`, record by record, with a client of its own by librdkafka's settings of a consumer."""
    consumer = assigned_consumer(settings, {})
    try:
        for messages in read_range(consumer, begin, keep_going, until=until):
            yield from map(StoredRecord.of, messages)
    finally:
        consumer.close()
