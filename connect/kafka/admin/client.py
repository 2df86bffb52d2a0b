"""Administration of a cluster: topics, offsets, groups, settings, ACLs.

Requests of Kafka's protocol, over kafka-python's connections. Not librdkafka's admin client, which can end the process
that uses it: when a group's coordinator moves, as at every restart of a broker, its ListConsumerGroupOffsets
dereferences NULL, and other requests fail an assertion (2.16; docs/reliability.md).
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from kafka import errors
from kafka.admin import ACLOperation, ACLPermissionType
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.admin import (
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
)
from kafka.protocol.consumer import (
    LeaveGroupRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.answers import LATEST, Acl, AdminError, Committed, TopicSetting
from connect.kafka.admin.asking import NO_TOPIC, Asking, by_topic, check, metadata, name
from connect.kafka.clients.settings import task_java_settings

log = logging.getLogger("connect.kafka")

_TOPIC: Final = 2  # the kind of a resource
_LITERAL: Final = 3
_ANY: Final = 1
_TOPIC_CONFIG, _FILE_CONFIG, _DEFAULT_CONFIG = 1, 4, 5  # where a topic's setting comes from
_SET, _DELETE = 0, 1  # what to do with one
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Admin(Asking):
    """The administration of one cluster; see `Asking`.

    All methods raise `AdminError` where the brokers refuse or none answers in time, and `NotLetInError` where they
    refuse this client.
    """

    # Topics.

    def cluster_id(self) -> str | None:
        """The id of the cluster."""

        async def question(manager: KafkaConnectionManager) -> str | None:
            found: str | None = (await manager.send(metadata([]))).cluster_id
            return found

        return self._ask(question)

    def topics(self, timeout: float | None = None) -> dict[str, list[int]]:
        """The partitions of every topic that this user may see."""
        return self._ask(lambda manager: _topics(manager, None), timeout)

    def partitions(self, topics: Collection[str], timeout: float | None = None) -> dict[str, list[int]]:
        """The partitions of those of these topics that exist. Asking creates none."""
        if not topics:
            return {}
        return self._ask(lambda manager: _topics(manager, topics), timeout)

    def offsets(
        self, partitions: Mapping[TopicPartition, int], *, committed_only: bool, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """An offset of each partition.

        Args:
            partitions: for each `EARLIEST`, `LATEST`, or a timestamp: then the first offset of that time or later, -1
                where there is none.
            committed_only: the last is the one before the first open transaction.
            timeout: seconds, if not the client's.
        """
        if not partitions:
            return {}
        return self._ask(lambda manager: self._offsets(manager, partitions, committed_only), timeout)

    def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends of those of these partitions that exist and have a leader."""
        if not partitions:
            return {}

        async def question(manager: KafkaConnectionManager) -> dict[TopicPartition, int]:
            led = set()
            for topic in (await manager.send(metadata({partition.topic for partition in partitions}))).topics:
                if name(topic.error_code) not in NO_TOPIC:
                    check(topic.error_code)
                led |= {TopicPartition(topic.name, p.partition_index) for p in topic.partitions if p.leader_id >= 0}
            asked = dict.fromkeys(led.intersection(partitions), LATEST)
            return await self._offsets(manager, asked, committed_only=False)

        return self._ask(question)

    def make_topic(
        self, topic: str, partitions: int, replication: int, settings: Mapping[str, str], timeout: float | None = None
    ) -> bool:
        """Create a topic. -1 leaves a number to the broker. False where it exists already."""

        async def question(manager: KafkaConnectionManager) -> bool:
            created = CreateTopicsRequest.CreatableTopic(
                name=topic,
                num_partitions=partitions,
                replication_factor=replication,
                assignments=[],
                configs=[CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(*each) for each in settings.items()],
            )
            request = CreateTopicsRequest(topics=[created], timeout_ms=self._patience_ms(timeout), validate_only=False)
            answer = (await manager.send(request)).topics[0]
            if name(answer.error_code) == "TOPIC_ALREADY_EXISTS":
                return False
            check(answer.error_code, answer.error_message)
            return True

        return self._ask(question, timeout)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic with its records. No such topic is not an error."""

        async def question(manager: KafkaConnectionManager) -> None:
            deleted = DeleteTopicsRequest.DeleteTopicState(name=topic)
            request = DeleteTopicsRequest(topics=[deleted], timeout_ms=self._patience_ms(None))
            answer = (await manager.send(request)).responses[0]
            if name(answer.error_code) not in NO_TOPIC:
                check(answer.error_code)

        self._ask(question)

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Give a topic this number of partitions, more than it has."""

        async def question(manager: KafkaConnectionManager) -> None:
            created = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=partitions, assignments=None)
            request = CreatePartitionsRequest(topics=[created], timeout_ms=self._patience_ms(None), validate_only=False)
            answer = (await manager.send(request)).results[0]
            check(answer.error_code, answer.error_message)

        self._ask(question)

    def topic_settings(self, topics: Iterable[str]) -> dict[str, dict[str, TopicSetting]]:
        """The settings of each of these topics that exists."""
        asked = [(_TOPIC, topic, None) for topic in topics]
        if not asked:
            return {}

        async def question(manager: KafkaConnectionManager) -> dict[str, dict[str, TopicSetting]]:
            found = {}
            for result in (await manager.send(DescribeConfigsRequest(resources=asked))).results:
                if name(result.error_code) != "UNKNOWN_TOPIC_OR_PARTITION":
                    check(result.error_code, result.error_message)
                    found[result.resource_name] = {each.name: _setting(each) for each in result.configs}
            return found

        return self._ask(question)

    def change_topic_settings(self, topic: str, change: Mapping[str, str | None]) -> None:
        """Set these settings of a topic and leave the others; None resets one to the broker's default."""
        changes = [(name, _DELETE if value is None else _SET, value) for name, value in change.items()]

        async def question(manager: KafkaConnectionManager) -> None:
            request = IncrementalAlterConfigsRequest(resources=[(_TOPIC, topic, changes)], validate_only=False)
            answer = (await manager.send(request)).responses[0]
            check(answer.error_code, answer.error_message)

        self._ask(question)

    # ACLs.

    def topic_acls(self) -> list[Acl]:
        """The ACLs of single topics."""

        async def question(manager: KafkaConnectionManager) -> list[Acl]:
            request = DescribeAclsRequest(
                resource_type_filter=_TOPIC,
                resource_name_filter=None,
                pattern_type_filter=_LITERAL,
                principal_filter=None,
                host_filter=None,
                operation=_ANY,
                permission_type=_ANY,
            )
            answer = await manager.send(request)
            check(answer.error_code, answer.error_message)
            return [
                Acl(
                    resource.resource_name,
                    acl.principal,
                    acl.host,
                    ACLOperation(acl.operation).name,
                    ACLPermissionType(acl.permission_type).name,
                )
                for resource in answer.resources
                for acl in resource.acls
            ]

        return self._ask(question)

    def make_topic_acl(self, acl: Acl) -> None:
        """Create an ACL of a single topic."""

        async def question(manager: KafkaConnectionManager) -> None:
            created = CreateAclsRequest.AclCreation(
                resource_type=_TOPIC,
                resource_name=acl.topic,
                resource_pattern_type=_LITERAL,
                principal=acl.principal,
                host=acl.host,
                operation=ACLOperation[acl.operation],
                permission_type=ACLPermissionType[acl.permission],
            )
            answer = (await manager.send(CreateAclsRequest(creations=[created]))).results[0]
            check(answer.error_code, answer.error_message)

        self._ask(question)

    # Groups.

    def groups(self) -> list[str]:
        """The names of all consumer groups. A broker that does not list its own is named in the log."""

        async def question(manager: KafkaConnectionManager) -> list[str]:
            brokers = [broker.node_id for broker in (await manager.send(metadata([]))).brokers]
            found: set[str] = set()
            silent = 0
            for broker in brokers:
                try:
                    answer = await manager.send(ListGroupsRequest(), node_id=broker)
                    check(answer.error_code)
                except errors.KafkaError as error:
                    silent += 1
                    if silent == len(brokers):
                        raise
                    log.warning("Broker %s does not list its groups: %s", broker, self._told(error).words)
                    continue
                found |= {group.group_id for group in answer.groups if group.protocol_type in {"consumer", ""}}
            return sorted(found)

        return self._ask(question)

    def group_states(self, groups: Iterable[str]) -> dict[str, str]:
        """Of each of these groups its state, such as STABLE, EMPTY; DEAD for one that does not exist."""

        async def question(manager: KafkaConnectionManager) -> dict[str, str]:
            found = {}
            for group in groups:
                request = DescribeGroupsRequest(groups=[group], include_authorized_operations=False)
                answer = (await manager.send(request, node_id=await self._coordinator(manager, group))).groups[0]
                if name(answer.error_code) == "GROUP_ID_NOT_FOUND":
                    found[group] = "DEAD"
                else:
                    check(answer.error_code)
                    found[group] = _CAMEL.sub("_", answer.group_state).upper()
            return found

        return self._ask(question)

    def committed(self, group: str, timeout: float | None = None) -> dict[TopicPartition, Committed]:
        """All that a group has committed; empty where there is no such group."""

        async def question(manager: KafkaConnectionManager) -> dict[TopicPartition, Committed]:
            coordinator = await self._coordinator(manager, group)
            # Version 8 (3.0) is the last one that names topics and asks for several groups.
            if manager.broker_version_data.api_version(OffsetFetchRequest) < 8:
                answer = await manager.send(
                    OffsetFetchRequest(group_id=group, topics=None, min_version=2, max_version=7), node_id=coordinator
                )
            else:
                asked = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None)]
                request = OffsetFetchRequest(groups=asked, min_version=8, max_version=8)
                answer = (await manager.send(request, node_id=coordinator)).groups[0]
            if name(answer.error_code) == "GROUP_ID_NOT_FOUND":
                return {}
            check(answer.error_code)
            found = {}
            for topic in answer.topics or ():
                for partition in topic.partitions:
                    check(partition.error_code)
                    if partition.committed_offset >= 0:
                        committed = Committed(partition.committed_offset, partition.metadata or "")
                        found[TopicPartition(topic.name, partition.partition_index)] = committed
            return found

        return self._ask(question, timeout)

    def commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit on behalf of a group, which must have no members: else `AdminError` with UNKNOWN_MEMBER_ID."""
        if not offsets:
            return
        topic_of = OffsetCommitRequest.OffsetCommitRequestTopic
        place_of = topic_of.OffsetCommitRequestPartition

        async def question(manager: KafkaConnectionManager) -> None:
            request = OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=-1,
                member_id="",
                group_instance_id=None,
                retention_time_ms=-1,
                topics=[
                    topic_of(
                        name=topic,
                        partitions=[
                            place_of(
                                partition_index=partition.partition,
                                committed_offset=offsets[partition].offset,
                                committed_leader_epoch=-1,
                                committed_metadata=offsets[partition].metadata,
                            )
                            for partition in partitions
                        ],
                    )
                    for topic, partitions in by_topic(offsets)
                ],
                max_version=8,
            )
            for topic in (await manager.send(request, node_id=await self._coordinator(manager, group))).topics:
                for partition in topic.partitions:
                    if code := partition.error_code:
                        said = name(code).replace("_", " ").capitalize()
                        check(code, f"{said}: {topic.name}-{partition.partition_index}")

        self._ask(question)

    def forget(self, group: str, partitions: Collection[TopicPartition]) -> None:
        """Delete offsets of a group, which must not consume their topics. A missing group is not an error."""
        deleted = [(topic, [(partition.partition,) for partition in some]) for topic, some in by_topic(partitions)]

        async def question(manager: KafkaConnectionManager) -> None:
            request = OffsetDeleteRequest(group_id=group, topics=deleted)
            answer = await manager.send(request, node_id=await self._coordinator(manager, group))
            if name(answer.error_code) == "GROUP_ID_NOT_FOUND":
                return
            check(answer.error_code)
            for topic in answer.topics:
                for partition in topic.partitions:
                    if name(partition.error_code) != "UNKNOWN_TOPIC_OR_PARTITION":
                        check(partition.error_code)

        if deleted:
            self._ask(question)

    def delete_group(self, group: str) -> None:
        """Delete a group, which must have no members, with all its offsets. A missing group is not an error."""

        async def question(manager: KafkaConnectionManager) -> None:
            request = DeleteGroupsRequest(groups_names=[group])
            answer = (await manager.send(request, node_id=await self._coordinator(manager, group))).results[0]
            if name(answer.error_code) != "GROUP_ID_NOT_FOUND":
                check(answer.error_code)

        self._ask(question)

    def remove_member(self, group: str, member: str, reason: str, instance: str = "") -> None:
        """Remove a member from a group: by its id or, if that is empty, by its name. A missing one is not an error."""
        identity = LeaveGroupRequest.MemberIdentity

        async def question(manager: KafkaConnectionManager) -> None:
            if manager.broker_version_data.api_version(LeaveGroupRequest) < 3:
                request = LeaveGroupRequest(group_id=group, member_id=member, max_version=2)
            else:
                leaving = [identity(member_id=member, group_instance_id=None if member else instance, reason=reason)]
                request = LeaveGroupRequest(group_id=group, members=leaving, min_version=3)
            answer = await manager.send(request, node_id=await self._coordinator(manager, group))
            for code in (answer.error_code, *(each.error_code for each in answer.members or ())):
                if name(code) != "UNKNOWN_MEMBER_ID":
                    check(code)

        self._ask(question)

    async def _offsets(
        self, manager: KafkaConnectionManager, partitions: Mapping[TopicPartition, int], committed_only: bool
    ) -> dict[TopicPartition, int]:
        topic_of = ListOffsetsRequest.ListOffsetsTopic
        place_of = topic_of.ListOffsetsPartition
        found = {}
        for leader, topics in (await self._by_leader(manager, partitions)).items():
            asked = [
                topic_of(
                    name=topic,
                    partitions=[place_of(partition_index=p.partition, timestamp=partitions[p]) for p in some],
                )
                for topic, some in topics
            ]
            request = ListOffsetsRequest(isolation_level=int(committed_only), topics=asked, min_version=2)
            for topic in (await manager.send(request, node_id=leader)).topics:
                for partition in topic.partitions:
                    # Of one that was deleted and made again another broker knows: `_by_leader` finds out.
                    if name(partition.error_code) in NO_TOPIC:
                        raise errors.NotLeaderForPartitionError(topic.name)
                    check(partition.error_code)
                    found[TopicPartition(topic.name, partition.partition_index)] = int(partition.offset)
        return found


_shared: WeakValueDictionary[frozenset[tuple[str, str]], Admin] = WeakValueDictionary()
_sharing: Final = threading.Lock()


def shared_admin(java: Mapping[str, str], client_id: str) -> Admin:
    """One for all with the same settings, for there may be hundreds of connectors. Do not close it: the last user's
    end is its own.

    Raises:
        ConnectError: a setting is wrong.
    """
    key = frozenset((name, value) for name, value in java.items() if name != "client.id")
    with _sharing:
        found = _shared.get(key)
        if found is None or found.closed:
            found = _shared[key] = Admin(java, client_id)
        return found


def cluster_id(worker: Mapping[str, str]) -> str | None:
    """The id of the cluster that a worker's configuration leads to.

    Raises:
        ConnectError: no broker answers.
        NotLetInError: the brokers refuse this client.
    """
    admin = Admin(task_java_settings("admin", worker, {}))
    try:
        return admin.cluster_id()
    except AdminError as error:
        raise ConnectError(f"{error.words}.") from error
    finally:
        admin.close()


async def _topics(manager: KafkaConnectionManager, names: Collection[str] | None) -> dict[str, list[int]]:
    found = {}
    for topic in (await manager.send(metadata(names))).topics:
        if name(topic.error_code) in NO_TOPIC:
            continue
        # Of a list of all only what can be had is told.
        if names is not None and not topic.partitions:
            check(topic.error_code)
        if topic.partitions:
            found[topic.name] = sorted(partition.partition_index for partition in topic.partitions)
    return found


def _setting(entry: Any) -> TopicSetting:
    return TopicSetting(
        entry.value,
        entry.config_source == _DEFAULT_CONFIG,
        entry.config_source == _TOPIC_CONFIG,
        entry.config_source == _FILE_CONFIG,
        entry.read_only or entry.is_sensitive,
    )
