"""Consumers of the tests: what comes and goes is noted, what is read is kept."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.kafka.clients.settings import client_settings
from connect.kafka.reading.consume import BatchConsumer

WITHIN_S = 40.0


class Listener:
    """Notes what comes and goes, and answers with the places to begin at."""

    def __init__(self) -> None:
        self.events: list[tuple[str, list[TopicPartition]]] = []
        self.begin: dict[TopicPartition, int] = {}
        self.on_assigned: Callable[[Sequence[TopicPartition]], None] = lambda partitions: None
        self.on_revoked: Callable[[Sequence[TopicPartition]], None] = lambda partitions: None

    def assigned(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int] | None:
        self.events.append(("assigned", sorted(partitions)))
        self.on_assigned(partitions)
        return self.begin

    def revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append(("revoked", sorted(partitions)))
        self.on_revoked(partitions)

    def lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append(("lost", sorted(partitions)))


class Member:
    """A consumer, its listener, and what it got."""

    def __init__(self, broker: Any, topics: Any, group: str, rows: int, java: dict[str, str]) -> None:
        self.listener = Listener()
        settings = client_settings(
            "consumer",
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": group,
                "metadata.max.age.ms": "1000",
                "heartbeat.interval.ms": "300",  # how soon a member learns of a rebalance
                **java,
            },
        ).librdkafka
        self.consumer = BatchConsumer(settings, topics, self.listener, rows)
        self.batches: list[SinkBatch] = []
        self.open = True

    @property
    def values(self) -> list[int]:
        return [int(value) for batch in self.batches for value in batch.values.to_list()]

    @property
    def assignment(self) -> set[TopicPartition]:
        return set(self.consumer.assignment)

    def poll(self, seconds: float = 0.1) -> SinkBatch | None:
        batch = self.consumer.poll(seconds)
        if batch is not None:
            self.batches.append(batch)
        return batch

    def close(self) -> None:
        if self.open:
            self.open = False
            self.consumer.close()


def until(done: Callable[[], Any], *members: Member) -> None:
    """Poll all members in turn until this holds."""
    deadline = time.monotonic() + WITHIN_S
    while not done():
        assert time.monotonic() < deadline, [member.listener.events for member in members]
        for member in members:
            member.poll()
