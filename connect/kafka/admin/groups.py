"""Consumer groups of sink connectors: their committed offsets, and the members that killed tasks left behind.

Until its session ends (10 s by default) such a member keeps its partitions, and its successor cannot get them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import AdminError, Committed
from connect.kafka.clients.override_rules import of_questions
from connect.kafka.clients.settings import Kind, task_client_settings, task_java_settings

if TYPE_CHECKING:
    from connect.kafka.admin.client import Admin

_TIMEOUT_S: Final = 20.0
#: A worker that stops waits for this: brokers that are gone must not keep it.
_REMOVE_S: Final = 5.0
_SESSION_MS: Final = 45_000  # librdkafka's own
#: What brokers say of a group with members: for its offsets, for the group, and for the offsets of single topics.
_IN_USE: Final = ("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC")


class GroupInUseError(ConnectError):
    """The group has members; only they can change its offsets."""


def group_of(worker: Mapping[str, str], connector: Mapping[str, str]) -> str:
    """The group that a sink connector's tasks consume in."""
    return str(task_client_settings("consumer", worker, of_questions(connector)).librdkafka["group.id"])


def session_of(worker: Mapping[str, str], connector: Mapping[str, str]) -> float:
    """Seconds after which the broker removes a silent member of that group."""
    settings = task_client_settings("consumer", worker, of_questions(connector)).librdkafka
    return int(settings.get("session.timeout.ms", _SESSION_MS)) / 1000


def committed_offsets(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[TopicPartition, int]:
    """What the group of a sink connector has committed; empty where there is no such group.

    Raises:
        ConnectError: the broker refuses, or none answers.
    """
    group = group_of(worker, connector)
    with _asking(group, "admin", worker, connector) as admin:
        return {partition: at.offset for partition, at in admin.committed(group).items()}


def alter_offsets(
    worker: Mapping[str, str], connector: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
) -> None:
    """Commit offsets on behalf of a sink connector's group, which must have no members. None deletes one.

    Raises:
        GroupInUseError: it has members.
        ConnectError: the broker refuses: there is no such partition, for example.
    """
    group = group_of(worker, connector)
    with _asking(group, "admin", worker, connector) as admin:
        admin.commit(
            group, {partition: Committed(offset) for partition, offset in offsets.items() if offset is not None}
        )
        admin.forget(group, [partition for partition, offset in offsets.items() if offset is None])


def delete_group(worker: Mapping[str, str], connector: Mapping[str, str]) -> None:
    """Delete a sink connector's group with all its offsets; one that does not exist is fine. Raises as above."""
    group = group_of(worker, connector)
    with _asking(group, "admin", worker, connector) as admin:
        admin.delete_group(group)


def remove_member(
    worker: Mapping[str, str], connector: Mapping[str, str], group: str, member: str, instance: str = ""
) -> None:
    """Remove one member from a consumer group. A member that is already gone is not an error.

    Args:
        worker, connector: configurations, for the brokers' addresses and security.
        group: the group's name.
        member: the member's id, which its task reported when it got partitions; empty where it got none.
        instance: the name by which it is removed then.

    Raises:
        ConnectError: the broker refuses.
    """
    with _asking(group, "consumer", worker, connector, _REMOVE_S) as admin:  # as whom it joined
        admin.remove_member(group, member, "its task was killed", instance)


@contextmanager
def _asking(
    group: str, kind: Kind, worker: Mapping[str, str], connector: Mapping[str, str], timeout: float = _TIMEOUT_S
) -> Iterator[Admin]:
    from connect.kafka.admin.client import Admin

    admin = Admin(task_java_settings(kind, worker, connector), "connect-supervisor", timeout)
    try:
        yield admin
    except AdminError as error:
        if error.code in _IN_USE:
            raise GroupInUseError(f"Group {group} has members.") from error
        raise ConnectError(f"Group {group}: {error.words}.") from error
    finally:
        admin.close()
