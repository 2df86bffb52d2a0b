"""Records for both engines, and the worker's own."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from connect.kafka.broker.embedded import Broker
from tests.integration.errors.conftest import A_WHILE_AGO_MS

from .cases import Group

PARTITIONS = 2


def new_names(cases: Iterable[str]) -> dict[str, str]:
    """A topic for each case."""
    end = uuid.uuid4().hex[:8]
    return {case: f"{case}-{end}" for case in cases}


def make(broker: Broker, group: Group, topics: Mapping[str, str]) -> int:
    """Make the topics and their records, on two partitions in turn; says how many records."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for made in admin.create_topics([NewTopic(topic, PARTITIONS) for topic in topics.values()]).values():
        made.result(60)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 20})
    count = 0
    for case, (_, records) in group.cases.items():
        for number, record in enumerate(records):
            stamp = A_WHILE_AGO_MS + number
            # Doublets follow each other within a partition: what remembers records sees both, whoever reads what.
            partition = number * PARTITIONS // len(records)
            producer.produce(topics[case], record.value, record.key, partition, headers=record.headers, timestamp=stamp)
            count += 1
    assert producer.flush(60) == 0
    return count


def committed_everything(herd: Any, config: Mapping[str, str], count: int, broker: Broker, plugins: str = "") -> None:
    """Have the worker's engine take all records of a connector's topics."""
    run = herd(plugin__path=plugins)
    name = config["name"]
    run.run(**{key.replace(".", "__"): value for key, value in config.items()})
    topics = config["topics"].split(",")
    run.await_state(name, "RUNNING")
    run.until(lambda: _committed(broker, name, topics) == count, lambda: run.task(name))
    assert run.state(name) == "RUNNING", run.task(name).trace
    run.stop()


def _committed(broker: Broker, name: str, topics: list[str]) -> int:
    """How many records the connector's group has behind it."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"connect-{name}"})
    try:
        places = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
        return sum(max(0, place.offset) for place in consumer.committed(places, timeout=30))
    finally:
        consumer.close()
