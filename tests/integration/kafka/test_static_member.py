"""Consumers with a name in their group (KIP-345): who comes under it takes over, who leaves is waited for by nobody."""

import pytest
from confluent_kafka.admin import AdminClient

from connect.errors import ConnectError
from connect.kafka.admin.groups import remove_member

from .members import until

STRATEGIES = pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])


def named(member, topic, strategy, **more):
    return member([topic], group_instance_id="task-0", partition_assignment_strategy=strategy, **more)


def members_of(broker, group):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return admin.describe_consumer_groups([group])[group].result(30).members


@STRATEGIES
@pytest.mark.promise("P3")
def test_who_comes_under_a_name_takes_its_partitions_and_who_had_them_is_turned_away(
    broker, member, new_topic, write, strategy
):
    topic = new_topic(partitions=2)
    write(topic, 0, 5)
    first = named(member, topic, strategy, session_timeout_ms="60000")
    until(lambda: first.values == [*range(5)], first)
    second = named(member, topic, strategy, group=first.consumer.group, session_timeout_ms="60000")
    until(lambda: second.values == [*range(5)], second)  # none of them was committed

    with pytest.raises(ConnectError, match="Another process has taken this task's place"):
        until(lambda: False, first)
    first.open = False
    assert first.consumer.close() is True
    write(topic, 5, 5)
    until(lambda: second.values == [*range(10)], second)


@STRATEGIES
def test_who_closes_leaves_although_it_has_a_name(broker, member, new_topic, strategy):
    one = named(member, new_topic(partitions=2), strategy, session_timeout_ms="60000")
    until(lambda: one.assignment, one)
    one.open = False
    assert one.consumer.close() is True
    assert members_of(broker, one.consumer.group) == []
    assert [kind for kind, _ in one.listener.events] == ["assigned", "revoked"]


def test_one_that_was_never_told_its_id_is_removed_by_its_name(broker, member, new_topic):
    one = named(member, new_topic(partitions=2), "range")
    until(lambda: one.assignment, one)
    remove_member({"bootstrap.servers": broker.bootstrap_servers}, {}, one.consumer.group, "", "task-0")
    remove_member({"bootstrap.servers": broker.bootstrap_servers}, {}, one.consumer.group, "", "task-1")
    assert [each.member_id for each in members_of(broker, one.consumer.group)] == []
