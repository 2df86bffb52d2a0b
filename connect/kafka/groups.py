"""Consumer groups of sink connectors: their committed offsets, and the members that killed tasks left behind.

Until its session ends (10 s by default) such a member holds its partitions, and no successor gets them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.client_settings import task_client_settings, task_java_settings
from connect.kafka.kafka_python_settings import kafka_python_settings

log = logging.getLogger("connect.kafka")

_TIMEOUT_S = 20.0
_SESSION_MS = 45_000  # librdkafka's own


class GroupInUseError(ConnectError):
    """The group has members; its offsets cannot be changed by others."""


def group_of(worker: Mapping[str, str], connector: Mapping[str, str]) -> str:
    """The group that a sink connector's tasks consume in."""
    return str(task_client_settings("consumer", worker, connector).librdkafka["group.id"])


def session_of(worker: Mapping[str, str], connector: Mapping[str, str]) -> float:
    """Seconds after which a member of that group that says nothing is taken for gone."""
    settings = task_client_settings("consumer", worker, connector).librdkafka
    return int(settings.get("session.timeout.ms", _SESSION_MS)) / 1000


def committed_offsets(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[TopicPartition, int]:
    """What the group of a sink connector has committed; empty where there is no such group.

    Raises:
        ConnectError: the broker refuses, or none answers.
    """
    from kafka import KafkaAdminClient
    from kafka.errors import GroupIdNotFoundError, KafkaError

    group = group_of(worker, connector)
    try:
        # Not librdkafka's: its admin client ends the process (SIGSEGV) when a coordinator moves meanwhile.
        admin = KafkaAdminClient(**_settings(worker, connector))
        try:
            found = admin.list_group_offsets(group)[group]
        finally:
            admin.close()
    except GroupIdNotFoundError:
        return {}
    except KafkaError as error:
        raise ConnectError(f"Group {group}: {error}") from error
    return {TopicPartition(p.topic, p.partition): at.offset for p, at in found.items() if at.offset >= 0}


def alter_offsets(
    worker: Mapping[str, str], connector: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
) -> None:
    """Commit offsets in place of a sink connector's group, which must have no members. None forgets one.

    Raises:
        GroupInUseError: it has members.
        ConnectError: the broker refuses: there is no such partition, for example.
    """
    group = group_of(worker, connector)
    if new := {place: offset for place, offset in offsets.items() if offset is not None}:
        _commit(worker, connector, group, new)
    if gone := [place for place, offset in offsets.items() if offset is None]:
        _forget(worker, connector, group, gone)


def delete_group(worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
    """Forget a sink connector's group with all its offsets. One that does not exist is no error. Raises as above."""
    from confluent_kafka import KafkaError, KafkaException

    group = group_of(worker, connector)
    admin = _admin(worker, connector)
    try:
        admin.delete_consumer_groups([group], request_timeout=_TIMEOUT_S)[group].result()
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.NON_EMPTY_GROUP:
            raise GroupInUseError(f"Group {group} has members.") from error
        if code != KafkaError.GROUP_ID_NOT_FOUND:
            raise ConnectError(f"Group {group}: {error.args[0].str()}") from error


def _commit(
    worker: Mapping[str, str], connector: Mapping[str, str], group: str, offsets: Mapping[TopicPartition, int]
) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
    from confluent_kafka import TopicPartition as Place

    places = [Place(place.topic, place.partition, offset) for place, offset in offsets.items()]
    admin = _admin(worker, connector)
    try:
        asked = admin.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, places)], request_timeout=_TIMEOUT_S
        )
        errors = [place.error for place in asked[group].result().topic_partitions if place.error is not None]
    except KafkaException as error:
        errors = [error.args[0]]
    if not errors:
        return
    if errors[0].code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP):
        raise GroupInUseError(f"Group {group} has members.")
    raise ConnectError(f"Group {group}: {errors[0].str()}")


def _forget(worker: Mapping[str, str], connector: Mapping[str, str], group: str, places: list[TopicPartition]) -> None:
    from kafka import KafkaAdminClient
    from kafka import TopicPartition as Place
    from kafka.errors import (
        GroupIdNotFoundError,
        GroupSubscribedToTopicError,
        KafkaError,
        NoError,
        NonEmptyGroupError,
        UnknownTopicOrPartitionError,
    )

    admin = KafkaAdminClient(**_settings(worker, connector))
    try:
        answers = admin.delete_group_offsets(group, [Place(place.topic, place.partition) for place in places])
    except GroupIdNotFoundError:
        return
    except (NonEmptyGroupError, GroupSubscribedToTopicError) as error:
        raise GroupInUseError(f"Group {group} has members.") from error
    except KafkaError as error:
        raise ConnectError(f"Group {group}: {error}") from error
    finally:
        admin.close()
    for answer in answers.values():
        if answer is GroupSubscribedToTopicError:
            raise GroupInUseError(f"Group {group} has members.")
        if answer not in (NoError, UnknownTopicOrPartitionError):
            raise ConnectError(f"Group {group}: {answer.__name__}")


def _admin(worker: Mapping[str, str], connector: Mapping[str, str]) -> Any:
    """An admin client. Answers come only as long as somebody holds it."""
    from confluent_kafka.admin import AdminClient

    settings: dict[str, Any] = {**task_client_settings("admin", worker, connector).librdkafka, "logger": log}
    return AdminClient(settings)


def remove_member(worker: Mapping[str, str], connector: Mapping[str, str], group: str, member: str) -> None:
    """Remove one member from a consumer group. A member that is gone already is no error.

    Args:
        worker, connector: configurations, for the brokers' addresses and security.
        group: the group's name.
        member: the member's id, which its task reported when it got partitions.

    Raises:
        ConnectError: the broker refuses.
    """
    from kafka import KafkaAdminClient
    from kafka.admin import MemberToRemove
    from kafka.errors import KafkaError, NoError, UnknownMemberIdError

    try:
        admin = KafkaAdminClient(**_settings(worker, connector))
        try:
            leaving = [MemberToRemove(member_id=member, reason="its task was killed")]
            answers = admin.remove_group_members(group, leaving)
        finally:
            admin.close()
    except KafkaError as error:
        raise ConnectError(f"Group {group}: {error}") from error
    for answer in answers.values():
        if answer not in (NoError, UnknownMemberIdError):
            raise ConnectError(f"Group {group}: {answer.__name__}")


def _settings(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, Any]:
    """kafka-python's settings, from those of the consumer that left the member."""
    from kafka import KafkaAdminClient

    consumer = kafka_python_settings(task_java_settings("consumer", worker, connector))
    known = {key: value for key, value in consumer.items() if key in KafkaAdminClient.DEFAULT_CONFIG}
    # A worker that stops waits for this: brokers that are gone must not keep it.
    timeouts = {"request_timeout_ms": 5_000, "bootstrap_timeout_ms": 5_000}
    return {**known, "client_id": "connect-supervisor", **timeouts}
