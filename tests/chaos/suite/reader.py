"""Reads what sources, and error topics, have been given, as a consumer does that reads committed records only."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.chaos.topic import QUIET
from tests.support.waiting import until

from .checks import Place

COPIES = 3
#: What a request for partitions may end with when a broker ends: an earlier one may have been done, too.
_TO_BE_ASKED_AGAIN = (
    *(KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_CONTROLLER),
    *(KafkaError.INVALID_PARTITIONS, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE),
)


class Read(NamedTuple):
    """One record."""

    place: Place
    value: bytes
    headers: Any


class Reader:
    """Follows topics from their beginnings.

    Attributes:
        records: of each topic, in the order in which they came.
    """

    def __init__(self, bootstrap: str) -> None:
        self.records: dict[str, list[Read]] = defaultdict(list)
        self._topics: dict[str, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "chaos-reader",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 5000,
                **QUIET,
            }
        )
        self._lock = threading.Lock()
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reader", daemon=True)

    def follow(self, topic: str, partitions: int) -> None:
        """Read this topic as well, or more partitions of it."""
        with self._lock:
            before = self._topics.get(topic, 0)
            self._topics[topic] = partitions
            self._consumer.incremental_assign(
                [TopicPartition(topic, number, 0) for number in range(before, partitions)]
            )

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join(30)
        self._consumer.close()

    def _run(self) -> None:
        while not self._enough.is_set():
            with self._lock:
                messages = self._consumer.consume(2000, 0.2)
            for message in messages:
                if message.error() is None:
                    place = (message.partition(), message.offset())
                    self.records[message.topic()].append(Read(place, message.value() or b"", message.headers()))
            self._enough.wait(0.05)


def _said(ask: Callable[[], bool]) -> bool:
    """What the brokers say; False if one of them ends meanwhile."""
    try:
        return ask()
    except KafkaException as error:
        if error.args[0].code() not in _TO_BE_ASKED_AGAIN:
            raise
    return False


class Topics:
    """Makes topics of three copies, and asks about groups."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})

    def create(self, *topics: NewTopic) -> None:
        """Make topics, and wait until the brokers tell of them."""
        for future in self.admin.create_topics(list(topics), operation_timeout=30).values():
            future.result(60)
        for topic in topics:
            until(lambda: len(self.admin.list_topics(topic.topic, timeout=10).topics[topic.topic].partitions), 30)  # noqa: B023

    def widen(self, topic: str, partitions: int) -> None:
        """Add partitions, up to so many. A broker that ends meanwhile may have taken the request or not."""

        def wide() -> bool:
            if len(self.admin.list_topics(topic, timeout=10).topics[topic].partitions) >= partitions:
                return True
            wanted = NewPartitions(topic, partitions)
            self.admin.create_partitions([wanted], operation_timeout=30)[topic].result(60)
            return False

        until(lambda: _said(wide), 90, every=0.2)

    def delete_before(self, topic: str, offset: int) -> None:
        """Delete the records of partition 0 whose offset is less, as retention does."""
        place = TopicPartition(topic, 0, offset)

        def deleted() -> bool:
            self.admin.delete_records([place], operation_timeout=30)[place].result(60)
            return True

        until(lambda: _said(deleted), 90, every=0.2)

    def committed(self, group: str, topic: str, partitions: int) -> dict[int, int]:
        """The committed offset of each partition that has one.

        Raises:
            confluent_kafka.KafkaException: the brokers do not answer.
        """
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": group, "enable.auto.commit": False, **QUIET}
        )
        try:
            places = consumer.committed([TopicPartition(topic, number) for number in range(partitions)], timeout=10)
            return {place.partition: place.offset for place in places if place.offset >= 0}
        finally:
            consumer.close()


def new_topic(name: str, partitions: int = 1, **config: str) -> NewTopic:
    """A topic of three copies. `config` with _ for dots."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return NewTopic(name, partitions, COPIES, config=settings)
