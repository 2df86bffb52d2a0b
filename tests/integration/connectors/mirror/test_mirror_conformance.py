"""The mirror's source passes the suite that every plug-in should pass."""

from __future__ import annotations

import uuid
from typing import ClassVar

import pytest

from connect.testing.conformance import SourceConformance
from connectors.mirror import MirrorSourceConnector
from tests.integration.connectors.mirror.conftest import Cluster

pytestmark = pytest.mark.slow


class TestMirrorSource(SourceConformance):
    connector = MirrorSourceConnector
    partitions: ClassVar[int] = 1

    @pytest.fixture(autouse=True)
    def _topic(self, broker) -> None:
        self.cluster = Cluster(broker.bootstrap_servers)
        self.topic = f"conformance-{uuid.uuid4().hex[:8]}"
        self.cluster.create(self.topic, self.partitions)

    def config(self) -> dict[str, str]:
        return {
            "source.cluster.alias": self.topic,
            "source.cluster.bootstrap.servers": self.cluster.servers,
            "target.cluster.bootstrap.servers": self.cluster.servers,
            "topics": self.topic,
            "heartbeats.replication.enabled": "false",
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "consumer.poll.timeout.ms": "500",
        }

    def value(self, number: int) -> bytes:
        return b"value %06d %s" % (number, b"=" * 100)

    def produce(self, first: int, count: int) -> None:
        for number in range(self.partitions):
            values = [self.value(each) for each in range(first, first + count) if each % self.partitions == number]
            self.cluster.produce(self.topic, values, number)


class TestMirrorSourceOfPartitions(TestMirrorSource):
    partitions = 3

    def config(self) -> dict[str, str]:
        return {**super().config(), "tasks.max": "2", "emit.offset-syncs.enabled": "false"}
