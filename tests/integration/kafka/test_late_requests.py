"""What a request does that arrives when the next transaction has begun (KIP-890, Jepsen's analysis of Bufstream)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.kafka.broker.embedded import stop
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.writing.transactional import TransactionalProducer

from .late_requests import END_TXN, Gate, start_gated_broker

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gated(broker: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Gate]]:
    """A broker's address, and the gate in front of it. The usual broker is asked for its jars."""
    data = tmp_path_factory.mktemp("gated")
    bootstrap, gate = start_gated_broker(data)
    yield bootstrap, gate
    gate.close()
    stop(data)


def committed(bootstrap: str, topic: str) -> list[str]:
    """What readers of committed records see now, up to the last stable offset."""
    settings = {"group.id": f"g-{uuid.uuid4()}", "enable.partition.eof": True, "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(30)) is not None and message.error() is None:
            found.append(message.value().decode())
        return found
    finally:
        consumer.close()


def test_with_its_id_claimed_again_a_late_end_is_refused(gated: tuple[str, Gate]) -> None:
    bootstrap, gate = gated
    topic = f"whole-{uuid.uuid4().hex[:8]}"
    connector = {"producer.override.transactional.id": topic}
    settings = task_client_settings("producer", {"bootstrap.servers": gate.bootstrap_servers}, connector).librdkafka
    producer = TransactionalProducer(settings, lambda: None, lambda error, _: pytest.fail(str(error)))
    producer.claim()
    for value in ("first", "second"):
        producer.begin()
        producer.send(SourceBatch.of([SourceRecord(topic, value.encode())]), None)
        if value == "second":
            gate.keep_next(END_TXN)
        producer.commit(lambda: None)
        assert producer.must_claim is (value == "second")
    assert gate.kept.is_set()
    producer.claim()
    assert not producer.must_claim
    producer.begin()
    producer.send(SourceBatch.of([SourceRecord(topic, b"third")]), None)
    while producer.deliveries.outstanding:
        producer.poll(0.1)
    gate.let_through()
    assert committed(bootstrap, topic) == ["first", "second"]
    producer.abort(lambda: None)
    producer.begin()
    producer.send(SourceBatch.of([SourceRecord(topic, b"fourth")]), None)
    producer.commit(lambda: None)
    assert committed(bootstrap, topic) == ["first", "second", "fourth"]
    producer.close()


def test_librdkafka_alone_the_end_of_one_transaction_ends_the_next(gated: tuple[str, Gate]) -> None:
    """The hazard: where this fails, librdkafka or the broker has closed it, and `renew` may go."""
    bootstrap, gate = gated
    topic = f"torn-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": gate.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"first")
    producer.flush(30)
    gate.keep_next(END_TXN)
    producer.commit_transaction(60)
    assert gate.kept.is_set()
    producer.begin_transaction()
    producer.produce(topic, b"second")
    producer.flush(30)
    assert committed(bootstrap, topic) == ["first"]
    gate.let_through()
    assert committed(bootstrap, topic) == ["first", "second"]  # although nobody has committed it
