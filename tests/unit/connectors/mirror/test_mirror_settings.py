"""What configurations of the mirror connectors are refused, and which client gets which key."""

from __future__ import annotations

from typing import Any

import pytest

from connect import ConnectError, ExactlyOnceSupport
from connect.data import TopicPartition
from connectors.mirror import MirrorCheckpointConnector, MirrorHeartbeatConnector, MirrorSourceConnector, positions
from connectors.mirror.clusters import error_class, java_settings

CLUSTERS = {
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:9092",
    "target.cluster.bootstrap.servers": "b:9092",
}
PLACE = {"cluster": "A", "partition": 0, "topic": "orders"}


def errors(plugin: Any, **changes: str | None) -> dict[str, list[str]]:
    given = {**CLUSTERS, **{key.replace("_", "."): value for key, value in changes.items()}}
    config = {key: value for key, value in given.items() if value is not None}
    return {value.name: value.errors for value in plugin().validate(config) if value.errors}


@pytest.mark.parametrize("plugin", [MirrorSourceConnector, MirrorCheckpointConnector, MirrorHeartbeatConnector])
def test_clusters_are_asked_for(plugin: Any) -> None:
    assert errors(plugin) == {}
    asked = {"source.cluster.alias", "source.cluster.bootstrap.servers", "target.cluster.bootstrap.servers"}
    assert {value.name for value in plugin().validate({}) if value.errors} == asked


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("replication.policy.class", "com.example.OurPolicy", "IdentityReplicationPolicy"),
        ("topic.filter.class", "com.example.OurFilter", "DefaultTopicFilter is what there is"),
        ("topics", "orders(", ""),
        ("offset-syncs.topic.location", "elsewhere", "target"),
        ("refresh.topics.interval.seconds", "0", ""),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: str, words: str) -> None:
    found = errors(MirrorSourceConnector, **{key: value})
    assert list(found) == [key]
    assert words in found[key][0]


def test_checkpoints_need_offset_syncs() -> None:
    found = errors(MirrorSourceConnector, **{"emit.offset-syncs.enabled": "false", "emit.checkpoints.enabled": "true"})
    assert list(found) == ["emit.offset-syncs.enabled"]
    assert errors(MirrorSourceConnector, **{"emit.offset-syncs.enabled": "false"}) == {}


def test_it_is_exact_where_it_reads_what_is_committed() -> None:
    support = MirrorSourceConnector().exactly_once_support
    assert support(CLUSTERS) is ExactlyOnceSupport.UNSUPPORTED
    for key in ("consumer.isolation.level", "source.consumer.isolation.level"):
        assert support({**CLUSTERS, key: "read_committed"}) is ExactlyOnceSupport.SUPPORTED


def test_a_client_gets_the_keys_of_its_cluster_and_of_its_kind_and_no_others() -> None:
    config = {
        **CLUSTERS,
        "source.cluster.security.protocol": "SSL",
        "target.cluster.security.protocol": "PLAINTEXT",
        "consumer.fetch.min.bytes": "1",
        "source.consumer.fetch.min.bytes": "2",
        "consumer.poll.timeout.ms": "500",
        "producer.linger.ms": "3",
        "producer.override.linger.ms": "4",
        "admin.timeout.ms": "9",
    }
    source = {"bootstrap.servers": "a:9092", "security.protocol": "SSL"}
    assert java_settings(config, "source", "consumer") == {**source, "fetch.min.bytes": "2"}
    assert java_settings(config, "source", "producer") == {**source, "linger.ms": "3"}
    target = {"bootstrap.servers": "b:9092", "security.protocol": "PLAINTEXT"}
    assert java_settings(config, "target", "admin") == target


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({**PLACE, "cluster": "C"}, {"offset": 1}),
        ({**PLACE, "partition": -1}, {"offset": 1}),
        ({**PLACE, "partition": True}, {"offset": 1}),
        ({"topic": "orders"}, {"offset": 1}),
        (PLACE, {"offset": -1}),
        (PLACE, {"offset": "1"}),
        (PLACE, {"position": 1}),
    ],
)
def test_offsets_that_nobody_would_read_are_refused(partition: dict[str, Any], offset: dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="reads"):
        MirrorSourceConnector().alter_offsets(CLUSTERS, {tuple(partition.items()): offset})


def test_offsets_say_which_record_was_the_last() -> None:
    assert MirrorSourceConnector().alter_offsets(CLUSTERS, {tuple(PLACE.items()): {"offset": 12}})
    assert positions.next_offset({"offset": 12}) == 13
    assert positions.next_offset(None) is None
    assert positions.next_offset({"offset": -1}) is None
    places = [TopicPartition("a-b", 3), TopicPartition("c", 0)]
    assert positions.partitions(positions.written(places).split(",")) == places


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("_AUTHENTICATION", "credentials"),
        ("TOPIC_AUTHORIZATION_FAILED", "credentials"),
        ("UNKNOWN_TOPIC_OR_PART", "missing"),
        ("_TRANSPORT", "unreachable"),
        ("_TIMED_OUT", "timeout"),
        ("UNKNOWN_MEMBER_ID", "conflict"),
        ("INVALID_REPLICATION_FACTOR", "refused"),
        ("NOT_CONTROLLER", "other"),
    ],
)
def test_errors_are_of_a_kind(code: str, kind: str) -> None:
    assert error_class(code) == kind
