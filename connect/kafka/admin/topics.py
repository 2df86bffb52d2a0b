"""Creates the compacted topics of a pool of workers, or checks existing ones."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import LATEST, NO_ANSWER, AdminError

if TYPE_CHECKING:
    from connect.kafka.admin.client import Admin

log = logging.getLogger("connect.kafka")

_ANSWER_S: Final = 10.0
_LEAST_S: Final = 0.1  # what a request takes though the time is up
_LOOK_AGAIN_S: Final = 0.05
_REFUSED: Final = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")


@dataclass(frozen=True, slots=True)
class TopicShape:
    """How a topic is created when it does not exist.

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


def make_or_check(topic: str, admin: Admin, shape: TopicShape, timeout: float) -> list[int]:
    """Create a compacted topic, or check the one that exists.

    Args:
        topic: its name.
        admin: sends the requests.
        shape: see `TopicShape`.
        timeout: seconds until it must exist.

    Returns:
        its partitions.

    Raises:
        ConnectError: it cannot be created, or what exists is not compacted or has the wrong number of partitions.
        NotLetInError: the brokers refuse this client.
    """
    deadline = time.monotonic() + timeout
    made = False
    while True:
        left = max(_LEAST_S, deadline - time.monotonic())
        try:
            partitions = admin.partitions([topic], min(_ANSWER_S, left)).get(topic)
        except AdminError as error:
            if error.code == "LEADER_NOT_AVAILABLE" and time.monotonic() < deadline:
                continue
            what = "" if error.code == NO_ANSWER else f"Topic {topic} cannot be looked at: "
            raise ConnectError(f"{what}{error.words}.") from error
        if partitions:
            _check(admin, topic, shape, len(partitions))
            return partitions
        if time.monotonic() >= deadline:
            what = "was made but does not appear" if made else "exists, but no broker has its partitions"
            raise ConnectError(f"Topic {topic} {what}.")
        if not made:
            _make(admin, topic, shape, left)
            made = True
        time.sleep(_LOOK_AGAIN_S)


def end_offsets(
    admin: Admin, topic: str, partitions: Sequence[int], timeout: float, *, open_too: bool = False
) -> dict[int, int]:
    """For each partition the offset after the last record before the first open transaction.

    Args:
        admin: sends the requests.
        topic: its name.
        partitions: of it.
        timeout: seconds.
        open_too: the offset after the very last record instead, whether its transaction is over or not.

    Raises:
        ConnectError: the brokers do not answer, or the client was closed.
    """
    asked = {TopicPartition(topic, partition): LATEST for partition in partitions}
    deadline = time.monotonic() + timeout
    while True:
        left = max(_LEAST_S, deadline - time.monotonic())
        try:
            found = admin.offsets(asked, committed_only=not open_too, timeout=left)
        except AdminError as error:
            if admin.closed:
                raise ConnectError(f"Topic {topic} is not read any more.") from error
            # What was made just now is not known to all brokers.
            if error.code in _REFUSED or time.monotonic() >= deadline:
                raise ConnectError(f"Topic {topic} cannot be read: {error.words}.") from error
        else:
            return {at.partition: offset for at, offset in found.items()}
        time.sleep(_LOOK_AGAIN_S)


def _make(admin: Admin, topic: str, shape: TopicShape, timeout: float) -> None:
    settings = {**shape.settings, "cleanup.policy": "compact"}
    try:
        if admin.make_topic(topic, shape.partitions, shape.replication, settings, timeout):
            log.info("made topic %s, compacted", topic)
    except AdminError as error:
        raise ConnectError(cannot_be_made(topic, shape, error)) from error


def cannot_be_made(topic: str, shape: TopicShape, error: AdminError) -> str:
    """Why brokers refuse to create a topic, and what to do."""
    advice = ""
    if error.code == "INVALID_REPLICATION_FACTOR":
        advice = f" Lower its replication factor ({shape.replication}) in the worker's configuration."
    if error.code in _REFUSED:
        advice = " Grant CREATE and DESCRIBE on it to the worker's user, or make it, with cleanup.policy=compact."
    return f"Topic {topic} cannot be made: {error.words}.{advice}"


def wrong_partitions(topic: str, shape: TopicShape, partitions: int) -> str | None:
    """What is wrong with the number of partitions that a topic has, if anything."""
    exact = shape.exact_partitions
    if exact is None or partitions == exact:
        return None
    return (
        f"Topic {topic} has {partitions} partitions, and must have {exact}. Name another topic, or copy its content"
        f" into one with {exact}."
    )


def wrong_policy(topic: str, policy: str | None) -> str | None:
    """What is wrong with the cleanup.policy that a topic has, if anything."""
    if policy == "compact":
        return None
    return (
        f"Topic {topic} has cleanup.policy={policy}: what it holds is deleted in time. Name another topic, or run"
        f" `kafka-configs --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact`."
    )


def _check(admin: Admin, topic: str, shape: TopicShape, partitions: int) -> None:
    if wrong := wrong_partitions(topic, shape, partitions):
        raise ConnectError(wrong)
    try:
        policy = admin.topic_settings([topic])[topic]["cleanup.policy"].value
    except (AdminError, KeyError) as error:
        # Not everybody may describe a topic's configuration; Java's worker goes on as well.
        why = error.words if isinstance(error, AdminError) else "the brokers do not tell"
        log.warning("Whether topic %s is compacted cannot be seen: %s", topic, why)
        return
    if wrong := wrong_policy(topic, policy):
        raise ConnectError(wrong)
