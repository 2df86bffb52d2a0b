"""Reads partitions from an offset to where they end, without a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.client_log import log as client_log

_WAIT_S: Final = 0.2
_ROWS: Final = 1000


class RawRecord(NamedTuple):
    """A record as it lies in Kafka, without its value."""

    partition: TopicPartition
    offset: int
    key: bytes | None
    headers: list[tuple[str, bytes | None]]


def read_to_end(
    settings: Mapping[str, Any], begin: Mapping[TopicPartition, int], keep_going: Callable[[], None]
) -> Iterator[RawRecord]:
    """The records of partitions, each from its offset on (-2: from its first), up to where the broker has no more.

    Args:
        settings: librdkafka's, of a consumer.
        begin: partitions and offsets.
        keep_going: called while waiting; raises to end it.

    Raises:
        ConnectError: the brokers refuse.
    """
    from confluent_kafka import Consumer, KafkaException
    from confluent_kafka import TopicPartition as ClientPartition

    own = {"enable.partition.eof": True, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, **own, "logger": client_log})
    left = set(begin)
    try:
        consumer.assign([ClientPartition(*partition, offset) for partition, offset in begin.items()])
        while left:
            keep_going()
            message: Any
            for message in consumer.consume(_ROWS, _WAIT_S):
                origin = TopicPartition(message.topic(), message.partition())
                if (error := message.error()) is not None:
                    if error.name() == "_PARTITION_EOF":
                        left.discard(origin)
                    elif not error.retriable():
                        raise ConnectError(f"{origin} cannot be read: {error.str()}")
                elif origin in left:
                    yield RawRecord(origin, message.offset(), message.key(), list(message.headers() or ()))
    except KafkaException as error:
        raise ConnectError(f"Retry topics cannot be read: {error.args[0].str()}") from error
    finally:
        consumer.close()
