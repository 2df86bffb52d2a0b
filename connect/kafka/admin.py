"""Questions to the brokers beside the flow of records: topics, offsets, groups, settings, ACLs.

Requests of Kafka's protocol, over kafka-python's connections. Not librdkafka's admin client, which ends the process
that asks: when a group's coordinator moves, as at every restart of a broker, its ListConsumerGroupOffsets dereferences
NULL, and other requests fail an assertion (2.16; docs/reliability.md). Here whatever passes (a leader or a coordinator
moved, a broker restarts) is a reason to ask again, until the question's time is over.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from kafka import errors
from kafka.admin import ACLOperation, ACLPermissionType
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.admin import (
    CreateAclsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
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
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin_answers import NO_ANSWER, TIMEOUT_S, Acl, AdminError, Committed, TopicSetting
from connect.kafka.client_errors import NotLetInError
from connect.kafka.kafka_python_settings import connected_client, kafka_python_settings

log = logging.getLogger("connect.kafka")

T = TypeVar("T")

_PAUSE_S: Final = 0.1
_CONNECT_S: Final = 5.0  # one try, after which somebody may have closed the client
_LEAST_S: Final = 0.1  # what a question takes though its time is up
_REFUSED_FOR_S: Final = 3.0  # a broker that has only just started may refuse whom it lets in a moment later
_GROUP: Final = 0  # what a coordinator is looked up for
_TOPIC: Final = 2  # the kind of a resource
_LITERAL: Final = 3
_ANY: Final = 1
_TOPIC_CONFIG, _DEFAULT_CONFIG = 1, 5  # where a topic's setting comes from
_SET, _DELETE = 0, 1  # what to do with one
_NO_TOPIC: Final = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Admin:
    """Asks the brokers of one cluster. For any thread. Connects at the first question; close it.

    All methods raise `AdminError` where the brokers refuse or none answers in time, and `NotLetInError` where they
    refuse this client.

    Args:
        java: settings of an admin client, under Java's keys: brokers, security, times.
        client_id: which brokers log.
        timeout: seconds for each question, tries and connecting included.

    Raises:
        ConnectError: a setting is wrong.
    """

    def __init__(self, java: Mapping[str, str], client_id: str = "connect-admin", timeout: float = TIMEOUT_S) -> None:
        self._settings = {**kafka_python_settings(java), "client_id": java.get("client.id") or client_id}
        self._timeout = timeout
        self._connecting = threading.Lock()
        self._client: KafkaNetClient | None = None
        self._end: weakref.finalize[[KafkaNetClient], Admin] | None = None  # of a client that nobody closes
        self._closed = threading.Event()
        self._leaders: dict[TopicPartition, int] = {}  # which brokers answer for partitions, and for groups
        self._coordinators: dict[str, int] = {}

    def close(self) -> None:
        """End it. Whoever waits for an answer gets an `AdminError`."""
        self._closed.set()
        self._disconnect(self._client)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed.is_set()

    # Topics.

    def cluster_id(self) -> str | None:
        """The id of the cluster."""

        async def question(manager: KafkaConnectionManager) -> str | None:
            found: str | None = (await manager.send(_metadata([]))).cluster_id
            return found

        return self._ask(question)

    def topics(self, timeout: float | None = None) -> dict[str, list[int]]:
        """The partitions of every topic that there is and that this user may see."""
        return self._ask(lambda manager: _topics(manager, None), timeout)

    def partitions(self, topics: Collection[str], timeout: float | None = None) -> dict[str, list[int]]:
        """The partitions of those of these topics that exist. None is made by asking."""
        if not topics:
            return {}
        return self._ask(lambda manager: _topics(manager, topics), timeout)

    def offsets(
        self, places: Mapping[TopicPartition, int], *, committed_only: bool, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """An offset of each partition.

        Args:
            places: for each partition `EARLIEST`, `LATEST`, or a moment: then the first offset of that time or later,
                -1 where there is none.
            committed_only: the last is the one before the first open transaction.
            timeout: seconds, if not the client's.
        """
        if not places:
            return {}
        return self._ask(lambda manager: self._offsets(manager, places, committed_only), timeout)

    def make_topic(
        self, topic: str, partitions: int, replication: int, settings: Mapping[str, str], timeout: float | None = None
    ) -> bool:
        """Make a topic. -1 leaves a number to the broker. False where it exists already."""

        async def question(manager: KafkaConnectionManager) -> bool:
            wish = CreateTopicsRequest.CreatableTopic(
                name=topic,
                num_partitions=partitions,
                replication_factor=replication,
                assignments=[],
                configs=[CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(*each) for each in settings.items()],
            )
            request = CreateTopicsRequest(topics=[wish], timeout_ms=self._patience_ms(timeout), validate_only=False)
            answer = (await manager.send(request)).topics[0]
            if _name(answer.error_code) == "TOPIC_ALREADY_EXISTS":
                return False
            _check(answer.error_code, answer.error_message)
            return True

        return self._ask(question, timeout)

    def grow_topic(self, topic: str, partitions: int) -> None:
        """Give a topic so many partitions, more than it has."""

        async def question(manager: KafkaConnectionManager) -> None:
            wish = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=partitions, assignments=None)
            request = CreatePartitionsRequest(topics=[wish], timeout_ms=self._patience_ms(None), validate_only=False)
            answer = (await manager.send(request)).results[0]
            _check(answer.error_code, answer.error_message)

        self._ask(question)

    def topic_settings(self, topics: Iterable[str]) -> dict[str, dict[str, TopicSetting]]:
        """The settings of each of these topics that exists."""
        asked = [(_TOPIC, topic, None) for topic in topics]
        if not asked:
            return {}

        async def question(manager: KafkaConnectionManager) -> dict[str, dict[str, TopicSetting]]:
            found = {}
            for result in (await manager.send(DescribeConfigsRequest(resources=asked))).results:
                if _name(result.error_code) != "UNKNOWN_TOPIC_OR_PARTITION":
                    _check(result.error_code, result.error_message)
                    found[result.resource_name] = {each.name: _setting(each) for each in result.configs}
            return found

        return self._ask(question)

    def change_topic_settings(self, topic: str, change: Mapping[str, str | None]) -> None:
        """Set these settings of a topic and leave the others; None takes one back to the broker's default."""
        changes = [(name, _DELETE if value is None else _SET, value) for name, value in change.items()]

        async def question(manager: KafkaConnectionManager) -> None:
            request = IncrementalAlterConfigsRequest(resources=[(_TOPIC, topic, changes)], validate_only=False)
            answer = (await manager.send(request)).responses[0]
            _check(answer.error_code, answer.error_message)

        self._ask(question)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete the records of each partition before this offset (KIP-107)."""

        async def question(manager: KafkaConnectionManager) -> None:
            for leader, places in (await self._by_leader(manager, before)).items():
                wishes = [(topic, [(place.partition, before[place]) for place in some]) for topic, some in places]
                request = DeleteRecordsRequest(topics=wishes, timeout_ms=self._patience_ms(None))
                for topic in (await manager.send(request, node_id=leader)).topics:
                    for partition in topic.partitions:
                        _check(partition.error_code)

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
            _check(answer.error_code, answer.error_message)
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
        """Make an ACL of a single topic."""

        async def question(manager: KafkaConnectionManager) -> None:
            wish = CreateAclsRequest.AclCreation(
                resource_type=_TOPIC,
                resource_name=acl.topic,
                resource_pattern_type=_LITERAL,
                principal=acl.principal,
                host=acl.host,
                operation=ACLOperation[acl.operation],
                permission_type=ACLPermissionType[acl.permission],
            )
            answer = (await manager.send(CreateAclsRequest(creations=[wish]))).results[0]
            _check(answer.error_code, answer.error_message)

        self._ask(question)

    # Groups.

    def groups(self) -> list[str]:
        """The names of all consumer groups. A broker that does not tell of its own is named in the log."""

        async def question(manager: KafkaConnectionManager) -> list[str]:
            brokers = [broker.node_id for broker in (await manager.send(_metadata([]))).brokers]
            found: set[str] = set()
            silent = 0
            for broker in brokers:
                try:
                    answer = await manager.send(ListGroupsRequest(), node_id=broker)
                    _check(answer.error_code)
                except errors.KafkaError as error:
                    silent += 1
                    if silent == len(brokers):
                        raise
                    log.warning("Broker %s does not tell of its groups: %s", broker, self._told(error).words)
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
                if _name(answer.error_code) == "GROUP_ID_NOT_FOUND":
                    found[group] = "DEAD"
                else:
                    _check(answer.error_code)
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
            if _name(answer.error_code) == "GROUP_ID_NOT_FOUND":
                return {}
            _check(answer.error_code)
            found = {}
            for topic in answer.topics or ():
                for place in topic.partitions:
                    _check(place.error_code)
                    if place.committed_offset >= 0:
                        committed = Committed(place.committed_offset, place.metadata or "")
                        found[TopicPartition(topic.name, place.partition_index)] = committed
            return found

        return self._ask(question, timeout)

    def commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit in place of a group, which must have no members: else `AdminError` with UNKNOWN_MEMBER_ID."""
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
                                partition_index=place.partition,
                                committed_offset=offsets[place].offset,
                                committed_leader_epoch=-1,
                                committed_metadata=offsets[place].metadata,
                            )
                            for place in places
                        ],
                    )
                    for topic, places in _by_topic(offsets)
                ],
                max_version=8,
            )
            for topic in (await manager.send(request, node_id=await self._coordinator(manager, group))).topics:
                for place in topic.partitions:
                    _check(place.error_code)

        self._ask(question)

    def forget(self, group: str, places: Collection[TopicPartition]) -> None:
        """Forget what a group, which consumes none of their topics, has committed there. No group is no error."""
        wishes = [(topic, [(place.partition,) for place in some]) for topic, some in _by_topic(places)]

        async def question(manager: KafkaConnectionManager) -> None:
            request = OffsetDeleteRequest(group_id=group, topics=wishes)
            answer = await manager.send(request, node_id=await self._coordinator(manager, group))
            if _name(answer.error_code) == "GROUP_ID_NOT_FOUND":
                return
            _check(answer.error_code)
            for topic in answer.topics:
                for place in topic.partitions:
                    if _name(place.error_code) != "UNKNOWN_TOPIC_OR_PARTITION":
                        _check(place.error_code)

        if wishes:
            self._ask(question)

    def delete_group(self, group: str) -> None:
        """Forget a group, which must have no members, with all its offsets. No group is no error."""

        async def question(manager: KafkaConnectionManager) -> None:
            request = DeleteGroupsRequest(groups_names=[group])
            answer = (await manager.send(request, node_id=await self._coordinator(manager, group))).results[0]
            if _name(answer.error_code) != "GROUP_ID_NOT_FOUND":
                _check(answer.error_code)

        self._ask(question)

    def remove_member(self, group: str, member: str, reason: str) -> None:
        """Remove one member from a group. One that is gone already is no error."""
        identity = LeaveGroupRequest.MemberIdentity

        async def question(manager: KafkaConnectionManager) -> None:
            if manager.broker_version_data.api_version(LeaveGroupRequest) < 3:
                request = LeaveGroupRequest(group_id=group, member_id=member, max_version=2)
            else:
                leaving = [identity(member_id=member, group_instance_id=None, reason=reason)]
                request = LeaveGroupRequest(group_id=group, members=leaving, min_version=3)
            answer = await manager.send(request, node_id=await self._coordinator(manager, group))
            for code in (answer.error_code, *(each.error_code for each in answer.members or ())):
                if _name(code) != "UNKNOWN_MEMBER_ID":
                    _check(code)

        self._ask(question)

    # What all have in common.

    def _ask(self, question: Callable[[KafkaConnectionManager], Awaitable[T]], timeout: float | None = None) -> T:
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        refusal: NotLetInError | None = None
        refused_until = deadline
        while True:
            left = max(_LEAST_S, deadline - time.monotonic())
            client = None
            try:
                client = self._connected(left)
                manager = client._manager
                future = manager.call_soon(question, manager)
                answer: T = manager.run(manager.wait_for, future, left * 1000)
            except NotLetInError as error:
                if refusal is None:
                    refused_until = min(deadline, time.monotonic() + _REFUSED_FOR_S)
                refusal = error
            except (ConnectError, RuntimeError, errors.KafkaError) as error:
                self._look_at(error, client, over=refusal is None and time.monotonic() >= deadline)
            else:
                return answer
            # A broker that refuses may also just hang up.
            if refusal is not None and time.monotonic() >= refused_until:
                raise refusal
            self._closed.wait(_PAUSE_S)

    def _look_at(self, error: Exception, client: KafkaNetClient | None, *, over: bool) -> None:
        """Raise what the question ended with, unless it may be asked again."""
        problem = self._told(error)
        if _is_broken(error) or (over and problem.code == NO_ANSWER):
            self._disconnect(client)
        elif client is not None and isinstance(error, errors.UnknownBrokerIdError):
            client._net.call_soon_threadsafe(client.cluster.request_update)
        if self.closed:
            raise AdminError(NO_ANSWER, "The client was closed", passes=False) from error
        if over or not problem.passes:
            raise problem from error
        self._leaders.clear()
        self._coordinators.clear()

    def _connected(self, timeout: float) -> KafkaNetClient:
        with self._connecting:
            if self._client is None and not self.closed:
                self._client = connected_client(self._settings, min(timeout, _CONNECT_S))
                self._end = weakref.finalize(self, _close, self._client)
                self._end.atexit = False
            client = self._client
            if self.closed:
                self._disconnect(client)
            if client is None or self.closed:
                raise ConnectError("The client was closed.")
            return client

    def _disconnect(self, client: KafkaNetClient | None) -> None:
        """Close a client, if nobody has. The next question gets another."""
        if client is not None and self._client is client:
            self._client = None
            if self._end is not None:
                self._end.detach()
            _close(client)

    def _told(self, error: BaseException) -> AdminError:
        """What a question ended with, in words."""
        said = " ".join(str(error.args[0]).split()).rstrip(".") if error.args else ""
        if isinstance(error, ConnectError):
            return AdminError(NO_ANSWER, said, passes=True)
        if not isinstance(error, errors.BrokerResponseError):
            where = ", ".join(self._settings["bootstrap_servers"])
            return AdminError(NO_ANSWER, f"No broker answers at {where} ({said or type(error).__name__})", passes=True)
        code = str(error.message)
        passes = (error.retriable and code not in _NO_TOPIC) or _is_broken(error)
        return AdminError(code, said or code.replace("_", " ").capitalize(), passes=passes)

    def _patience_ms(self, timeout: float | None) -> int:
        return max(1, int((self._timeout if timeout is None else timeout) * 1000))

    async def _offsets(
        self, manager: KafkaConnectionManager, places: Mapping[TopicPartition, int], committed_only: bool
    ) -> dict[TopicPartition, int]:
        topic_of = ListOffsetsRequest.ListOffsetsTopic
        place_of = topic_of.ListOffsetsPartition
        found = {}
        for leader, topics in (await self._by_leader(manager, places)).items():
            asked = [
                topic_of(
                    name=topic,
                    partitions=[place_of(partition_index=p.partition, timestamp=places[p]) for p in some],
                )
                for topic, some in topics
            ]
            request = ListOffsetsRequest(isolation_level=int(committed_only), topics=asked, min_version=2)
            for topic in (await manager.send(request, node_id=leader)).topics:
                for place in topic.partitions:
                    # Of one that was deleted and made again another broker knows: `_by_leader` finds out.
                    if _name(place.error_code) in _NO_TOPIC:
                        raise errors.NotLeaderForPartitionError(topic.name)
                    _check(place.error_code)
                    found[TopicPartition(topic.name, place.partition_index)] = int(place.offset)
        return found

    async def _by_leader(
        self, manager: KafkaConnectionManager, places: Iterable[TopicPartition]
    ) -> dict[int, list[tuple[str, list[TopicPartition]]]]:
        """Which broker leads which of these partitions: it alone answers for them."""
        places = list(places)
        if any(place not in self._leaders for place in places):
            for topic in (await manager.send(_metadata({place.topic for place in places}))).topics:
                _check(topic.error_code)
                for partition in topic.partitions:
                    self._leaders[TopicPartition(topic.name, partition.partition_index)] = partition.leader_id
        found = defaultdict(list)
        for place in places:
            leader = self._leaders.get(place)
            if leader is None:
                raise errors.UnknownTopicOrPartitionError(f"There is no partition {place.partition} of {place.topic}")
            if leader < 0:
                raise errors.LeaderNotAvailableError(f"Partition {place.partition} of {place.topic} has no leader")
            found[leader].append(place)
        return {leader: _by_topic(some) for leader, some in found.items()}

    async def _coordinator(self, manager: KafkaConnectionManager, group: str) -> int:
        """The broker that a group belongs to, until it says that it does not."""
        if (known := self._coordinators.get(group)) is not None:
            return known
        if manager.broker_version_data.api_version(FindCoordinatorRequest) < 4:
            answer = await manager.send(FindCoordinatorRequest(key=group, key_type=_GROUP, max_version=3))
        else:
            request = FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=[group], min_version=4)
            answer = (await manager.send(request)).coordinators[0]
        _check(answer.error_code, answer.error_message)
        self._coordinators[group] = found = int(answer.node_id)
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


async def _topics(manager: KafkaConnectionManager, names: Collection[str] | None) -> dict[str, list[int]]:
    found = {}
    for topic in (await manager.send(_metadata(names))).topics:
        if _name(topic.error_code) in _NO_TOPIC:
            continue
        # Of a list of all only what can be had is told.
        if names is not None and not topic.partitions:
            _check(topic.error_code)
        if topic.partitions:
            found[topic.name] = sorted(partition.partition_index for partition in topic.partitions)
    return found


def _metadata(topics: Collection[str] | None) -> Any:
    """The request for what is known of these topics; None: of all."""
    asked = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(topics=asked, allow_auto_topic_creation=False)


def _by_topic(places: Iterable[TopicPartition]) -> list[tuple[str, list[TopicPartition]]]:
    found = defaultdict(list)
    for place in places:
        found[place.topic].append(place)
    return list(found.items())


def _setting(entry: Any) -> TopicSetting:
    return TopicSetting(
        entry.value,
        entry.config_source == _DEFAULT_CONFIG,
        entry.config_source == _TOPIC_CONFIG,
        entry.read_only or entry.is_sensitive,
    )


def _name(code: int) -> str:
    """Kafka's name of an error code; empty for none."""
    return "" if code == 0 else str(errors.for_code(code).message)


def _check(code: int, message: str | None = None) -> None:
    if code:
        raise errors.for_code(code)(message or "")


def _is_broken(error: BaseException) -> bool:
    """Whether a client is of no more use: it is closed, or would never again ask a broker that refused it once."""
    return isinstance(error, RuntimeError | errors.SaslAuthenticationFailedError)


def _close(client: KafkaNetClient) -> None:
    # The end of an object that nobody holds may come in any thread, also in the one that is to end here.
    if threading.current_thread() is client._net._io_thread:
        threading.Thread(target=client.close, daemon=True).start()
    else:
        client.close()
