"""On brokers with ACLs: those of topics are copied, and who lacks a right is told which."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from connect.kafka.admin.cluster import ClusterAdmin
from connect.kafka.broker.embedded import Broker
from connectors.mirror.keys import MirrorSourceOptions
from connectors.mirror.topics import TopicSync
from tests.integration.connectors.mirror.conftest import Cluster
from tests.servers.broker import a_broker

pytestmark = pytest.mark.slow

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture(scope="module")
def guarded(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that has ACLs; whoever asks without a password may do everything."""
    with a_broker(tmp_path_factory.mktemp("guarded-broker"), settings=AUTHORIZER) as running:
        yield running


def acl(topic: str, user: str, operation: str, permission: str = "ALLOW", pattern: str = "LITERAL") -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType[pattern],
        f"User:{user}",
        "*",
        AclOperation[operation],
        AclPermissionType[permission],
    )


def sync_of(source: Broker, target: Broker) -> TopicSync:
    options = MirrorSourceOptions.parse(
        {
            "source.cluster.alias": "A",
            "source.cluster.bootstrap.servers": source.bootstrap_servers,
            "target.cluster.bootstrap.servers": target.bootstrap_servers,
            "topics": "guarded.*",
            "replication.factor": "1",
        }
    )
    admins = [ClusterAdmin({"bootstrap.servers": each.bootstrap_servers}, "cluster", 30) for each in (source, target)]
    return TopicSync(options, *admins)


def test_who_may_read_a_topic_may_read_its_copy(guarded: Broker) -> None:
    cluster = Cluster(guarded.bootstrap_servers)
    cluster.create("guarded-orders")
    cluster.create("other")
    given = [
        acl("guarded-orders", "reader", "READ"),
        acl("guarded-orders", "writer", "WRITE"),
        acl("guarded-orders", "owner", "ALL"),
        acl("guarded-orders", "enemy", "WRITE", "DENY"),
        acl("guarded", "everybody", "READ", pattern="PREFIXED"),
        acl("other", "reader", "READ"),
    ]
    for made in cluster.admin.create_acls(given).values():
        made.result(30)
    sync = sync_of(guarded, guarded)
    assert [place.topic for place in sync.partitions()] == ["guarded-orders"]
    assert sync.sync_acls() == 3
    admin = ClusterAdmin({"bootstrap.servers": guarded.bootstrap_servers}, "cluster", 30)
    copied = {
        (each.principal, each.operation, each.permission)
        for each in admin.topic_acls()
        if each.topic == "A.guarded-orders"
    }
    assert copied == {
        ("User:reader", "READ", "ALLOW"),
        ("User:owner", "READ", "ALLOW"),
        ("User:enemy", "WRITE", "DENY"),
    }
    assert sync.sync_acls() == 0  # they are there


def test_a_cluster_without_acls_is_no_error(broker: Broker, guarded: Broker) -> None:
    sync = sync_of(broker, guarded)
    assert sync.sync_acls() == 0
