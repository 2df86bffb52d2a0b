"""The compacted log on a real broker: what it makes and refuses, what it reads, and that nothing waits forever."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from connect.errors import ConnectError
from connect.kafka.admin.topics import TopicShape
from connect.kafka.broker.embedded import Broker
from connect.kafka.compacted_log import LogRecord

from .conftest import ONE, Log

Make = Callable[..., Log]


def describe(servers: str, topic: str) -> tuple[int, dict[str, str]]:
    admin = AdminClient({"bootstrap.servers": servers})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    settings = admin.describe_configs([resource])[resource].result(30)
    partitions = len(admin.list_topics(timeout=30).topics[topic].partitions)
    return partitions, {name: entry.value for name, entry in settings.items()}


# The topic.


def test_a_topic_is_made_compacted_whatever_its_settings_say(make_log: Make, topic: str, broker: Broker) -> None:
    make_log(topic, TopicShape(7, 1, {"cleanup.policy": "delete", "segment.bytes": "1048576"})).start()
    partitions, settings = describe(broker.bootstrap_servers, topic)
    assert partitions == 7
    assert (settings["cleanup.policy"], settings["segment.bytes"]) == ("compact", "1048576")


def test_partitions_and_copies_may_be_left_to_the_broker(make_log: Make, topic: str, broker: Broker) -> None:
    make_log(topic, TopicShape(-1, -1, {})).start()
    assert describe(broker.bootstrap_servers, topic)[0] == 1


def test_an_existing_topic_is_taken_as_it_is(make_log: Make, new_topic: Any, broker: Broker) -> None:
    topic = new_topic(3, {"cleanup.policy": "compact", "retention.ms": "1234"})
    make_log(topic, TopicShape(5, 3, {"retention.ms": "99"})).start()
    partitions, settings = describe(broker.bootstrap_servers, topic)
    assert (partitions, settings["retention.ms"]) == (3, "1234")


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_that_forgets_is_refused_with_what_to_do(make_log: Make, new_topic: Any, policy: str) -> None:
    topic = new_topic(1, {"cleanup.policy": policy})
    with pytest.raises(ConnectError) as refused:
        make_log(topic).start()
    assert topic in str(refused.value)
    assert "cleanup.policy=" in str(refused.value)
    assert "--add-config cleanup.policy=compact" in str(refused.value)


def test_a_topic_with_another_number_of_partitions_is_refused(make_log: Make, new_topic: Any) -> None:
    topic = new_topic(2, {"cleanup.policy": "compact"})
    with pytest.raises(ConnectError, match=f"Topic {topic} has 2 partitions, and must have 1. Name another topic"):
        make_log(topic).start()


def test_too_few_brokers_for_the_copies_is_said_with_what_to_do(make_log: Make, topic: str) -> None:
    with pytest.raises(ConnectError, match=rf"Topic {topic} cannot be made: .*Lower its replication factor \(3\)"):
        make_log(topic, TopicShape(1, 3, {})).start()


def test_a_topic_that_cannot_be_as_wished_is_an_error(make_log: Make, topic: str) -> None:
    with pytest.raises(ConnectError, match=rf"Topic {topic} cannot be made: .*segment.bytes"):
        make_log(topic, TopicShape(1, 1, {"segment.bytes": "many"})).start()


def test_two_that_start_at_the_same_time_make_one_topic(make_log: Make, topic: str, broker: Broker) -> None:
    logs = [make_log(topic, TopicShape(5, 1, {})) for _ in range(4)]
    errors: list[BaseException] = []

    def start(log: Log) -> None:
        try:
            log.start()
        except ConnectError as error:
            errors.append(error)

    threads = [threading.Thread(target=start, args=[log]) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert describe(broker.bootstrap_servers, topic)[0] == 5


# Reading and writing.


def test_read_to_end_sees_all_that_was_there_and_in_order(make_log: Make, topic: str, seed: int) -> None:
    chance = random.Random(seed)
    keys = [str(number).encode() for number in range(40)]
    records = [(chance.choice(keys), chance.choice([None, b"x" * chance.randrange(2000)])) for _ in range(3000)]
    writer, reader = (make_log(topic, TopicShape(5, 1, {})) for _ in range(2))
    writer.start()
    reader.start()
    for at in range(0, len(records), 500):
        writer.send(records[at : at + 500])
        reader.read_to_end(30)
        assert len(reader.records) == at + 500
    late = make_log(topic, TopicShape(5, 1, {}))
    late.start()
    for log in (reader, late):
        for key in keys:
            assert [found.value for found in log.records if found.key == key] == [
                value for name, value in records if name == key
            ]
            assert len({found.partition for found in log.records if found.key == key}) <= 1


def test_what_was_sent_can_be_awaited(make_log: Make, topic: str) -> None:
    log = make_log(topic, transactional_id=f"leader-of-{topic}")
    log.start()
    log.claim()
    # Kafka says that a transaction is committed before its records can be read.
    for number in range(100):
        log.read_to(log.send([(b"k", str(number).encode())]), 30)
        assert log.values[-1] == str(number).encode()


def test_an_empty_log_and_one_that_ends_in_markers_are_read_to_their_ends(make_log: Make, topic: str) -> None:
    empty = make_log(topic)
    empty.start()
    assert (empty.position(), empty.records) == (0, [])
    leader = make_log(topic, transactional_id=f"leader-of-{topic}")
    leader.start()
    leader.claim()
    leader.read_to(leader.send([(b"a", b"1"), (b"b", b"2")]), 30)
    for log in (empty, leader, late := make_log(topic)):
        if log is late:
            late.start()
        log.read_to_end(30)
        assert [record.value for record in log.records] == [b"1", b"2"]
        assert log.position() == 3  # the marker is at 2
        assert log.records[-1].offset == 1


def test_an_aborted_transaction_is_passed_over(
    make_log: Make, topic: str, broker: Broker, eventually: Callable[..., None]
) -> None:
    log = make_log(topic)
    log.start()
    other = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"other-of-{topic}"})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(topic, b"never", b"k")
    other.flush(30)
    # While it is open, the log ends before it: nobody waits for a writer that is dead.
    log.send([(b"k", b"after")])
    log.read_to_end(30)
    assert log.records == []
    other.abort_transaction(30)
    eventually(lambda: log.values == [b"after"])  # Kafka ends a transaction after it has said so


def test_a_record_that_cannot_be_taken_costs_no_other(topic: str, make_log: Make, broker: Broker) -> None:
    log = make_log(topic)
    taken: list[LogRecord] = []

    def take(record: LogRecord) -> None:
        if record.value == b"bad":
            raise RuntimeError("no")
        taken.append(record)

    log._on_record = take
    log.start()
    log.send([(b"a", b"1"), (b"a", b"bad"), (b"a", b"2")])
    log.read_to_end(30)
    assert [record.value for record in taken] == [b"1", b"2"]
    assert taken[0].timestamp is not None
    assert taken[0].timestamp > 1_600_000_000_000


def test_a_record_that_is_too_large_is_an_error_and_the_next_is_taken(make_log: Make, new_topic: Any) -> None:
    topic = new_topic(1, {"cleanup.policy": "compact", "max.message.bytes": "2000"})
    for transactional_id in (None, f"leader-of-{topic}"):
        log = make_log(topic, transactional_id=transactional_id)
        log.start()
        log.claim()
        for size in (5000, 5_000_000):  # refused by the broker, and by the client
            with pytest.raises(ConnectError, match=f"Topic {topic} refuses a record: .*large"):
                log.send([(b"a", b"small"), (b"a", random.Random(size).randbytes(size)), (b"a", b"small")])
            if not log.claimed:
                log.claim()
        log.read_to(log.send([(b"b", b"good")]), 30)
        assert log.values[-1] == b"good"
        if transactional_id:
            assert log.values[-2:] == [b"good", b"good"]  # of the refused, not even the small ones


def test_one_record_is_written_while_nobody_waits(make_log: Make, topic: str) -> None:
    log = make_log(topic, TopicShape(3, 1, {}))
    log.start()
    futures = [log.send_later(str(number).encode(), b"v") for number in range(100)]
    offsets = [future.result(30) for future in futures]
    log.read_to_end(30)
    assert sorted((record.key, record.offset) for record in log.records) == sorted(
        (str(number).encode(), offset) for number, offset in enumerate(offsets)
    )
    refused = log.send_later(b"k", b"x" * 5_000_000)
    assert isinstance(refused.exception(30), ConnectError)


# Exactly one writer.


def test_who_claims_fences_who_claimed_before(make_log: Make, topic: str) -> None:
    former, leader = (make_log(topic, transactional_id=f"leader-of-{topic}") for _ in range(2))
    for log in (former, leader):
        log.start()
        with pytest.raises(ConnectError, match="may be written by the group's leader only"):
            log.send([(b"k", b"unclaimed")])
    former.claim()
    former.send([(b"k", b"1")])
    leader.claim()
    with pytest.raises(ConnectError, match=f"Topic {topic} refuses a record"):
        former.send([(b"k", b"stale")])
    assert not former.claimed
    with pytest.raises(ConnectError, match="may be written by the group's leader only"):
        former.send([(b"k", b"stale")])
    leader.send([(b"k", b"2")])
    leader.claim()  # it leads once more, without having been fenced
    leader.send([(b"k", b"3")])
    former.claim()
    end = former.send([(b"k", b"4")])
    for log in (former, leader):
        log.read_to(end, 30)
        assert log.values == [b"1", b"2", b"3", b"4"]


def test_a_claim_ends_what_the_former_leader_left_open(make_log: Make, topic: str, broker: Broker) -> None:
    name = f"leader-of-{topic}"
    log = make_log(topic, transactional_id=name)
    log.start()
    dead = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    dead.init_transactions(30)
    dead.begin_transaction()
    dead.produce(topic, b"half", b"k")
    dead.flush(30)
    log.claim()
    log.read_to(log.send([(b"k", b"whole")]), 30)
    assert log.values == [b"whole"]


# Brokers that go.


def test_a_log_goes_on_after_its_broker_was_killed(
    make_log: Make, strict_broker: Any, topic: str, eventually: Callable[..., None]
) -> None:
    servers = strict_broker.bootstrap_servers
    plain = make_log(topic, servers=servers)
    leader = make_log(topic, servers=servers, transactional_id=f"leader-of-{topic}")
    for log in (plain, leader):
        log.start()
    leader.claim()
    leader.send([(b"k", b"before")])
    strict_broker.kill()
    later = plain.send_later(b"k", b"while it was away")
    with pytest.raises(ConnectError):
        plain.read_to_end(2)
    strict_broker.start()
    later.result(60)
    if not leader.claimed:
        leader.claim()
    end = leader.send([(b"k", b"after")], 60)
    for log in (plain, leader):
        log.read_to(end, 60)
        assert log.values == [b"before", b"while it was away", b"after"]


def test_nothing_waits_longer_than_it_says(
    make_log: Make, strict_broker: Any, topic: str, suspended: Callable[..., Any]
) -> None:
    servers = strict_broker.bootstrap_servers
    plain = make_log(topic, servers=servers, patience=3)
    leader = make_log(topic, servers=servers, transactional_id=f"leader-of-{topic}")
    for log in (plain, leader):
        log.start()
    leader.claim()
    with suspended(strict_broker.running):
        waits: list[Callable[[], object]] = [
            lambda: plain.read_to_end(1),
            lambda: plain.send([(b"k", b"late")], 1),
            lambda: plain.read_to({0: 99}, 1),
            lambda: leader.send([(b"k", b"late")], 1),
            lambda: make_log(topic, servers=servers).start(1),
            lambda: plain.send_later(b"k", b"late").result(30),
        ]
        for wait in waits:
            with pytest.raises(ConnectError):
                within(20, wait)
        within(20, make_log(topic, servers=servers).close)  # never started
        within(20, plain.close)
    with pytest.raises(ConnectError, match="is not read any more"):
        plain.read_to({0: 10**9}, 30)


def within(seconds: float, call: Callable[[], object]) -> None:
    """Call in a thread of its own, so that a call that hangs fails its test."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it hangs"
    if raised:
        raise raised[0]


def test_no_broker_is_said(make_log: Make, topic: str) -> None:
    with pytest.raises(ConnectError, match="No broker answers at .* Check bootstrap.servers"):
        make_log(topic, servers="127.0.0.1:1").start(1)


def test_a_topic_made_anew_is_read_from_its_beginning(
    make_log: Make, topic: str, broker: Broker, eventually: Callable[..., None]
) -> None:
    log = make_log(topic)
    log.start()
    for number in range(10):
        log.send([(b"k", str(number).encode())])
    log.read_to_end(30)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)
    eventually(lambda: topic not in admin.list_topics(timeout=10).topics)
    other = make_log(topic, ONE)
    other.start()
    other.send([(b"k", b"new")])
    # Until its client has noticed, a log is ahead of the new topic's end and has nothing to wait for.
    eventually(lambda: log.values[-1] == b"new")
