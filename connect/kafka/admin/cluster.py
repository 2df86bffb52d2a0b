"""Administration of any Kafka cluster for a connector: topics, their settings and ACLs, groups and their offsets.

Every request has a timeout, and every refusal becomes one line that names the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from connect.data.record import TopicPartition
from connect.errors import ConnectError, RetriableError
from connect.kafka.admin.answers import NO_ANSWER, Acl, AdminError, Committed, TopicSetting
from connect.kafka.clients.errors import NotLetInError

__all__ = ["Acl", "ClusterAdmin", "Committed", "RefusedError", "TopicSetting", "UnreachableError"]

#: The code of a `RefusedError` where the brokers do not let this client in.
NOT_LET_IN = "AUTHENTICATION_FAILED"


class RefusedError(ConnectError):
    """A cluster refuses a request.

    Attributes:
        code: the Kafka error's name, such as TOPIC_AUTHORIZATION_FAILED.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(RetriableError):
    """No broker of a cluster answers, or not in time."""


class ClusterAdmin:
    """The administration of one cluster. Thread-safe. Connects at the first request.

    All methods raise `UnreachableError` where no broker answers, and `RefusedError` where one refuses.

    Args:
        java: settings of an admin client, under Java's keys.
        name: of the cluster in errors, such as `source cluster "A"`.
        timeout: seconds for each request.
        told: called with the operation's name, seconds and the error's name, if any, of each request.

    Raises:
        ConnectError: a setting is wrong.
    """

    def __init__(
        self,
        java: Mapping[str, str],
        name: str,
        timeout: float,
        told: Callable[[str, float, str | None], None] = lambda *_: None,
    ) -> None:
        from connect.kafka.admin.client import Admin

        self.name = name
        self._told = told
        self._admin = Admin(java, timeout=timeout)

    # Topics.

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic."""
        with self._asked("list_topics"):
            return {name: len(partitions) for name, partitions in self._admin.topics().items()}

    def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends of those of these partitions that exist and have a leader."""
        with self._asked("list_offsets"):
            return self._admin.ends(partitions)

    def make_topic(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> bool:
        """Create a topic. False where it exists already."""
        with self._asked("create_topics", f'Topic "{topic}" cannot be made'):
            return self._admin.make_topic(topic, partitions, replication, settings)

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Give a topic this number of partitions, more than it has."""
        with self._asked("create_partitions", f'Topic "{topic}" does not get {partitions} partitions'):
            self._admin.grow_topic(topic, partitions)

    def topic_settings(self, topics: Iterable[str]) -> dict[str, dict[str, TopicSetting]]:
        """The settings of each of these topics; a topic that is gone is left out."""
        with self._asked("describe_configs", "The settings of topics cannot be read"):
            return self._admin.topic_settings(topics)

    def change_topic_settings(self, topic: str, change: Mapping[str, str | None]) -> None:
        """Set these settings of a topic and leave the others; None resets one to the broker's default."""
        with self._asked("alter_configs", f'The settings of topic "{topic}" cannot be changed'):
            self._admin.change_topic_settings(topic, change)

    def topic_acls(self) -> list[Acl]:
        """The ACLs of single topics."""
        with self._asked("describe_acls", "ACLs cannot be read"):
            return self._admin.topic_acls()

    def make_topic_acl(self, acl: Acl) -> None:
        """Create an ACL of a topic."""
        with self._asked("create_acls", f'An ACL of topic "{acl.topic}" cannot be made'):
            self._admin.make_topic_acl(acl)

    # Groups.

    def groups(self) -> list[str]:
        """The names of all consumer groups."""
        with self._asked("list_groups"):
            return self._admin.groups()

    def group_states(self, groups: Sequence[str]) -> dict[str, str]:
        """Of each of these groups its state, such as STABLE, EMPTY; DEAD for one that does not exist."""
        with self._asked("describe_groups", "Groups cannot be described"):
            return self._admin.group_states(groups)

    def committed(self, group: str) -> dict[TopicPartition, Committed]:
        """What a group has committed: for each partition the offset and its metadata."""
        with self._asked("list_group_offsets", f'The offsets of group "{group}" cannot be read'):
            return self._admin.committed(group)

    def commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit on behalf of a group, which must have no members: else `RefusedError` with UNKNOWN_MEMBER_ID."""
        with self._asked("alter_group_offsets", f'The offsets of group "{group}" cannot be set'):
            self._admin.commit(group, offsets)

    # What all have in common.

    @contextmanager
    def _asked(self, operation: str, what: str = "A question was not answered") -> Iterator[None]:
        began, code = time.monotonic(), None
        try:
            yield
        except NotLetInError as error:
            code = NOT_LET_IN
            raise RefusedError(f"{self.name} does not let us in: {error}", code) from error
        except AdminError as error:
            code = error.code
            if code == NO_ANSWER or error.passes:
                raise UnreachableError(f"{self.name} does not answer: {error.words}.") from error
            raise RefusedError(f"{self.name}: {what}: {error.words} ({code}).{_advice(code)}", code) from error
        finally:
            self._told(operation, time.monotonic() - began, code)


def _advice(code: str) -> str:
    if code == "INVALID_REPLICATION_FACTOR":
        return " Lower the replication factor in the connector's configuration: there are fewer brokers."
    if code.endswith("AUTHORIZATION_FAILED"):
        return " Grant it to the user that the connector has on this cluster, or switch off what needs it."
    return ""
