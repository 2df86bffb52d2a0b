"""Numbered lines in a topic: written, and read back with their offsets."""

import contextlib
from collections import defaultdict
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

QUIET = {"log_level": 0, "error_cb": lambda error: None, "reconnect.backoff.max.ms": 500}


def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)


def fill(bootstrap: str, topic: str, values: list[list[bytes]]) -> None:
    """Write each list to the partition of its index; each value once."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, **QUIET})
    for partition, column in enumerate(values):
        for value in column:
            while True:
                try:
                    producer.produce(topic, value, partition=partition)
                    break
                except BufferError:
                    producer.poll(0.05)
    assert producer.flush(60) == 0, "the broker did not take all records"


class Topic:
    """Reads everything in a topic, as it grows, also while its broker comes and goes.

    Attributes:
        values: for each partition, in order of offset, what is in it.
    """

    def __init__(self, bootstrap: str, name: str, partitions: int = 1) -> None:
        self.values: dict[int, list[bytes]] = defaultdict(list)
        self._name = name
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False, **QUIET}
        )
        self._consumer.assign([TopicPartition(name, number, 0) for number in range(partitions)])

    def read(self, timeout: float = 0.01) -> int:
        """Take what is there. Returns how many values were seen in all."""
        for message in self._consumer.consume(5000, timeout):
            if message.error() is None:
                column = self.values[message.partition()]
                assert message.offset() == len(column), "an offset is missing: nothing here is compacted or aborted"
                column.append(message.value())
        return self.count

    @property
    def count(self) -> int:
        return sum(map(len, self.values.values()))

    def close(self) -> None:
        self._consumer.close()


def committed(bootstrap: str, group: str, topic: str, partitions: int = 1) -> list[int]:
    """The committed offset of each partition; 0 where there is none."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **QUIET})
    try:
        places = consumer.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=20)
        return [max(0, place.offset) for place in places]
    finally:
        consumer.close()


def members(bootstrap: str, group: str) -> dict[str, list[tuple[str, int]]]:
    """The members of a consumer group and their partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    with contextlib.suppress(KafkaException):
        found: Any = admin.describe_consumer_groups([group], request_timeout=10)[group].result(15)
        return {
            member.member_id: sorted((place.topic, place.partition) for place in member.assignment.topic_partitions)
            for member in found.members
        }
    return {}
