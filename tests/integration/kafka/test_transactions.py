"""Producers in transactions, and fencing them, on a real broker."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.errors import FencedError
from connect.kafka.broker.embedded import Broker
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.writing.fencing import abort_left_open, fence
from connect.kafka.writing.refusals import DeliveryError
from connect.kafka.writing.transactional import TransactionalProducer

Make = Callable[..., TransactionalProducer]


@pytest.fixture
def name() -> str:
    """A transactional id that no other test has."""
    return f"id-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def worker(broker: Broker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.fixture
def refused() -> list[DeliveryError]:
    """What the client did not take."""
    return []


@pytest.fixture
def claimed(worker: dict[str, str], name: str, refused: list[DeliveryError]) -> Iterator[Make]:
    """Makes a producer that holds the test's transactional id."""
    made: list[TransactionalProducer] = []

    def make() -> TransactionalProducer:
        connector = {"producer.override.transactional.id": name}
        settings = task_client_settings("producer", worker, connector).librdkafka
        made.append(TransactionalProducer(settings, lambda: None, lambda error, _: refused.append(error)))
        made[-1].claim()
        return made[-1]

    yield make
    for producer in made:
        producer.close()


def batch(topic: str, *values: str) -> SourceBatch:
    return SourceBatch.of([SourceRecord(topic, value.encode()) for value in values])


def patient() -> None:
    """Wait for the broker, as long as the test lasts."""


def seen(broker: Broker, topic: str) -> list[str]:
    """Everything in a topic that is committed. Raises when something is in a transaction that is open."""
    settings = {"group.id": f"g-{uuid.uuid4()}", "enable.partition.eof": True, "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(30)) is not None and message.error() is None:
            found.append(message.value().decode())
        assert message is not None, "no end of the topic"
        return found
    finally:
        consumer.close()


@pytest.mark.promise("P10")
def test_a_transaction_is_aborted_while_the_brokers_still_end_the_one_before(
    claimed: Make, broker: Broker, new_topic: Any
) -> None:
    """The more partitions, the longer that takes."""
    topic = new_topic(partitions=50)
    producer = claimed()
    for number in range(5):
        for end in (producer.commit, producer.abort):
            value = f"{number} {end.__name__}".encode()
            producer.begin()
            producer.send(SourceBatch.of([SourceRecord(topic, value, partition=each) for each in range(50)]), None)
            producer.poll(0.005)
            end(patient)
    assert seen(broker, topic) == [f"{number} commit" for number in range(5)]


def test_records_and_offsets_of_a_transaction_appear_together_or_not_at_all(
    claimed: Make, broker: Broker, new_topic: Any
) -> None:
    records, offsets = new_topic(), new_topic()
    producer = claimed()
    for number in range(4):
        producer.begin()
        producer.send(batch(records, f"{number}a", f"{number}b"), None)
        producer.write(offsets, [(b"k", str(number).encode())])
        (producer.abort if number % 2 else producer.commit)(patient)
        assert producer.deliveries.outstanding == 0
    assert seen(broker, records) == ["0a", "0b", "2a", "2b"]
    assert seen(broker, offsets) == ["0", "2"]
    assert producer.sent == 4, "what was taken back was not sent"


def test_who_claims_an_id_fences_its_holder(claimed: Make, broker: Broker, new_topic: Any, name: str) -> None:
    topic = new_topic()
    former = claimed()
    former.begin()
    former.send(batch(topic, "lost"), None)
    successor = claimed()
    with pytest.raises(FencedError, match=f"transactional id {name} was taken over"):
        former.commit(patient)
    successor.begin()
    successor.send(batch(topic, "kept"), None)
    successor.commit(patient)
    assert seen(broker, topic) == ["kept"]


def test_many_ids_are_fenced_at_once(
    claimed: Make, worker: dict[str, str], broker: Broker, new_topic: Any, name: str
) -> None:
    topic = new_topic()
    zombie = claimed()
    zombie.begin()
    zombie.send(batch(topic, "lost"), None)
    zombie.drain(30)
    fence(worker, [f"{name}-{number}" for number in range(120)] + [name], 60)
    assert seen(broker, topic) == [], "its transaction is over"
    with pytest.raises(FencedError):
        zombie.commit(patient)


def test_what_a_dead_producer_left_open_is_aborted(
    claimed: Make, worker: dict[str, str], broker: Broker, new_topic: Any, name: str, end_of: Callable[..., int]
) -> None:
    topic = new_topic()
    dead = claimed()
    dead.begin()
    dead.send(batch(topic, "lost"), None)
    dead.drain(30)
    assert not abort_left_open(worker, name, 30, lambda: False), "somebody else may hold the id by now"
    assert abort_left_open(worker, name, 30, lambda: True)
    assert not abort_left_open(worker, name, 30, lambda: True)
    assert not abort_left_open(worker, f"{name}-nobody", 30, lambda: True)
    successor = claimed()
    assert seen(broker, topic) == []
    successor.begin()
    successor.send(batch(topic, "kept"), None)
    successor.commit(patient)
    assert not abort_left_open(worker, name, 30, lambda: True), "an id whose transactions are over is left alone"
    successor.begin()
    successor.send(batch(topic, "too"), None)
    successor.commit(patient)
    assert seen(broker, topic) == ["kept", "too"]


def test_a_record_that_the_broker_refuses_fails_the_transaction(claimed: Make, broker: Broker, new_topic: Any) -> None:
    topic = new_topic(config={"max.message.bytes": "1000"})
    producer = claimed()
    producer.begin()
    producer.send(batch(topic, "x" * 5000), None)
    with pytest.raises(DeliveryError, match="max.message.bytes"):
        producer.commit(patient)
    producer.abort(patient)
    assert seen(broker, topic) == []


def test_a_record_that_the_client_does_not_take_may_be_skipped(
    claimed: Make, broker: Broker, new_topic: Any, refused: list[DeliveryError]
) -> None:
    topic = new_topic()
    producer = claimed()
    producer.begin()
    producer.send(batch(topic, "a", "x" * 2_000_000, "b"), None)
    producer.commit(patient)
    assert [error.code.removeprefix("_") for error in refused] == ["MSG_SIZE_TOO_LARGE"]
    assert seen(broker, topic) == ["a", "b"]


def test_a_broker_that_is_gone_for_a_while_is_waited_for(worker: dict[str, str], name: str, strict_broker: Any) -> None:
    worker = {"bootstrap.servers": strict_broker.bootstrap_servers}
    settings = task_client_settings("producer", worker, {"producer.override.transactional.id": name}).librdkafka
    topic = f"topic-{name}"
    from tests.integration.conftest import create_topic

    create_topic(strict_broker.bootstrap_servers, topic)
    producer = TransactionalProducer(settings, lambda: None, lambda *_: None)
    producer.claim()
    producer.begin()
    producer.send(batch(topic, "a"), None)
    strict_broker.kill()
    waited: list[None] = []

    def waiting() -> None:
        waited.append(None)
        if len(waited) == 3:
            strict_broker.start()

    producer.commit(waiting)
    assert len(waited) >= 3
    producer.close()
    assert seen(strict_broker, topic) == ["a"]


def test_a_producer_that_is_not_ours_may_hold_an_id(worker: dict[str, str], name: str) -> None:
    """An id whose holder never began anything is fenced like any other."""
    idle = Producer({**worker, "transactional.id": name})
    idle.init_transactions(30)
    assert not abort_left_open(worker, name, 30, lambda: True)
    fence(worker, [name], 30)
