"""Batches of the client's messages: columns that are made where somebody looks, errors told apart from records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from connect.data.batch import SinkBatch
from connect.data.column import Column, Constant, Deferred
from connect.data.values import Values
from connect.errors import ConnectError

_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")

T = TypeVar("T")


def batch_of(messages: list[Any], origin: tuple[str | None, int | None]) -> SinkBatch:
    """Messages as a batch, in their order.

    Args:
        messages: of confluent_kafka, none of them an error.
        origin: the topic and the partition that all are from, each where that is known.
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
            lambda: [at if kind else None for kind, at in stamps],
            lambda row: stamps[row][1] if stamps[row][0] else None,
        ),
        timestamp_types=Deferred(n, lambda: [_TIMESTAMP_TYPES[kind] for kind, _ in stamps]),
        headers=_deferred(messages, message.headers),
    )


def records_of(messages: list[Any], say: Callable[[str], None]) -> list[Any]:
    """The messages that are records. `say` is told of errors that pass by themselves.

    Raises:
        ConnectError: one is an error that does not.
    """
    from confluent_kafka import KafkaError, Message

    if not any(map(Message.error, messages)):
        return messages
    good = []
    for message in messages:
        error = message.error()
        if error is None:
            good.append(message)
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
        elif error.code() != KafkaError._PARTITION_EOF:
            say(f"{error.str()} ({error.name()})")
    return good


def _deferred(messages: list[Any], get: Callable[[Any], T]) -> Deferred[T]:
    return Deferred(len(messages), lambda: list(map(get, messages)), lambda row: get(messages[row]))
