"""Two clusters, and a worker at the second that copies from the first."""

from __future__ import annotations

import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, ResourceType

from connect.kafka.broker.embedded import Broker
from tests.integration.conftest import StrictBroker, create_topic
from tests.integration.standalone.conftest import Standalone
from tests.support.worker_process import WorkerProcess

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
PACKAGE = "org.apache.kafka.connect.mirror."
PATIENCE = 60.0


class Cluster:
    """What a test does with one of the clusters."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers})

    def create(self, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        create_topic(self.servers, topic, partitions, config)

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(30)

    def grow(self, topic: str, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def partitions(self, topic: str) -> int:
        """0 where there is no such topic."""
        found = self.admin.list_topics(timeout=10).topics.get(topic)
        return len(found.partitions) if found is not None and found.error is None else 0

    def setting(self, topic: str, name: str) -> str:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return str(self.admin.describe_configs([resource])[resource].result(30)[name].value)

    def produce(self, topic: str, values: Sequence[bytes], partition: int = 0, **more: Any) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def read(self, topic: str, partition: int = 0, start: int = 0) -> list[Message]:
        """What is in a partition now. By a consumer that sees only what counts."""
        settings = {"bootstrap.servers": self.servers, "group.id": f"test-{uuid.uuid4()}", "enable.partition.eof": True}
        consumer = Consumer({**settings, "isolation.level": "read_committed", "auto.offset.reset": "earliest"})
        found: list[Message] = []
        deadline = time.monotonic() + PATIENCE
        try:
            consumer.assign([TopicPartition(topic, partition, start)])
            while time.monotonic() < deadline:
                for message in consumer.consume(1000, 0.2):
                    if message.error() is None:
                        found.append(message)
                    elif message.error().name() == "_PARTITION_EOF":
                        return found
            raise AssertionError(f"{topic}-{partition} has no end")
        finally:
            consumer.close()

    def values(self, topic: str, partition: int = 0, start: int = 0) -> list[bytes]:
        return [message.value() for message in self.read(topic, partition, start)]

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """As a consumer that leaves again."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group})
        places = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        try:
            asked = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
            return {(p.topic, p.partition): p.offset for p in asked[group].result(30).topic_partitions}
        except KafkaException:
            return {}


class Mirror:
    """A worker at the target, with mirror connectors.

    Attributes:
        source, target: the clusters, called A and B.
        topic: a name for a topic of the test's own at the source; `copy` is what it is called at the target.
    """

    def __init__(self, standalone: Standalone, source: str, target: str) -> None:
        self.standalone = standalone
        self.source, self.target = Cluster(source), Cluster(target)
        # Aliases of its own, so that the topics of other tests are not in its way.
        self.alias = f"a{uuid.uuid4().hex[:8]}"
        self.topic = f"topic-{uuid.uuid4().hex[:8]}"
        self.copy = f"{self.alias}.{self.topic}"
        listeners = {"listeners": "http://127.0.0.1:0"}
        standalone.worker({"bootstrap.servers": target, "restart.policy": "on", **listeners})

    def connector(self, what: str = "Source", **changes: str) -> str:
        """Write the property file of a connector; its name. Keys have _ for dots."""
        return self.standalone.properties(f"{what}.properties", self.config(what, **changes))

    def config(self, what: str = "Source", **changes: str) -> dict[str, str]:
        return {
            "name": f"mirror-{what}",
            "connector.class": f"{PACKAGE}Mirror{what}Connector",
            "key.converter": BYTES,
            "value.converter": BYTES,
            "header.converter": BYTES,
            "source.cluster.alias": self.alias,
            "target.cluster.alias": f"{self.alias}-target",
            "source.cluster.bootstrap.servers": self.source.servers,
            "target.cluster.bootstrap.servers": self.target.servers,
            "topics": f"{self.topic}.*",
            "heartbeats.replication.enabled": "false",
            "groups": f"{self.topic}.*",
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "checkpoints.topic.replication.factor": "1",
            "heartbeats.topic.replication.factor": "1",
            "refresh.topics.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "sync.topic.configs.interval.seconds": "1",
            "emit.checkpoints.interval.seconds": "1",
            "sync.group.offsets.interval.seconds": "1",
            **{key.replace("_", "."): value for key, value in changes.items()},
        }

    def start(self, *files: str) -> WorkerProcess:
        return self.standalone.start(*(files or (self.connector(),)))


@pytest.fixture
def standalone(tmp_path: Path, broker: Broker) -> Iterator[Standalone]:
    made = Standalone(tmp_path, broker)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def mirror(standalone: Standalone, strict_broker: StrictBroker, broker: Broker) -> Mirror:
    """See `Mirror`. The source may be stopped and started."""
    return Mirror(standalone, strict_broker.bootstrap_servers, broker.bootstrap_servers)


def tasks_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The hosts and tasks of a worker: what its fork server has forked."""
    return [child for child in psutil.Process(process.pid).children(recursive=True) if not child.children()]


Until = Callable[[Callable[[], bool]], None]
