"""Topics that a cluster does not let the mirror make, or let grow."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from connect import TopicPartition
from connect.kafka.admin.cluster import ClusterAdmin, RefusedError, TopicSetting
from connectors.mirror.clusters import make_internal_topic
from connectors.mirror.keys import MirrorSourceOptions
from connectors.mirror.topics import TopicSync

CONFIG = {
    "source.cluster.alias": "A",
    "source.cluster.bootstrap.servers": "localhost:1",
    "target.cluster.bootstrap.servers": "localhost:2",
    "topics": "orders,lines",
}


class Cluster:
    """Either cluster: topics with their partitions. It refuses to give a topic more of them, or to make one."""

    name = "Cluster"

    def __init__(self, **topics: int) -> None:
        self.there = {name.replace("_", "."): partitions for name, partitions in topics.items()}
        self.settings: dict[str, dict[str, TopicSetting]] = {}
        self.changes: dict[str, Mapping[str, str | None]] = {}

    def topics(self) -> dict[str, int]:
        return self.there

    def topic_settings(self, topics: Iterable[str]) -> dict[str, dict[str, TopicSetting]]:
        return {topic: self.settings.get(topic, {}) for topic in topics}

    def change_topic_settings(self, topic: str, change: Mapping[str, str | None]) -> None:
        self.changes[topic] = change

    def make_topic(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> bool:
        raise RefusedError(f"{topic} is against the policy.", "POLICY_VIOLATION")

    def grow_topic(self, topic: str, partitions: int) -> None:
        raise RefusedError(f"{topic} may have no more partitions.", "POLICY_VIOLATION")


def test_partitions_that_the_copy_has_are_copied_on(caplog: pytest.LogCaptureFixture) -> None:
    source, target = cast("Any", Cluster(orders=3, lines=1)), cast("Any", Cluster(A_orders=2))
    sync = TopicSync(MirrorSourceOptions.parse(CONFIG), cast("ClusterAdmin", source), cast("ClusterAdmin", target))
    with caplog.at_level(logging.WARNING):
        assert sync.partitions() == [TopicPartition("orders", 0), TopicPartition("orders", 1)]
    assert "A.orders may have no more partitions. Partitions of orders from 2 on are not copied." in caplog.text
    assert "A.lines is against the policy. Topic lines is not copied." in caplog.text


def test_a_topic_of_its_own_that_is_there_needs_no_right_to_make_it() -> None:
    make_internal_topic(cast("Any", Cluster(heartbeats=1)), "heartbeats", 3)
    with pytest.raises(RefusedError):
        make_internal_topic(cast("Any", Cluster()), "heartbeats", 3)


def test_settings_that_the_source_does_not_know_are_the_targets_own() -> None:
    """Of an older source."""
    source, target = cast("Any", Cluster(orders=1)), cast("Any", Cluster(A_orders=1))
    default, own = (TopicSetting("1", each, not each, is_of_file=False, is_fixed=False) for each in (True, False))
    source.settings = {"orders": {"retention.ms": default}}
    target.settings = {"A.orders": {"retention.ms": own, "remote.storage.enable": own}}
    sync = TopicSync(MirrorSourceOptions.parse(CONFIG), source, target)
    sync.partitions()
    assert sync.sync_settings() == 1
    assert target.changes == {"A.orders": {"retention.ms": None}}
