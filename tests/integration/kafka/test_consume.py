"""Consuming batches from a real broker: partitions that come and go, positions, pausing, committing."""

import re
import threading
import time
import uuid
from collections.abc import Sequence

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.reading import consume, subscription

from .members import until


@pytest.mark.quick
def test_every_partition_of_every_topic_arrives_in_order(member, new_topic, write):
    first, second = new_topic(partitions=3), new_topic()
    for partition in range(3):
        write(first, partition * 1000, 150, partition)
    write(second, 5000, 50)
    one = member([first, second], rows=64)
    until(lambda: len(one.values) == 500, one)
    assert all(len(batch) <= 64 for batch in one.batches)
    seen: dict[TopicPartition, list[tuple[int, int]]] = {}
    for batch in one.batches:
        for record in batch:
            seen.setdefault(TopicPartition(record.topic, record.partition), []).append(
                (record.offset, int(record.value))
            )
    assert seen == {
        **{TopicPartition(first, p): [(n, p * 1000 + n) for n in range(150)] for p in range(3)},
        TopicPartition(second, 0): [(n, 5000 + n) for n in range(50)],
    }
    assert one.consumer.positions() == {
        **{TopicPartition(first, p): 150 for p in range(3)},
        TopicPartition(second, 0): 50,
    }


def test_everything_of_a_record_arrives(member, new_topic, broker):
    topic = new_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"v", b"k", timestamp=1_600_000_000_000, headers=[("a", b"1"), ("a", None)])
    producer.produce(topic, None, b"k")
    producer.produce(topic, b"", None)
    producer.flush(30)
    one = member([topic])
    until(lambda: sum(map(len, one.batches)) == 3, one)
    rows = [record for batch in one.batches for record in batch]
    assert [(r.value, r.key, r.offset) for r in rows] == [(b"v", b"k", 0), (None, b"k", 1), (b"", None, 2)]
    assert (rows[0].timestamp, rows[0].timestamp_type) == (1_600_000_000_000, "CreateTime")
    assert [row for batch in one.batches for row in batch.headers] == [[("a", b"1"), ("a", None)], None, None]


@pytest.mark.promise("P1")
def test_a_group_goes_on_where_it_committed(member, new_topic, write):
    topic = new_topic()
    write(topic, 0, 30)
    one = member([topic], group := f"group-{uuid.uuid4()}")
    until(lambda: len(one.values) == 30, one)
    one.consumer.commit({TopicPartition(topic, 0): 10})
    one.close()
    two = member([topic], group)
    until(lambda: len(two.values) == 20, two)
    assert two.values == list(range(10, 30))


def test_a_commit_for_a_group_that_moved_on_is_an_error(member, new_topic, write):
    topic = new_topic()
    write(topic, 0, 3)
    one = member([topic])
    until(lambda: len(one.values) == 3, one)
    one.listener.on_revoked = lambda partitions: None
    with pytest.raises(ConnectError, match="not committed"):
        one.consumer.commit({TopicPartition("there-is-no-such-topic", 0): 10**15})


def test_a_record_that_was_written_without_a_time_has_none(member, new_topic, broker):
    topic = new_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"v", timestamp=-1)  # what is left of a message of Kafka before 0.10
    producer.produce(topic, b"w", timestamp=7)
    producer.flush(30)
    one = member([topic])
    until(lambda: sum(map(len, one.batches)) == 2, one)
    assert [at for batch in one.batches for at in batch.timestamps] == [None, 7]
    assert one.batches[0].timestamps[0] is None


def test_a_listener_says_where_to_begin(member, new_topic, write):
    topic = new_topic(partitions=2)
    write(topic, 0, 10, 0)
    write(topic, 100, 10, 1)
    one = member([topic])
    one.listener.begin = {TopicPartition(topic, 1): 7}
    until(lambda: len(one.values) >= 13, one)
    assert sorted(one.values) == [*range(10), 107, 108, 109]


def test_offsets_of_a_time_are_the_first_of_it_or_the_end(member, new_topic, broker):
    topic = new_topic(partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for partition, moment in ((0, 1000), (0, 5000), (0, 6000), (1, 1000), (1, 2000)):
        producer.produce(topic, b"v", partition=partition, timestamp=moment)
    producer.flush()
    one = member([topic])
    parts = [TopicPartition(topic, number) for number in range(3)]
    until(lambda: one.assignment == set(parts), one)
    assert one.consumer.offsets_at(5000, parts) == dict(zip(parts, (1, 2, 0), strict=True))
    assert one.consumer.offsets_at(0, parts) == dict(zip(parts, (0, 0, 0), strict=True))
    assert one.consumer.offsets_at(5000, []) == {}


def test_paused_partitions_bring_nothing_until_they_are_resumed(member, new_topic, write):
    topic = new_topic(partitions=2)
    p0, p1 = TopicPartition(topic, 0), TopicPartition(topic, 1)
    one = member([topic])
    until(lambda: one.assignment == {p0, p1}, one)
    one.consumer.pause([p0, TopicPartition("not-ours", 0)])
    write(topic, 0, 10, 0)
    write(topic, 100, 10, 1)
    until(lambda: len(one.values) >= 10, one)
    for _ in range(5):
        one.poll()
    assert one.values == list(range(100, 110))
    one.consumer.resume([p0])
    until(lambda: len(one.values) == 20, one)
    assert one.values[10:] == list(range(10))


def test_what_the_listener_pauses_at_assignment_is_paused(member, new_topic, write):
    topic = new_topic(partitions=2)
    p0 = TopicPartition(topic, 0)
    write(topic, 0, 10, 0)
    write(topic, 100, 10, 1)
    one = member([topic])
    one.listener.on_assigned = lambda partitions: one.consumer.pause([p0])
    until(lambda: len(one.values) >= 10, one)
    for _ in range(5):
        one.poll()
    assert one.values == list(range(100, 110))


@pytest.mark.promise("P1")
def test_a_seek_goes_back_and_the_position_with_it(member, new_topic, write):
    topic = new_topic(partitions=2)
    p0, p1 = TopicPartition(topic, 0), TopicPartition(topic, 1)
    write(topic, 0, 10, 0)
    one = member([topic])
    until(lambda: len(one.values) == 10, one)
    one.consumer.pause([p0])
    one.consumer.seek({p0: 4, TopicPartition("not-ours", 0): 4})
    assert one.consumer.positions().get(p0, 4) == 4
    write(topic, 100, 5, 1)
    until(lambda: len(one.values) == 15, one)
    # Records of another partition do not bring the old position back.
    assert {p0: 4, **one.consumer.positions()} == {p0: 4, p1: 5}
    one.consumer.resume([p0])
    until(lambda: len(one.values) == 21, one)
    assert one.values[15:] == list(range(4, 10))
    assert one.consumer.positions() == {p0: 10, p1: 5}


@pytest.mark.promise("P1")
def test_a_seek_before_the_client_knows_where_to_begin_counts(member, new_topic, write):
    topic = new_topic()
    p0 = TopicPartition(topic, 0)
    write(topic, 0, 10, 0)
    one = member([topic])
    deadline = time.monotonic() + 30
    while not one.consumer.assignment and time.monotonic() < deadline:
        assert one.consumer.poll(0) is None  # the client asks what the group has committed
    one.consumer.seek({p0: 7})
    assert one.consumer.positions() in ({}, {p0: 7})
    until(lambda: len(one.values) >= 3, one)
    assert one.values == [7, 8, 9]
    assert one.consumer.positions() == {p0: 10}


@pytest.mark.promise("P1")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_two_members_share_and_the_first_gets_all_back(member, new_topic, write, strategy):
    topic = new_topic(partitions=4)
    java = {
        "partition_assignment_strategy": strategy
        if strategy != "range"
        else "org.apache.kafka.clients.consumer.RangeAssignor"
    }
    group = f"group-{uuid.uuid4()}"
    one = member([topic], group, **java)
    everything = {TopicPartition(topic, p) for p in range(4)}
    until(lambda: one.assignment == everything, one)
    write(topic, 0, 10, 0)
    until(lambda: len(one.values) == 10, one)

    def commit(partitions: Sequence[TopicPartition]) -> None:
        """Commits are still possible while partitions are revoked."""
        one.consumer.commit({p: o for p, o in one.consumer.positions().items() if p in partitions})

    one.listener.on_revoked = commit
    two = member([topic], group, **java)
    until(lambda: one.assignment and two.assignment and one.assignment | two.assignment == everything, one, two)
    assert not one.assignment & two.assignment
    revoked = [partitions for kind, partitions in one.listener.events if kind == "revoked"]
    assert set(revoked[0]) == (everything if strategy == "range" else two.assignment)
    for partition in range(4):
        write(topic, 1000 + partition * 10, 10, partition)
    until(lambda: len(one.values) + len(two.values) == 50, one, two)
    assert sorted(one.values + two.values) == sorted([*range(10), *range(1000, 1040)])
    two.listener.on_revoked = lambda partitions: two.consumer.commit(two.consumer.positions())
    two.close()
    until(lambda: one.assignment == everything, one)
    write(topic, 9000, 1, 3)
    until(lambda: 9000 in one.values, one)
    kinds = [kind for kind, _ in one.listener.events]
    assert kinds[0] == "assigned"
    assert "lost" not in kinds


def test_a_pause_outlasts_a_cooperative_rebalance(member, new_topic, write):
    topic = new_topic(partitions=2)
    group = f"group-{uuid.uuid4()}"
    java = {"partition_assignment_strategy": "cooperative-sticky"}
    one = member([topic], group, **java)
    until(lambda: len(one.assignment) == 2, one)
    one.consumer.pause(one.assignment)
    two = member([topic], group, **java)
    until(lambda: len(one.assignment) == len(two.assignment) == 1, one, two)
    (kept,) = one.assignment
    write(topic, 0, 5, kept.partition)
    for _ in range(10):
        one.poll()
    assert one.values == []
    one.consumer.resume([kept])
    until(lambda: one.values == list(range(5)), one)


@pytest.mark.promise("P9")
def test_an_error_of_the_listener_comes_out_of_poll(member, new_topic):
    def breaks(partitions: Sequence[TopicPartition]) -> None:
        raise ConnectError("the table is locked")

    one = member([new_topic()])
    one.listener.on_assigned = breaks
    with pytest.raises(ConnectError, match="the table is locked"):
        until(lambda: False, one)


def test_a_pattern_takes_topics_that_come_later(member, new_topic, write, monkeypatch):
    monkeypatch.setattr(subscription, "_AGAIN_S", 0.5)
    prefix = f"regex-{uuid.uuid4().hex[:8]}"
    other = new_topic(name=f"x{prefix}-a")
    first = new_topic(name=f"{prefix}-a")
    write(other, 900, 5)
    write(first, 0, 5)
    one = member(re.compile(rf"{prefix}-\w"))
    one.listener.on_revoked = lambda partitions: one.consumer.commit(one.consumer.positions())
    until(lambda: len(one.values) == 5, one)
    second = new_topic(name=f"{prefix}-b")
    write(second, 10, 5)
    until(lambda: len(one.values) == 10, one)
    assert sorted(one.values) == [*range(5), *range(10, 15)]


def test_a_pattern_that_matches_nothing_yet_waits(member, new_topic, write, monkeypatch):
    monkeypatch.setattr(subscription, "_AGAIN_S", 0.2)
    name = f"later-{uuid.uuid4().hex[:8]}"
    one = member(re.compile(name))
    assert one.poll() is None
    write(new_topic(name=name), 0, 5)
    until(lambda: len(one.values) == 5, one)


def test_a_topic_that_is_missing_at_first_is_taken_when_it_appears(member, strict_broker, new_topic, caplog):
    name = f"missing-{uuid.uuid4().hex[:8]}"
    one = member([name], on=strict_broker)
    until(lambda: name in caplog.text, one)
    assert len([r for r in caplog.records if name in r.getMessage()]) == 1  # said once, not at each try
    new_topic(on=strict_broker, name=name)
    until(lambda: one.assignment == {TopicPartition(name, 0)}, one)


def test_a_topic_that_is_deleted_and_made_anew_is_read_on(member, strict_broker):
    servers = {"bootstrap.servers": strict_broker.bootstrap_servers}
    admin, producer = AdminClient(servers), Producer(servers)
    name = f"anew-{uuid.uuid4().hex[:8]}"

    def make(first: int, count: int) -> None:
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        for number in range(first, first + count):
            producer.produce(name, b"%d" % number)
        assert producer.flush(30) == 0

    make(0, 30)
    one = member([name], on=strict_broker, **{"metadata.max.age.ms": "300000"})
    until(lambda: len(one.values) == 30, one)
    admin.delete_topics([name])[name].result(30)
    make(100, 20)
    until(lambda: one.values[-1] == 119, one)
    assert one.values == [*range(30), *range(100, 120)]


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("seen_gone", [False, True], ids=["at once", "seen gone"])
def test_a_topic_is_recreated_after_its_broker_was_restarted(member, strict_broker, seen_gone, static):
    """Its leader epochs begin at 0 again, and the client takes all that it hears of it for outdated."""
    servers = {"bootstrap.servers": strict_broker.bootstrap_servers}
    admin, producer = AdminClient(servers), Producer(servers)
    names = [f"again-{uuid.uuid4().hex[:8]}", f"stays-{uuid.uuid4().hex[:8]}"]

    def write(name: str, first: int, count: int) -> None:
        for number in range(first, first + count):
            producer.produce(name, b"%d" % number)
        assert producer.flush(30) == 0

    for name in names:
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        write(name, 0, 30)
    instance = {"group.instance.id": names[0]} if static else {}
    one = member(names, on=strict_broker, **{"metadata.max.age.ms": "1000"}, **instance)
    until(lambda: len(one.values) == 60, one)
    strict_broker.stop()
    strict_broker.start()
    for name in names:
        write(name, 30, 1)
    until(lambda: len(one.values) == 62, one)
    again, stays = (TopicPartition(name, 0) for name in names)
    one.consumer.commit({stays: 31})
    admin.delete_topics([names[0]])[names[0]].result(30)
    with pytest.raises(ConnectError, match="Unknown topic"):
        one.consumer.commit({again: 31})
    if seen_gone:
        until(lambda: one.assignment == {stays}, one)
    admin.create_topics([NewTopic(names[0], 1, 1)])[names[0]].result(30)
    write(names[0], 100, 40)
    if not seen_gone:
        with pytest.raises(ConnectError, match="did not exist when"):
            one.consumer.commit({again: 31, stays: 31})
    until(lambda: one.values[-1] == 139, one)
    assert one.values[62:] == list(range(100, 140)), "all of the new topic, and nothing of the other again"
    one.consumer.commit({again: 40})
    write(names[1], 31, 1)
    until(lambda: one.values[-1] == 31, one)
    assert one.consumer.committed([again, stays]) == {again: 40, stays: 31}
    assert ("lost", [again]) in one.listener.events


def test_aborted_records_are_never_seen_and_the_others_all_are(member, new_topic, transaction):
    topic = new_topic()
    transaction(topic, 0, 5)
    transaction(topic, 100, 5, commit=False)
    transaction(topic, 5, 5)
    one = member([topic], isolation_level="read_committed")
    until(lambda: len(one.values) == 10, one)
    assert one.values == list(range(10))


def test_a_wait_ends_when_a_record_comes_and_when_another_thread_says_so(member, new_topic, write):
    """Held to an hour: a wait that nothing ends would be seen. What else arrives in between may end one for nothing."""
    one = member([topic := new_topic()])
    until(lambda: one.assignment, one)
    assert one.consumer.can_be_woken, "confluent-kafka changed: try connect.kafka.reading.arrivals with it"
    write(topic, 0, 3)
    while not one.batches:
        one.poll(3600)
    threading.Timer(0.05, one.consumer.wake).start()
    assert one.poll(3600) is None


def test_a_consumer_of_an_untried_client_waits_inside_it(member, new_topic, write, monkeypatch):
    monkeypatch.setattr(consume, "arrivals", lambda consumer, name: None)
    one = member([topic := new_topic()])
    assert not one.consumer.can_be_woken
    one.consumer.wake()
    write(topic, 0, 3)
    until(lambda: one.values == [0, 1, 2], one)
