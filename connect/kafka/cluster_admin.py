"""What a connector asks of any Kafka cluster: its topics, their settings and ACLs, its groups and their offsets.

Every question has a timeout, and every refusal becomes one line that names the cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from connect.data.record import TopicPartition
from connect.errors import ConnectError, RetriableError
from connect.kafka.client_log import log as client_log

log = logging.getLogger("connect.kafka")


class RefusedError(ConnectError):
    """A cluster does not do what it was asked.

    Attributes:
        code: the Kafka error's name, such as TOPIC_AUTHORIZATION_FAILED.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(RetriableError):
    """No broker of a cluster answers, or not in time."""


class TopicSetting(NamedTuple):
    """One setting of a topic.

    Attributes:
        value: None for one that is not told.
        is_default: nobody set it, neither for the topic nor for brokers.
        is_own: it was set for this topic.
        is_fixed: it cannot be changed, or is a secret.
    """

    value: str | None
    is_default: bool
    is_own: bool
    is_fixed: bool


class ClusterAdmin:
    """Asks one cluster. Called from one thread at a time; making it connects to the brokers.

    All methods raise `UnreachableError` where no broker answers, and `RefusedError` where one refuses.

    Args:
        settings: librdkafka's, of an admin client.
        name: how the cluster is called in errors, such as `source cluster "A"`.
        timeout: seconds for each question.
        told: given the operation's name, seconds and the error's name, if any, of each question.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        name: str,
        timeout: float,
        told: Callable[[str, float, str | None], None] = lambda *_: None,
    ) -> None:
        from confluent_kafka.admin import AdminClient

        self.name = name
        self._servers = str(settings.get("bootstrap.servers", ""))
        self._timeout = timeout
        self._told = told
        self._said = self._said_code = ""  # what the client said last of its connections
        own: dict[str, Any] = {**settings, "logger": client_log, "error_cb": self._on_error}
        self._admin: Any = AdminClient(own)

    # Topics.

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has that there is."""
        with self._asked("list_topics"):
            found = self._admin.list_topics(timeout=self._timeout).topics
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def make_topic(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> bool:
        """Make a topic. False where it exists already."""
        from confluent_kafka.admin import NewTopic

        wish = NewTopic(topic, partitions, replication, config=dict(settings))
        try:
            with self._asked("create_topics", f'Topic "{topic}" cannot be made'):
                self._admin.create_topics([wish], request_timeout=self._timeout)[topic].result()
        except RefusedError as error:
            if error.code != "TOPIC_ALREADY_EXISTS":
                raise
            return False
        return True

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Give a topic so many partitions, more than it has."""
        from confluent_kafka.admin import NewPartitions

        with self._asked("create_partitions", f'Topic "{topic}" does not get {partitions} partitions'):
            self._admin.create_partitions([NewPartitions(topic, partitions)], request_timeout=self._timeout)[
                topic
            ].result()

    def topic_settings(self, topics: Iterable[str]) -> dict[str, dict[str, TopicSetting]]:
        """The settings of each of these topics; a topic that is gone is left out."""
        from confluent_kafka.admin import ConfigResource, ConfigSource, ResourceType

        asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        if not asked:
            return {}
        found = {}
        with self._asked("describe_configs"):
            answers = self._admin.describe_configs(asked, request_timeout=self._timeout)
        for resource, answer in answers.items():
            try:
                with self._asked("describe_configs", f'The settings of topic "{resource.name}" cannot be read'):
                    entries = answer.result()
            except RefusedError as error:
                if error.code in _UNKNOWN:
                    continue
                raise
            found[resource.name] = {
                name: TopicSetting(
                    entry.value,
                    ConfigSource(entry.source) is ConfigSource.DEFAULT_CONFIG,
                    ConfigSource(entry.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG,
                    entry.is_read_only or entry.is_sensitive,
                )
                for name, entry in entries.items()
            }
        return found

    def change_topic_settings(self, topic: str, change: Mapping[str, str | None]) -> None:
        """Set these settings of a topic and leave the others; None takes one back to the broker's default."""
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

        entries = [
            ConfigEntry(
                name,
                value or "",
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for name, value in change.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        with self._asked("alter_configs", f'The settings of topic "{topic}" cannot be changed'):
            self._admin.incremental_alter_configs([resource], request_timeout=self._timeout)[resource].result()

    def topic_acls(self) -> list[Any]:
        """The ACLs of single topics: objects with `name`, `principal`, `host`, `operation` and `permission_type`."""
        from confluent_kafka.admin import (
            AclBindingFilter,
            AclOperation,
            AclPermissionType,
            ResourcePatternType,
            ResourceType,
        )

        anything: Any = None  # which its types leave out
        every = AclBindingFilter(
            ResourceType.TOPIC,
            anything,
            ResourcePatternType.LITERAL,
            anything,
            anything,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        with self._asked("describe_acls", "ACLs cannot be read"):
            return list(self._admin.describe_acls(every, request_timeout=self._timeout).result())

    def make_topic_acls(self, topic: str, like: Any, operation: str) -> None:
        """Make an ACL of a topic, as `like` in who, from where, and whether it allows or denies."""
        from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

        wish = AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            like.principal,
            like.host,
            AclOperation[operation],
            like.permission_type,
        )
        with self._asked("create_acls", f'An ACL of topic "{topic}" cannot be made'):
            self._admin.create_acls([wish], request_timeout=self._timeout)[wish].result()

    # Groups.

    def groups(self) -> list[str]:
        """The names of all consumer groups."""
        with self._asked("list_groups"):
            found = self._admin.list_consumer_groups(request_timeout=self._timeout).result()
        if found.errors:
            log.warning("%s: some brokers do not tell of their groups: %s", self.name, found.errors[0])
        return sorted(group.group_id for group in found.valid)

    def group_states(self, groups: Sequence[str]) -> dict[str, str]:
        """Of each of these groups its state, such as STABLE, EMPTY; DEAD for one that does not exist."""
        if not groups:
            return {}
        found = {}
        with self._asked("describe_groups"):
            answers = self._admin.describe_consumer_groups(list(groups), request_timeout=self._timeout)
        for group, answer in answers.items():
            try:
                with self._asked("describe_groups", f'Group "{group}" cannot be described'):
                    found[group] = str(answer.result().state.name)
            except RefusedError as error:
                if error.code != "GROUP_ID_NOT_FOUND":
                    raise
                found[group] = "DEAD"
        return found

    def committed(self, group: str) -> dict[TopicPartition, tuple[int, str]]:
        """What a group has committed: for each partition the offset, and the text that stands beside it."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        try:
            with self._asked("list_group_offsets", f'The offsets of group "{group}" cannot be read'):
                asked = self._admin.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(group)], request_timeout=self._timeout
                )
                places = asked[group].result().topic_partitions
        except RefusedError as error:
            if error.code != "GROUP_ID_NOT_FOUND":
                raise
            return {}
        return {
            TopicPartition(p.topic, p.partition): (p.offset, p.metadata or "")
            for p in places
            if p.offset >= 0 and p.error is None
        }

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit in place of a group, which must have no members: else `RefusedError` with UNKNOWN_MEMBER_ID."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
        from confluent_kafka import TopicPartition as Place

        places = [Place(place.topic, place.partition, offset) for place, offset in offsets.items()]
        with self._asked("alter_group_offsets", f'The offsets of group "{group}" cannot be set'):
            asked = self._admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group, places)], request_timeout=self._timeout
            )
            for place in asked[group].result().topic_partitions:
                if place.error is not None:
                    raise KafkaException(place.error)

    # What all have in common.

    @contextmanager
    def _asked(self, operation: str, what: str = "A question was not answered") -> Iterator[None]:
        from time import monotonic

        from confluent_kafka import KafkaException

        began = monotonic()
        try:
            yield
        except KafkaException as raised:
            error = raised.args[0]
            self._admin.poll(0)  # what the client has to say of its connections
            away = error.name() in _AWAY or error.retriable()
            self._told(operation, monotonic() - began, self._said_code if away and self._said_code else error.name())
            if away:
                why = (self._said or error.str()).rstrip(".")
                if self._said_code == "_AUTHENTICATION":
                    raise RefusedError(
                        f"{self.name} ({self._servers}) does not let us in: {why}. Look at its security settings.",
                        self._said_code,
                    ) from raised
                raise UnreachableError(
                    f"{self.name} ({self._servers}) does not answer: {why}. Look whether its brokers run, and at its"
                    " bootstrap.servers and security settings."
                ) from raised
            raise RefusedError(
                f"{self.name}: {what}: {error.str().rstrip('.')} ({error.name()}).{_advice(error.name())}", error.name()
            ) from raised
        else:
            self._said = self._said_code = ""
            self._told(operation, monotonic() - began, None)

    def _on_error(self, error: Any) -> None:
        if error.name() != "_ALL_BROKERS_DOWN":  # what is behind that was said before
            self._said, self._said_code = error.str(), error.name()


_UNKNOWN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")
_AWAY = ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_TIMED_OUT_QUEUE", "_RESOLVE", "_AUTHENTICATION", "_SSL")


def _advice(code: str) -> str:
    if code == "INVALID_REPLICATION_FACTOR":
        return " Lower the replication factor in the connector's configuration: there are fewer brokers."
    if code.endswith("AUTHORIZATION_FAILED"):
        return " Grant it to the user that the connector has on this cluster, or switch off what needs it."
    return ""
