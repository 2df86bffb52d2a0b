"""Offsets of a group that are a connector's report, told from those that somebody else has set."""

import uuid

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin import group_notes
from connect.kafka.admin.answers import Committed
from connect.kafka.admin.group_notes import GroupNotes

from .members import until


@pytest.fixture
def name() -> str:
    return f"sink-{uuid.uuid4()}"


@pytest.fixture
def marked(broker, name) -> GroupNotes:
    return GroupNotes({"bootstrap.servers": broker.bootstrap_servers}, {"name": name})


def test_a_report_is_read_with_its_mark(marked, new_topic, name):
    topic = new_topic(partitions=2)
    p0, p1 = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert marked.group == f"connect-{name}"
    assert marked.read() == {}
    marked.write({p0: Committed(7, "spark 000001-abc"), p1: Committed(0, "spark 000001-abc")})
    assert marked.read() == {p0: Committed(7, "spark 000001-abc"), p1: Committed(0, "spark 000001-abc")}
    marked.write({p0: Committed(9, "spark 000002-def")})
    assert marked.read() == {p0: Committed(9, "spark 000002-def"), p1: Committed(0, "spark 000001-abc")}
    marked.write({})
    assert {each.metadata for each in marked.read().values()} == {"spark 000001-abc", "spark 000002-def"}


def test_what_others_commit_has_no_mark(marked, new_topic, broker):
    topic = new_topic(partitions=3)
    p0, p1, p2 = (TopicPartition(topic, partition) for partition in range(3))
    marked.write({p0: Committed(1, "ours"), p1: Committed(1, "ours"), p2: Committed(1, "ours")})
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    consumer = Consumer({**servers, "group.id": marked.group, "enable.auto.commit": False})
    consumer.commit(offsets=[Place(topic, 0, 5)], asynchronous=False)
    consumer.close()
    admin = AdminClient(servers)
    asked = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(marked.group, [Place(topic, 1, 6)])])
    asked[marked.group].result(30)
    assert marked.read() == {p0: Committed(5, ""), p1: Committed(6, ""), p2: Committed(1, "ours")}


def test_the_group_of_an_override_is_reported(broker, new_topic, name):
    group, topic = f"group-{uuid.uuid4()}", new_topic()
    worker = {"bootstrap.servers": broker.bootstrap_servers}
    marked = GroupNotes(worker, {"name": name, "consumer.override.group.id": group})
    marked.write({TopicPartition(topic, 0): Committed(3, "ours")})
    admin = AdminClient(worker)
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(30)
    assert [(place.topic, place.offset) for place in found.topic_partitions] == [(topic, 3)]


def test_a_group_with_members_takes_no_report(marked, member, new_topic, write):
    topic = new_topic()
    write(topic, 0, 3)
    one = member([topic], marked.group)
    until(lambda: one.assignment, one)
    with pytest.raises(ConnectError, match=rf"offsets of group {marked.group} cannot be reported: .+"):
        marked.write({TopicPartition(topic, 0): Committed(1, "ours")})
    assert marked.read() == {}
    one.close()
    marked.write({TopicPartition(topic, 0): Committed(1, "ours")})
    assert marked.read() == {TopicPartition(topic, 0): Committed(1, "ours")}


def test_no_answer_is_an_error_in_bounded_time(name, monkeypatch):
    monkeypatch.setattr(group_notes, "_TIMEOUT_S", 1.0)
    own = GroupNotes({"bootstrap.servers": "127.0.0.1:1"}, {"name": name})
    with pytest.raises(ConnectError, match="cannot be read"):
        own.read()
    with pytest.raises(ConnectError, match="cannot be reported"):
        own.write({TopicPartition("t", 0): Committed(1, "ours")})
