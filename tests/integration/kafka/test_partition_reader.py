"""Partitions of a cluster are read from where they should be, through an absence of the brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from connect.data.record import TopicPartition
from connect.errors import ConnectError, RetriableError
from connect.kafka.clients.settings import client_settings
from connect.kafka.reading.partition_reader import BEGINNING, END, PartitionReader

PATIENCE = 60.0


def reader(servers: str, starts: dict[TopicPartition, int], **settings: str) -> PartitionReader:
    java = {"bootstrap.servers": servers, "group.id": "reader", "client.id": "reader"}
    java |= {key.replace("_", "."): value for key, value in settings.items()}
    return PartitionReader(client_settings("consumer", java).librdkafka, starts, 'Cluster "A"', ends=True)


def produce(servers: str, topic: str, values: list[bytes], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


@pytest.fixture
def closing() -> Iterator[list[PartitionReader]]:
    made: list[PartitionReader] = []
    yield made
    for each in made:
        each.close()


def taken(read: PartitionReader, count: int) -> list[bytes]:
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < deadline:
        try:
            batch = read.poll(0.5)
        except RetriableError:
            continue
        found += batch.values if batch is not None else []
    return found


def poll_on(read: PartitionReader) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        read.poll(0.5)


def test_each_partition_begins_where_it_is_told(broker, new_topic: Callable[..., str], closing) -> None:
    topic = new_topic(partitions=3)
    for partition in range(3):
        produce(broker.bootstrap_servers, topic, [b"%d-%d" % (partition, at) for at in range(3)], partition)
    starts = {TopicPartition(topic, 0): BEGINNING, TopicPartition(topic, 1): 2, TopicPartition(topic, 2): END}
    closing.append(read := reader(broker.bootstrap_servers, starts))
    assert sorted(taken(read, 4)) == [b"0-0", b"0-1", b"0-2", b"1-2"]
    deadline = time.monotonic() + PATIENCE
    while not read.at_end:
        assert read.poll(0.2) is None
        assert time.monotonic() < deadline
    produce(broker.bootstrap_servers, topic, [b"new"], 2)
    assert taken(read, 1) == [b"new"]


def test_an_offset_that_is_not_there_is_an_error_where_that_is_asked_for(
    broker, new_topic: Callable[..., str], closing
) -> None:
    topic = new_topic()
    closing.append(read := reader(broker.bootstrap_servers, {TopicPartition(topic, 0): 7}, auto_offset_reset="none"))
    with pytest.raises(ConnectError, match='Cluster "A": The consumer cannot go on'):
        poll_on(read)


@pytest.mark.slow
def test_brokers_that_are_away_are_told_and_found_again(strict_broker, new_topic: Callable[..., str], closing) -> None:
    topic = new_topic(on=strict_broker)
    produce(strict_broker.bootstrap_servers, topic, [b"before"])
    closing.append(read := reader(strict_broker.bootstrap_servers, {TopicPartition(topic, 0): BEGINNING}))
    assert taken(read, 1) == [b"before"]
    strict_broker.stop()
    try:
        with pytest.raises(RetriableError, match='Cluster "A" cannot be read: .*'):
            poll_on(read)
    finally:
        strict_broker.start()
    # With nothing new to be read.
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            assert read.poll(0.5) is None
            break
        except RetriableError:
            assert time.monotonic() < deadline
    produce(strict_broker.bootstrap_servers, topic, [b"after"])
    assert taken(read, 1) == [b"after"]


def test_a_topic_that_is_recreated_after_its_broker_was_restarted_is_read(strict_broker, new_topic, closing) -> None:
    """Its leader epochs begin at 0 again, and the client takes all that it hears of it for outdated."""
    servers = strict_broker.bootstrap_servers
    again, stays, quiet = (new_topic(on=strict_broker) for _ in range(3))
    for topic in (again, stays):
        produce(servers, topic, [b"%d" % number for number in range(30)])
    produce(servers, quiet, [b"old"])
    starts = {TopicPartition(again, 0): BEGINNING, TopicPartition(stays, 0): BEGINNING, TopicPartition(quiet, 0): END}
    closing.append(read := reader(servers, starts, metadata_max_age_ms="1000"))
    assert len(taken(read, 60)) == 60
    strict_broker.stop()
    strict_broker.start()
    for topic in (again, stays):
        produce(servers, topic, [b"30"])
    assert taken(read, 2) == [b"30", b"30"]
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([again])[again].result(30)
    new_topic(on=strict_broker, name=again)
    produce(servers, again, [b"%d" % number for number in range(100, 120)])
    assert taken(read, 20) == [b"%d" % number for number in range(100, 120)]
    for topic in (stays, quiet):
        produce(servers, topic, [b"new"])
    assert taken(read, 2) == [b"new", b"new"]
