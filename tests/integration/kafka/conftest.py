"""Consumers on a real broker, and what they read."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from .members import Member


@pytest.fixture
def member(broker) -> Iterator[Callable[..., Member]]:
    """Makes consumers: `member(topics, group=..., rows=..., on=..., **java)`."""
    made: list[Member] = []

    def make(topics: Any, group: str | None = None, rows: int = 100, on: Any = None, **java: str) -> Member:
        settings = {key.replace("_", "."): value for key, value in java.items()}
        made.append(Member(on or broker, topics, group or f"group-{uuid.uuid4()}", rows, settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def write(broker) -> Callable[..., None]:
    """Writes numbered records: `write(topic, first, count, partition=0)`."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1})

    def numbers(topic: str, first: int, count: int, partition: int = 0) -> None:
        for number in range(first, first + count):
            producer.produce(topic, b"%d" % number, partition=partition)
        assert producer.flush(30) == 0

    return numbers


@pytest.fixture
def transaction(broker) -> Callable[..., None]:
    """Writes numbered records in a transaction: `transaction(topic, first, count, commit=True)`."""

    def run(topic: str, first: int, count: int, *, commit: bool = True) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": str(uuid.uuid4())})
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(first, first + count):
            producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    return run
