"""Waits until a topic exists, so that records for it do not queue up; a broker that creates topics does so on this."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from connect.kafka.clients.errors import ClientErrors, is_away
from connect.kafka.writing.refusals import DeliveryError

#: How long a broker may take to create a topic that we asked it for: usually less than one second.
_TOPIC_S: Final = 10.0
#: How long a task that is to stop may wait for an answer about a topic.
_METADATA_S: Final = 2.0
_AGAIN_S: Final = 0.05


def await_topic(topic: str, client: Any, brokers: ClientErrors, keep_going: Callable[[], None]) -> None:
    """Return when a topic exists.

    Args:
        client: the producer's, which asks.
        brokers: learns whether they answer.
        keep_going: see `BatchProducer`.

    Raises:
        DeliveryError: the topic cannot be created, or this user may not write to it.
        NotLetInError: the brokers refuse this client.
    """
    from confluent_kafka import KafkaError, KafkaException

    deadline = time.monotonic() + _TOPIC_S
    while True:
        keep_going()
        try:
            found = client.list_topics(topic, timeout=brokers.soon(_METADATA_S)).topics[topic]
        except KafkaException as error:
            if not is_away(error.args[0]):
                raise DeliveryError(topic, error.args[0].name(), error.args[0].str()) from None
            client.poll(0)  # what the client has to say of its connections
            brokers.check()
            if brokers.refusal is None:
                brokers.unanswered(error.args[0])
            deadline = time.monotonic() + _TOPIC_S
            continue
        brokers.answered()
        if found.error is None and found.partitions:
            return
        if found.error is not None and found.error.code() in (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.TOPIC_EXCEPTION,
            KafkaError.INVALID_REPLICATION_FACTOR,
        ):
            raise DeliveryError(topic, found.error.name(), found.error.str())
        if time.monotonic() >= deadline:
            code = found.error.name() if found.error is not None else "LEADER_NOT_AVAILABLE"
            raise DeliveryError(topic, code, "it does not exist and the broker does not create it")
        client.poll(_AGAIN_S)
