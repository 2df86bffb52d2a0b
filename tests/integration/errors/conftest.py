"""A herder with connectors that do not take every record, and what tests ask of topics."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from tests.integration.worker.conftest import Herd
from tests.integration.worker.conftest import herd as _herd
from tests.support.waiting import until

__all__ = ["PLUGINS", "Herd"]

PLUGINS = str(Path(__file__).with_name("plugins"))
PATIENCE_S = 60.0
#: An hour ago: the broker deletes what is older than its topic keeps records.
A_WHILE_AGO_MS = int(time.time() * 1000) - 3_600_000

herd = _herd

Record = tuple[bytes | None, bytes | None]


@pytest.fixture
def picky(herd: Callable[..., Herd], tmp_path: Path) -> Callable[..., Herd]:
    """Runs a `PickySink` called `name`: its lines go to the file out, the file gate lets everything through."""

    def start(name: str, topics: str, run: Herd | None = None, **config: str) -> Herd:
        run = run or herd(
            plugin__path=PLUGINS, task__shutdown__graceful__timeout__ms="5000", task__stalled__after__ms="8000"
        )
        where = {"file": str(tmp_path / "out"), "gate": str(tmp_path / "gate")}
        run.run(name, connector__class="picky.PickySink", topics=topics, **where, **config)
        run.await_state(name, "RUNNING")
        return run

    return start


@pytest.fixture
def produce(broker: Any) -> Callable[..., None]:
    """Writes keys and values to a topic: `produce(topic, (b"k", b"v"), partition=1)`."""

    def records(topic: str, *items: Record, partition: int = 0, **more: Any) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1})
        for key, value in items:
            producer.produce(topic, value, key, partition=partition, **more)
        assert producer.flush(30) == 0

    return records


@pytest.fixture
def all_of(broker: Any) -> Callable[..., list[Message]]:
    """Reads a topic once it has so many records: `all_of(topic, 3)`; looks a moment for more."""

    def messages(topic: str, count: int) -> list[Message]:
        found: list[Message] = []
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"reader-{uuid.uuid4()}"})
        try:
            deadline = time.monotonic() + PATIENCE_S
            partitions = until(
                lambda: consumer.list_topics(topic, timeout=10).topics[topic].partitions,
                PATIENCE_S,
                f"{topic} is not there",
            )
            consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            while len(found) < count:
                found += [message for message in consumer.consume(count, 0.2) if message.error() is None]
                assert time.monotonic() < deadline, f"{topic} has {len(found)} records of {count}"
            found += [message for message in consumer.consume(count + 1, 0.5) if message.error() is None]
        finally:
            consumer.close()
        return found

    return messages


@pytest.fixture
def lines_of(tmp_path: Path) -> Callable[[], list[str]]:
    """The lines that the sink has written."""
    out = tmp_path / "out"
    return lambda: out.read_text().splitlines() if out.exists() else []


@pytest.fixture
def committed(broker: Any) -> Callable[[str, str], dict[int, int]]:
    """What a sink's group has committed of a topic's partitions: `committed("sink", topic)`."""

    def offsets(name: str, topic: str) -> dict[int, int]:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"connect-{name}"})
        try:
            partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            found = consumer.committed([TopicPartition(topic, number) for number in partitions], timeout=30)
            return {place.partition: max(0, place.offset) for place in found}
        finally:
            consumer.close()

    return offsets
