"""A second broker, which creates no topics and may be stopped and started; one that wants a login; what tests ask."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from connect.kafka.broker.embedded import Broker, ensure_running, stop
from tests.integration.group.secure_broker import SecureBroker, start_secure_broker
from tests.support.waiting import until

STRICT = {"auto.create.topics.enable": "false", "log.segment.bytes": "536870912"}


class StrictBroker:
    """A broker with auto.create.topics.enable=false. Whoever stops it starts it again."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.running: Broker
        self.start()

    @property
    def bootstrap_servers(self) -> str:
        return self.running.bootstrap_servers

    def start(self) -> None:
        """Start it; on the port that it had."""
        self.running = ensure_running(self.data, settings=STRICT, port=None if hasattr(self, "running") else 0)

    def stop(self) -> None:
        """Stop it as it should be."""
        stop(self.data)

    def kill(self) -> None:
        """End it at once."""
        process = psutil.Process(self.running.pid)
        process.kill()
        psutil.wait_procs([process], timeout=30)


@pytest.fixture(scope="session")
def strict_broker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrictBroker]:
    """See `StrictBroker`. The usual broker is asked for so that jars and Java are there."""
    data = tmp_path_factory.mktemp("strict-broker")
    try:
        yield StrictBroker(data)
    finally:
        stop(data)


@pytest.fixture(scope="session")
def secure_broker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """One that asks for TLS and a password. The usual broker is asked for so that jars and Java are there."""
    folder = tmp_path_factory.mktemp("secure")
    try:
        yield start_secure_broker(folder / "data", folder / "stores")
    finally:
        stop(folder / "data")


NewTopicNamed = Callable[..., str]


@pytest.fixture
def new_topic(broker: Broker) -> NewTopicNamed:
    """Makes a topic of its own name: `new_topic(partitions=3, config={...}, on=strict_broker)`."""

    def create(
        partitions: int = 1, config: Mapping[str, str] | None = None, on: object = None, name: str | None = None
    ) -> str:
        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        create_topic((on or broker).bootstrap_servers, name, partitions, config)  # type: ignore[attr-defined]
        return name

    return create


def create_topic(servers: str, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
    """Make a topic, and wait until the broker tells of it."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions, config=dict(config or {}))])[name].result(30)
    until(lambda: len(admin.list_topics(name, timeout=10).topics[name].partitions) >= partitions, 30)


@pytest.fixture(scope="session")
def read() -> Callable[..., list[Message]]:
    """Reads the first records of a topic: so many, or until none has come for 30 s. Takes further client settings."""

    def from_beginning(servers: str, topic: str, count: int, **settings: str) -> list[Message]:
        group = {"group.id": f"reader-{uuid.uuid4()}", "enable.auto.commit": False}
        consumer = Consumer({"bootstrap.servers": servers, **group, **settings})
        try:
            partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            found: list[Message] = []
            deadline = time.monotonic() + 30
            while len(found) < count and time.monotonic() < deadline:
                if more := [each for each in consumer.consume(count - len(found), 0.5) if each.error() is None]:
                    found += more
                    deadline = time.monotonic() + 30
            return found
        finally:
            consumer.close()

    return from_beginning


@pytest.fixture(scope="session")
def end_of() -> Callable[..., int]:
    """Gives the offset of the record that comes next in a partition."""

    def high(servers: str, topic: str, partition: int = 0) -> int:
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "ends"})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1])
        finally:
            consumer.close()

    return high
