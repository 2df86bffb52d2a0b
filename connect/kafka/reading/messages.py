"""What all readers share: take messages from a consumer, tell errors from records, and make batches.

Columns of a batch are made when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from connect.data.batch import SinkBatch
from connect.data.column import Column, Constant, Deferred
from connect.data.record import TopicPartition
from connect.data.values import Values
from connect.errors import ConnectError
from connect.kafka.clients.errors import is_away
from connect.kafka.clients.log import log as client_log
from connect.kafka.reading.arrivals import Arrivals

_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")
#: What stands in a record in place of a time.
NO_TIMESTAMP: Final = -1

T = TypeVar("T")


def assigned_consumer(
    settings: Mapping[str, Any], own: Mapping[str, Any], on_error: Callable[[Any], None] | None = None
) -> Any:
    """A client for assigned partitions: it joins no group, commits nothing and reports their ends.

    Args:
        settings: librdkafka's, of a consumer.
        own: further settings of the reader; None removes one.
        on_error: called with connection errors.
    """
    from confluent_kafka import Consumer

    # A topic that was deleted must not come back by being read. What ends in control records has no other sign of it.
    ours = {"enable.auto.commit": False, "allow.auto.create.topics": False, "enable.partition.eof": True}
    merged = {**settings, **ours, "group.instance.id": None, **own, "error_cb": on_error, "logger": client_log}
    return Consumer({key: value for key, value in merged.items() if value is not None})


def take(consumer: Any, rows: int, timeout: float, arrived: Arrivals | None = None) -> list[Any]:
    """The next messages, at most this many; waits this many seconds for the first.

    The client's own call waits for all of them or the whole time; waiting for one first keeps a quiet topic quick.
    """
    first = consumer.poll(timeout) if arrived is None else arrived.poll(consumer, timeout)
    if first is None:
        return []
    messages: list[Any] = consumer.consume(rows - 1, 0)
    messages.insert(0, first)
    return messages


def timestamp_of(kind: int, at: int) -> int | None:
    """The time of a record by what the client says of it; None for one without: a producer may write -1 for none."""
    return at if kind and at != NO_TIMESTAMP else None


def batch_of(messages: list[Any], origin: tuple[str | None, int | None]) -> SinkBatch:
    """Messages as a batch, in their order.

    Args:
        messages: of confluent_kafka, none of them an error.
        origin: the topic and the partition of all of them, each where that is known.
    """
    from confluent_kafka import Message

    message: Any = Message  # its methods, mapped over a batch, run without a step of Python's
    n = len(messages)
    topic, partition = origin
    topics: Column[str] = _deferred(messages, message.topic) if topic is None else Constant(topic, n)
    partitions: Column[int] = _deferred(messages, message.partition) if partition is None else Constant(partition, n)
    stamps = _deferred(messages, message.timestamp)
    return SinkBatch(
        topics,
        Values.raw(list(map(message.value, messages))),
        partitions=partitions,
        offsets=_deferred(messages, message.offset),
        keys=Values.raw(_deferred(messages, message.key)),
        timestamps=Deferred(
            n,
            lambda: [at if kind and at != NO_TIMESTAMP else None for kind, at in stamps],  # `timestamp_of`, faster
            lambda row: timestamp_of(*stamps[row]),
        ),
        timestamp_types=Deferred(n, lambda: [_TIMESTAMP_TYPES[kind] for kind, _ in stamps]),
        headers=_deferred(messages, message.headers),
    )


def records_of(
    messages: list[Any],
    say: Callable[[str], None],
    ended: Callable[[TopicPartition, int], None] | None = None,
    *,
    waits: bool = True,
) -> list[Any]:
    """The messages that are records.

    Args:
        messages: of confluent_kafka.
        say: called with transient errors.
        ended: called with the current end of a partition.
        waits: whether the caller reads forever. Else only unavailable brokers count as transient.

    Raises:
        ConnectError: one is an error that does not pass.
    """
    from confluent_kafka import KafkaError, Message

    if not any(map(Message.error, messages)):
        return messages
    good = []
    for message in messages:
        error = message.error()
        if error is None:
            good.append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            if ended is not None:
                ended(TopicPartition(message.topic(), message.partition()), message.offset())
        elif not waits and not is_away(error):
            raise cannot_read(message.topic(), error)
        elif error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED):
            raise ConnectError(
                f"The broker refuses: {error.str()} ({error.name()}). Grant READ on the topics and on the consumer"
                " group of this connector to its user."
            )
        elif error.code() == KafkaError._FATAL and "fenced" in error.str():
            raise ConnectError(
                "Another process has taken this task's place in its consumer group (FENCED_INSTANCE_ID): it runs there."
            )
        elif error.fatal() or error.code() in (KafkaError._FATAL, KafkaError._AUTO_OFFSET_RESET):
            raise ConnectError(f"The consumer cannot go on: {error.str()} ({error.name()}).")
        else:
            say(f"{error.str()} ({error.name()})")
    return good


def cannot_read(topic: str, error: Any) -> ConnectError:
    """The error of a reader that reads a topic to its end and gets this error of the client."""
    return ConnectError(f"Topic {topic} cannot be read: {error.str()} ({error.name()}).")


def _deferred(messages: list[Any], get: Callable[[Any], T]) -> Deferred[T]:
    return Deferred(len(messages), lambda: list(map(get, messages)), lambda row: get(messages[row]))
