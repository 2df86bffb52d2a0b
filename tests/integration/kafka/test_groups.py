"""Taking a member out of a consumer group that its killed process left in it."""

import time
import uuid
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from connect.errors import ConnectError
from connect.kafka.admin.groups import remove_member


def joined(broker: Any, topic: str, group: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "session.timeout.ms": 45000})
    consumer.subscribe([topic])
    deadline = time.monotonic() + 30
    while not consumer.assignment():
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    return consumer


def members(broker: Any, group: str) -> list[str]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return [one.member_id for one in admin.describe_consumer_groups([group])[group].result(30).members]


@pytest.mark.promise("P3")
def test_a_removed_member_is_gone_and_a_successor_has_its_partitions_at_once(broker, new_topic):
    topic, group = new_topic(partitions=2), f"connect-{uuid.uuid4()}"
    worker = {"bootstrap.servers": broker.bootstrap_servers}
    left = joined(broker, topic, group)  # never polled again, like a killed process
    assert members(broker, group) == [left.memberid()]
    remove_member(worker, {}, group, left.memberid())
    assert members(broker, group) == []
    successor = joined(broker, topic, group)
    assert len(successor.assignment()) == 2
    successor.close()
    left.close()


def test_a_member_that_is_gone_already_is_no_error(broker, new_topic):
    group = f"connect-{uuid.uuid4()}"
    consumer = joined(broker, new_topic(), group)
    remove_member({"bootstrap.servers": broker.bootstrap_servers}, {}, group, "member-that-left")
    assert members(broker, group) == [consumer.memberid()]
    consumer.close()


def test_a_group_that_does_not_exist_is_no_error(broker):
    remove_member({"bootstrap.servers": broker.bootstrap_servers}, {}, f"never-{uuid.uuid4()}", "member")


def test_a_connector_with_brokers_of_its_own_is_followed(broker, new_topic):
    group = f"connect-{uuid.uuid4()}"
    consumer = joined(broker, new_topic(), group)
    connector = {"name": "orders", "consumer.override.bootstrap.servers": broker.bootstrap_servers}
    remove_member({"bootstrap.servers": "127.0.0.1:1"}, connector, group, consumer.memberid())
    assert members(broker, group) == []
    consumer.close()


@pytest.mark.slow
@pytest.mark.promise("P9")
def test_brokers_that_do_not_answer_are_an_error_with_the_groups_name():
    with pytest.raises(ConnectError, match="Group connect-orders"):
        remove_member({"bootstrap.servers": "127.0.0.1:1"}, {}, "connect-orders", "member")
