"""Makes the compacted topics of a cluster of workers, or checks that they are what they must be."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from connect.errors import ConnectError
from connect.kafka.client_errors import ClientErrors

log = logging.getLogger("connect.kafka")

_ANSWER_S = 10.0
_SLICE_S = 2.0  # between two looks at what keeps the client from an answer
_LEAST_S = 0.1  # what a request takes though the time is up
_LEADERS_S = 2.0  # nothing ends this wait before its time
_LOOK_AGAIN_S = 0.05


@dataclass(frozen=True, slots=True)
class TopicShape:
    """How a topic is made when it does not exist.

    Attributes:
        partitions: how many; -1 leaves it to the broker.
        replication: how many copies; -1 leaves it to the broker.
        settings: of the topic, such as ``segment.bytes``. cleanup.policy is compact whatever they say.
        exact_partitions: an existing topic with another number of partitions is refused.
    """

    partitions: int
    replication: int
    settings: Mapping[str, str]
    exact_partitions: int | None = None


def make_or_check(topic: str, admin: Any, shape: TopicShape, timeout: float, brokers: ClientErrors) -> list[int]:
    """Make a compacted topic, or check the one that exists.

    Args:
        topic: its name.
        admin: confluent-kafka's AdminClient.
        shape: see `TopicShape`.
        timeout: seconds until it must be there.
        brokers: hears the client's errors.

    Returns:
        its partitions.

    Raises:
        ConnectError: it cannot be made, or what exists is not compacted or has the wrong number of partitions.
        NotLetInError: the brokers refuse this client.
    """
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + timeout
    answer_by = time.monotonic() + min(_ANSWER_S, timeout)
    made = False
    while True:
        left = max(_LEAST_S, deadline - time.monotonic())
        try:
            # All topics: asking for one may make it, as the broker likes.
            found = admin.list_topics(timeout=min(brokers.soon(_SLICE_S), left)).topics.get(topic)
        except KafkaException as error:
            admin.poll(0)  # what the client has to say of its connections
            brokers.check()
            if time.monotonic() < answer_by:
                continue
            raise ConnectError(f"No broker answers: {error.args[0].str()}. Look at bootstrap.servers.") from error
        if found is not None and found.error is None and found.partitions:
            _check(admin, topic, shape, len(found.partitions), left)
            return sorted(found.partitions)
        if time.monotonic() >= deadline:
            what = "was made but does not appear" if made else "exists, but no broker has its partitions"
            raise ConnectError(f"Topic {topic} {what}.")
        if found is None and not made:
            _make(admin, topic, shape, left)
            made = True
        time.sleep(_LOOK_AGAIN_S)


def end_offsets(
    admin: Any,
    topic: str,
    partitions: Sequence[int],
    timeout: float,
    *,
    open_too: bool = False,
    given_up: Callable[[], bool] = lambda: False,
) -> dict[int, int]:
    """For each partition the offset after the last record before the first open transaction.

    Args:
        admin: confluent-kafka's AdminClient.
        topic: its name.
        partitions: of it.
        timeout: seconds.
        open_too: the offset after the very last record instead, whether its transaction is over or not.
        given_up: whether nobody waits for it any more.

    Raises:
        ConnectError: the brokers do not say, or it was given up.
    """
    from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    asked = {TopicPartition(topic, partition): OffsetSpec.latest() for partition in partitions}
    isolation = IsolationLevel.READ_UNCOMMITTED if open_too else IsolationLevel.READ_COMMITTED
    deadline = time.monotonic() + timeout
    refused = (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError._AUTHENTICATION,
    )
    while True:
        left = max(_LEAST_S, deadline - time.monotonic())
        try:
            answers = admin.list_offsets(asked, isolation_level=isolation, request_timeout=min(_ANSWER_S, left))
            while not given_up() and wait(answers.values(), _LOOK_AGAIN_S).not_done:
                pass
            if given_up():
                raise ConnectError(f"Topic {topic} is not read any more.")
            found = {place.partition: int(answer.result().offset) for place, answer in answers.items()}
        except KafkaException as error:
            # A new topic's partitions have no leader for a moment, an old one's have another one after a failure.
            if error.args[0].code() in refused or time.monotonic() >= deadline:
                raise ConnectError(f"Topic {topic} cannot be read: {error.args[0].str()}") from error
        else:
            # Where no broker answered in time, no error says so, but an offset that is none (2.16.1).
            if min(found.values()) >= 0:
                return found
            if time.monotonic() >= deadline:
                raise ConnectError(f"Topic {topic} cannot be read: its brokers do not answer.")
        _look_up_leaders(admin, min(_LEADERS_S, max(_LEAST_S, deadline - time.monotonic())))
        time.sleep(_LOOK_AGAIN_S)


def _look_up_leaders(admin: Any, timeout: float) -> None:
    """Without it librdkafka goes on asking as if a broker had not restarted, for minutes (2.16.1)."""
    from confluent_kafka import KafkaException

    with suppress(KafkaException):
        admin.list_topics(timeout=timeout)


def _make(admin: Any, topic: str, shape: TopicShape, timeout: float) -> None:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    settings = {**shape.settings, "cleanup.policy": "compact"}
    wish = NewTopic(topic, shape.partitions, shape.replication, config=settings)
    try:
        admin.create_topics([wish], request_timeout=timeout)[topic].result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return
        advice = ""
        if error.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR:
            advice = f" Lower its replication factor ({shape.replication}) in the worker's configuration."
        if error.args[0].code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
            advice = " Grant CREATE and DESCRIBE on it to the worker's user, or make it, with cleanup.policy=compact."
        raise ConnectError(f"Topic {topic} cannot be made: {error.args[0].str().rstrip('.')}.{advice}") from error
    log.info("made topic %s, compacted", topic)


def _check(admin: Any, topic: str, shape: TopicShape, partitions: int, timeout: float) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    exact = shape.exact_partitions
    if exact is not None and partitions != exact:
        raise ConnectError(
            f"Topic {topic} has {partitions} partitions, and must have {exact}. Name another topic, or copy its content"
            f" into one with {exact}."
        )
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        found = admin.describe_configs([resource], request_timeout=timeout)[resource].result()
    except KafkaException as error:
        # Not everybody may describe a topic's configuration; Java's worker goes on as well.
        log.warning("Whether topic %s is compacted cannot be seen: %s", topic, error.args[0].str())
        return
    policy = found["cleanup.policy"].value
    if policy != "compact":
        raise ConnectError(
            f"Topic {topic} has cleanup.policy={policy}: what it holds is deleted in time. Name another topic, or run"
            f" `kafka-configs --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact`."
        )
