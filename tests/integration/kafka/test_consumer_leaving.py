"""Consumers that leave their group while it is moving, on a real broker."""

import threading
import uuid
from collections.abc import Sequence

import pytest
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.admin.groups import remove_member

from .members import until


@pytest.mark.promise("P9")
def test_an_error_of_the_listener_at_the_end_comes_out_of_close(member, new_topic):
    def breaks(partitions: Sequence[TopicPartition]) -> None:
        raise ConnectError("the disk is full")

    one = member([new_topic()])
    until(lambda: one.assignment, one)
    one.listener.on_revoked = breaks
    one.open = False
    with pytest.raises(ConnectError, match="the disk is full"):
        one.consumer.close()
    assert one.consumer.assignment == frozenset()


def test_partitions_that_are_given_while_we_leave_are_given_back(member, new_topic, broker):
    group = f"group-{uuid.uuid4()}"
    one = member([new_topic()], group)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    # Without a poll the client joins, and has the partitions ready for one.
    until(lambda: admin.describe_consumer_groups([group])[group].result(30).state is ConsumerGroupState.STABLE)
    one.close()
    assert [kind for kind, _ in one.listener.events] in ([], ["assigned", "lost"], ["assigned", "revoked"])
    assert one.consumer.assignment == frozenset()
    assert one.consumer.lag() == 0


@pytest.mark.promise("P11")
def test_a_member_whose_join_waits_for_another_is_closed_without_it(broker, member, new_topic):
    topic = new_topic(partitions=2)
    holder = member([topic])
    until(lambda: holder.assignment, holder)
    group = holder.consumer.group
    joining = member([topic], group=group)  # it waits: the first is not polled any more
    until(lambda: joining.consumer.member_id, joining)
    left_behind = joining.consumer.member_id
    joining.poll(0.5)
    joining.open = False
    assert joining.consumer.close() is False
    remove_member({"bootstrap.servers": broker.bootstrap_servers}, {}, group, left_behind)
    assert joining.listener.events == []


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_member_that_is_closed_gives_back_its_partitions_in_its_own_thread_and_leaves(
    broker, member, new_topic, strategy
):
    topic = new_topic(partitions=2)
    one = member([topic], partition_assignment_strategy=strategy)
    until(lambda: one.assignment, one)
    threads = []
    one.listener.on_revoked = lambda partitions: threads.append(threading.current_thread())
    one.open = False
    assert one.consumer.close() is True
    assert threads == [threading.current_thread()]
    assert one.listener.events[-1] == ("revoked", [TopicPartition(topic, 0), TopicPartition(topic, 1)])
    assert not one.assignment
