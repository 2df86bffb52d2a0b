"""What can be read of a cluster to find out whether a worker can work with it. Nothing is created or changed.

One exception: a request for a group makes brokers create their own topic __consumer_offsets, if it does not exist yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka.admin import ACLOperation
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.admin import CreateTopicsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.metadata import MetadataRequest

from connect.kafka.admin.asking import NO_TOPIC, check, metadata, name
from connect.kafka.admin.client import Admin

_NOT_TOLD: Final = 31  # the bit that stands alone then
_WITH_RIGHTS: Final = 8  # the version of Metadata that tells what a user may do
_GROUPS_WITH_RIGHTS: Final = 3


class BrokerAddress(NamedTuple):
    """A broker, and the address that it advertises."""

    id: int
    host: str
    port: int


class Cluster(NamedTuple):
    """The id of a cluster, and its live brokers."""

    id: str | None
    brokers: list[BrokerAddress]


class Replicas(NamedTuple):
    """The replicas of one partition: how many, how many of them are in sync, whether there is a leader."""

    copies: int
    in_sync: int
    led: bool


class TopicLayout(NamedTuple):
    """A topic that exists.

    Attributes:
        partitions: one each, in their order.
        rights: of this user, such as READ; None where the brokers do not say.
    """

    partitions: list[Replicas]
    rights: frozenset[str] | None


class Member(NamedTuple):
    """A member of a group: its client id, and its address."""

    client_id: str
    host: str


class Group(NamedTuple):
    """A group.

    Attributes:
        state: as brokers name it, such as Stable, Empty.
        kind: the type of its protocol: `connect` of workers, `consumer`; empty where it has had no members.
        protocol: what its members have agreed on, while it is stable; for workers `sessioned` or the like.
        members: the current ones.
        rights: of this user; None where the brokers do not say.
    """

    state: str
    kind: str
    protocol: str
    members: list[Member]
    rights: frozenset[str] | None


class Inspection(Admin):
    """An `Admin` with requests that only diagnosis needs. Raises as it does."""

    def cluster(self) -> Cluster:
        """The cluster that the brokers form."""

        async def question(manager: KafkaConnectionManager) -> Cluster:
            answer = await manager.send(metadata([]))
            found = [BrokerAddress(each.node_id, each.host, each.port) for each in answer.brokers]
            return Cluster(answer.cluster_id, sorted(found))

        return self._ask(question)

    def layout(self, topic: str) -> TopicLayout | None:
        """The partitions of a topic. None where it does not exist."""

        async def question(manager: KafkaConnectionManager) -> TopicLayout | None:
            asked = [MetadataRequest.MetadataRequestTopic(name=topic)]
            tells = manager.broker_version_data.api_version(MetadataRequest) >= _WITH_RIGHTS
            more = {"include_topic_authorized_operations": True} if tells else {}
            request = MetadataRequest(topics=asked, allow_auto_topic_creation=False, **more)
            found = (await manager.send(request)).topics[0]
            if name(found.error_code) in NO_TOPIC:
                return None
            check(found.error_code)
            partitions = [
                Replicas(len(each.replica_nodes), len(each.isr_nodes), each.leader_id >= 0)
                for each in sorted(found.partitions, key=lambda each: int(each.partition_index))
            ]
            return TopicLayout(partitions, _rights(found.authorized_operations if tells else None))

        return self._ask(question)

    def try_topic(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> None:
        """Have the brokers validate the creation of a topic, as `make_topic` would create it. Raises if they refuse."""

        async def question(manager: KafkaConnectionManager) -> None:
            kind = CreateTopicsRequest.CreatableTopic
            created = kind(
                name=topic,
                num_partitions=partitions,
                replication_factor=replication,
                assignments=[],
                configs=[kind.CreatableTopicConfig(*each) for each in settings.items()],
            )
            request = CreateTopicsRequest(topics=[created], timeout_ms=self._patience_ms(None), validate_only=True)
            answer = (await manager.send(request)).topics[0]
            check(answer.error_code, answer.error_message)

        self._ask(question)

    def group(self, group: str) -> Group | None:
        """A group of any kind. None where it does not exist."""

        async def question(manager: KafkaConnectionManager) -> Group | None:
            coordinator = await self._coordinator(manager, group)
            tells = manager.broker_version_data.api_version(DescribeGroupsRequest) >= _GROUPS_WITH_RIGHTS
            request = DescribeGroupsRequest(groups=[group], include_authorized_operations=tells)
            found = (await manager.send(request, node_id=coordinator)).groups[0]
            if name(found.error_code) != "GROUP_ID_NOT_FOUND":
                check(found.error_code)
                if found.group_state != "Dead":
                    members = [Member(each.client_id, each.client_host.lstrip("/")) for each in found.members]
                    rights = _rights(found.authorized_operations if tells else None)
                    return Group(found.group_state, found.protocol_type, found.protocol_data, members, rights)
            # One that this request knows nothing of, such as those of consumers since Kafka 4 (KIP-848), is listed.
            listed = await manager.send(ListGroupsRequest(), node_id=coordinator)
            check(listed.error_code)
            return _listed(group, listed.groups)

        return self._ask(question)


def _listed(group: str, groups: Sequence[Any]) -> Group | None:
    for each in groups:
        if each.group_id == group:
            return Group(getattr(each, "group_state", "") or "", each.protocol_type, "", [], None)
    return None


def _rights(operations: Collection[int] | None) -> frozenset[str] | None:
    """Operations as ACLs name them. None where the brokers report none."""
    if operations is None or _NOT_TOLD in operations:
        return None
    known = {operation.value: operation.name for operation in ACLOperation}
    return frozenset(known[each] for each in operations if each in known)
