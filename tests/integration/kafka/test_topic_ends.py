"""Partitions of topics, where they begin and where they end, asked of a real broker."""

import re
import uuid

import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewPartitions

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.reading import topic_ends
from connect.kafka.reading.topic_ends import TopicEnds
from tests.support.waiting import until


@pytest.fixture
def ends(broker):
    """Makes one: `ends(topics, **consumer settings)`."""

    def make(topics, **java) -> TopicEnds:
        worker = {"bootstrap.servers": broker.bootstrap_servers}
        return TopicEnds(worker, {f"consumer.override.{k.replace('_', '.')}": v for k, v in java.items()}, topics)

    return make


def test_the_partitions_of_named_topics_that_exist(ends, new_topic, broker):
    one, two, missing = new_topic(partitions=3), new_topic(), f"missing-{uuid.uuid4()}"
    asked = ends([one, two, missing])
    assert sorted(asked.partitions()) == sorted(
        [*(TopicPartition(one, partition) for partition in range(3)), TopicPartition(two, 0)]
    )
    assert missing not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30).topics


def test_the_partitions_of_topics_that_a_pattern_matches_as_a_whole(ends, new_topic, broker):
    prefix = f"p{uuid.uuid4().hex[:8]}"
    new_topic(name=f"{prefix}-a")
    new_topic(name=f"{prefix}-a-more")
    asked = ends(re.compile(f"{prefix}-[ab]"))
    assert asked.partitions() == [TopicPartition(f"{prefix}-a", 0)]
    new_topic(name=f"{prefix}-b", partitions=2)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(f"{prefix}-a", 2)])[f"{prefix}-a"].result(30)
    until(lambda: len(asked.partitions()) >= 4, 30)
    numbers = [TopicPartition(f"{prefix}-{name}", number) for name in "ab" for number in (0, 1)]
    assert sorted(asked.partitions()) == numbers


def test_where_partitions_begin_and_end(ends, new_topic, write, broker):
    topic = new_topic(partitions=2)
    p0, p1 = TopicPartition(topic, 0), TopicPartition(topic, 1)
    write(topic, 0, 20)
    asked = ends([topic])
    assert asked.ends([p0, p1]) == {p0: 20, p1: 0}
    assert asked.begins([p0, p1]) == {p0: 0, p1: 0}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.delete_records([Place(topic, 0, 12)]).values():
        future.result(30)
    assert asked.begins([p0]) == {p0: 12}
    assert asked.ends([]) == {}


def test_an_end_is_what_a_consumer_would_be_given(ends, new_topic, transaction, broker):
    from confluent_kafka import Producer

    topic = new_topic()
    place = TopicPartition(topic, 0)
    transaction(topic, 0, 3)
    open_one = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    open_one.init_transactions(30)
    open_one.begin_transaction()
    open_one.produce(topic, b"x", partition=0)
    assert open_one.flush(30) == 0
    assert ends([topic], isolation_level="read_committed").ends([place]) == {place: 4}
    assert ends([topic], isolation_level="read_uncommitted").ends([place]) == {place: 5}
    open_one.abort_transaction(30)


def test_a_partition_that_does_not_exist_is_an_error(ends, new_topic):
    with pytest.raises(ConnectError, match="The ends of the topics are not known: .+"):
        ends([]).ends([TopicPartition(new_topic(), 5)])


def test_no_answer_is_an_error_in_bounded_time(monkeypatch):
    monkeypatch.setattr(topic_ends, "TIMEOUT_S", 1.0)
    asked = TopicEnds({"bootstrap.servers": "127.0.0.1:1"}, {}, ["t"])
    for ask in (asked.partitions, lambda: asked.ends([TopicPartition("t", 0)])):
        with pytest.raises(ConnectError, match="The ends of the topics are not known"):
            ask()
    with pytest.raises(ConnectError, match="The ends of the topics are not known"):
        TopicEnds({"bootstrap.servers": "127.0.0.1:1"}, {}, re.compile("t")).partitions()
