"""How many records wait for a consumer on a real broker."""

import uuid

import pytest

from connect.data.record import TopicPartition

from .members import until


def test_lag_is_what_waits(member, new_topic, write):
    topic = new_topic()
    write(topic, 0, 100)
    one = member([topic], rows=10)
    until(lambda: len(one.values) >= 10, one)
    assert one.consumer.lag() == 100 - len(one.values)
    until(lambda: len(one.values) == 100, one)
    assert one.consumer.lag() == 0


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_lag_reaches_nothing_behind_the_marks_of_transactions(member, new_topic, transaction, isolation):
    topic = new_topic()
    transaction(topic, 0, 5)
    transaction(topic, 100, 5, commit=False)
    one = member([topic], isolation_level=isolation)
    until(lambda: len(one.values) >= 5, one)
    until(lambda: one.consumer.lag() == 0, one)


def test_a_partition_that_only_has_aborted_records_has_no_lag(member, new_topic, transaction):
    topic = new_topic()
    transaction(topic, 100, 5, commit=False)
    one = member([topic], isolation_level="read_committed")
    until(lambda: one.assignment, one)
    until(lambda: one.consumer.lag() == 0, one)
    assert one.values == []


def test_lag_counts_partitions_from_which_nothing_came_yet(member, new_topic, write):
    group, topic = f"group-{uuid.uuid4()}", new_topic(partitions=2)
    places = {TopicPartition(topic, 0): 10, TopicPartition(topic, 1): 20}
    for place, count in places.items():
        write(topic, 0, count, place.partition)
    one = member([topic], group, rows=1)
    until(lambda: len(one.values) == 1, one)
    until(lambda: one.consumer.lag() == 29)  # the client learns the ends by itself
    one.consumer.commit(dict.fromkeys(places, 5))
    one.close()
    two = member([topic], group, rows=1)
    until(lambda: len(two.values) == 1, two)
    assert len(two.consumer.positions()) == 1
    until(lambda: two.consumer.lag() == 19)  # the other partition begins where the group has committed


def test_lag_is_unknown_before_the_client_knows_the_ends(member, new_topic):
    one = member([new_topic()])
    one.listener.on_assigned = one.consumer.pause
    until(lambda: one.assignment, one)
    assert one.consumer.lag() == -1
