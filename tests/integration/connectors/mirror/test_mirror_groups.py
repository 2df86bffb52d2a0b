"""Groups of the source go on at the target: where they are told they miss nothing, and their offsets never go back."""

from __future__ import annotations

import random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from connect.data.record import TopicPartition as Place
from connectors.mirror.notes import Checkpoint, OffsetSync
from tests.integration.connectors.mirror.conftest import Mirror


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


@pytest.mark.slow
@pytest.mark.parametrize("location", ["source", "target"])
def test_a_group_that_goes_on_at_the_target_misses_nothing(mirror: Mirror, seed: int, location: str) -> None:
    chance = random.Random(seed)
    source, target = mirror.source, mirror.target
    source.create(mirror.topic, 2)
    source.produce(mirror.topic, numbers(0, 3000), 0)
    source.produce(mirror.topic, numbers(0, 40), 1)
    group = f"{mirror.topic}-shop"
    places = {(mirror.topic, 0): chance.randrange(3001), (mirror.topic, 1): chance.randrange(41)}
    source.commit(group, places)
    more = {"offset-syncs.topic.location": location}
    running = mirror.start(
        mirror.connector(**more), mirror.connector("Checkpoint", **more, sync_group_offsets_enabled="true")
    )
    copies = {(mirror.copy, partition) for partition in (0, 1)}
    running.until(lambda: target.committed(group).keys() == copies)

    def follows() -> bool:
        for (topic, partition), offset in places.items():
            found = target.committed(group)[(f"{mirror.alias}.{topic}", partition)]
            rest = target.values(mirror.copy, partition, found)
            expected = source.values(topic, partition, offset)
            assert rest[len(rest) - len(expected) :] == expected
            if len(rest) - len(expected) > 101 + (3000 - offset) * 0.6:
                return False  # the syncs of all records are not there yet
        return True

    running.until(follows)
    # It goes on at the source, and the target follows.
    places = {(mirror.topic, 0): 3000, (mirror.topic, 1): 40}
    source.commit(group, places)
    running.until(lambda: target.committed(group) == {(mirror.copy, 0): 3000, (mirror.copy, 1): 40})
    # It goes on at the target: its offset there does not go back, whatever is committed at the source.
    source.commit(group, {(mirror.topic, 0): 100})
    checkpoints = f"{mirror.alias}.checkpoints.internal"
    running.until(lambda: any(c.upstream == 100 for c in read_checkpoints(mirror, checkpoints)))
    source.commit(group, {(mirror.topic, 1): 39})  # what is committed next has seen that checkpoint
    running.until(lambda: any(c.upstream == 39 for c in read_checkpoints(mirror, checkpoints)))
    assert target.committed(group) == {(mirror.copy, 0): 3000, (mirror.copy, 1): 40}


def read_checkpoints(mirror: Mirror, topic: str) -> list[Checkpoint]:
    return [Checkpoint.read(message.key(), message.value()) for message in mirror.target.read(topic)]


@pytest.mark.slow
def test_a_group_with_members_at_the_target_is_left_alone(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 300))
    group = f"{mirror.topic}-busy"
    source.commit(group, {(mirror.topic, 0): 300})
    idle = f"{mirror.topic}-idle"
    source.commit(idle, {(mirror.topic, 0): 300})
    target.create(f"{mirror.topic}-elsewhere")
    consumer = Consumer({"bootstrap.servers": target.servers, "group.id": group})
    try:
        assigned: list[object] = []
        consumer.subscribe([f"{mirror.topic}-elsewhere"], on_assign=lambda *_: assigned.append(1))
        while not assigned:
            consumer.poll(0.1)
        running = mirror.start(mirror.connector(), mirror.connector("Checkpoint", sync_group_offsets_enabled="true"))
        running.until(lambda: consumer.poll(0) is None and target.committed(idle) == {(mirror.copy, 0): 300})
        assert (mirror.copy, 0) not in target.committed(group)
    finally:
        consumer.close()
    running.until(lambda: target.committed(group).get((mirror.copy, 0)) == 300)


@pytest.mark.slow
def test_no_translation_goes_beyond_what_is_there_while_records_come(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    group = f"{mirror.topic}-fast"
    source.produce(mirror.topic, numbers(0, 500))
    source.commit(group, {(mirror.topic, 0): 1})
    running = mirror.start(mirror.connector(), mirror.connector("Checkpoint"))
    running.until(lambda: target.partitions(mirror.copy) == 1)
    topic = f"{mirror.alias}.checkpoints.internal"
    for sent in range(500, 2000, 500):
        source.produce(mirror.topic, numbers(sent, 500))
        source.commit(group, {(mirror.topic, 0): sent + 500})
        running.until(lambda: any(c.upstream == sent + 500 for c in read_checkpoints(mirror, topic)))  # noqa: B023
        for checkpoint in read_checkpoints(mirror, topic):
            there = target.values(mirror.copy)
            assert checkpoint.downstream <= len(there)
            # What comes before the checkpoint at the target came before the group's offset at the source.
            assert checkpoint.downstream <= checkpoint.upstream
    syncs = source.read(f"mm2-offset-syncs.{mirror.alias}-target.internal")
    read = [OffsetSync.read(message.key(), message.value()) for message in syncs]
    assert all(sync.upstream == sync.downstream for sync in read if sync.partition.topic == mirror.topic)


@pytest.mark.slow
def test_copies_that_are_gone_or_made_anew_are_not_where_groups_go_on(mirror: Mirror) -> None:
    """Their checkpoints stay in the topic, and are of no use any more."""
    source, target = mirror.source, mirror.target
    topics = [mirror.topic, f"{mirror.topic}-gone", f"{mirror.topic}-anew"]
    copies = [f"{mirror.alias}.{topic}" for topic in topics]
    for topic in topics:
        source.create(topic)
        source.produce(topic, numbers(0, 300))
    group = f"{mirror.topic}-shop"
    source.commit(group, {(topic, 0): 300 for topic in topics})
    running = mirror.start(mirror.connector(), mirror.connector("Checkpoint", sync_group_offsets_enabled="true"))
    running.until(lambda: target.committed(group) == {(copy, 0): 300 for copy in copies})
    source.delete(topics[1])
    for copy in copies[1:]:
        target.delete(copy)
    running.until(lambda: target.partitions(copies[2]) == 1 and not target.values(copies[2]), 120)
    for topic in (topics[0], topics[2]):
        source.produce(topic, numbers(300, 20))
    source.commit(group, {(topics[0], 0): 320, (topics[2], 0): 310})
    running.until(lambda: target.values(copies[2]) == numbers(300, 20), 120)
    # The offset that the deleted copy had may outlive it for a moment.
    running.until(lambda: target.committed(group).get((copies[2], 0), 300) <= 10, 120)
    running.until(lambda: target.committed(group).keys() == {(copies[0], 0), (copies[2], 0)}, 120)
    running.until(lambda: target.committed(group)[copies[0], 0] == 320, 120)
    assert " FAILED" not in running.log


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_idle_group_at_the_target_does_not_go_back(mirror: Mirror, protocol: str) -> None:
    """Of a group of the consumer protocol brokers say that it is dead when they are asked for classic ones."""
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 300))
    group, other = f"{mirror.topic}-shop", f"{mirror.topic}-other"
    source.commit(group, {(mirror.topic, 0): 5})
    running = mirror.start(mirror.connector())
    running.until(lambda: target.partitions(mirror.copy) == 1 and len(target.values(mirror.copy)) == 300)
    settings = {"bootstrap.servers": target.servers, "group.id": group, "group.protocol": protocol}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([mirror.copy])
    read = 0
    while read < 300:
        read += len(consumer.consume(300, 0.5))
    consumer.commit(asynchronous=False)
    consumer.close()
    assert target.committed(group) == {(mirror.copy, 0): 300}
    assert running.stop() == 0
    source.commit(other, {(mirror.topic, 0): 5})
    running = mirror.start(mirror.connector(), mirror.connector("Checkpoint", sync_group_offsets_enabled="true"))
    running.until(lambda: (mirror.copy, 0) in target.committed(other))
    source.commit(other, {(mirror.topic, 0): 300})
    running.until(lambda: target.committed(other) == {(mirror.copy, 0): 300})  # both were looked at by now
    assert target.committed(group) == {(mirror.copy, 0): 300}


@pytest.mark.slow
def test_what_a_group_has_committed_beside_its_offsets_comes_over(mirror: Mirror) -> None:
    """Kafka Streams keeps the time that it has reached there."""
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 3))
    group = f"{mirror.topic}-shop"
    consumer = Consumer({"bootstrap.servers": source.servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(mirror.topic, 0, 3, "half past four")], asynchronous=False)
    consumer.close()
    running = mirror.start(mirror.connector(), mirror.connector("Checkpoint", sync_group_offsets_enabled="true"))
    running.until(lambda: target.committed(group) == {(mirror.copy, 0): 3})
    there = Consumer({"bootstrap.servers": target.servers, "group.id": group})
    try:
        (committed,) = there.committed([TopicPartition(mirror.copy, 0)], timeout=30)
    finally:
        there.close()
    assert (committed.offset, committed.metadata) == (3, "half past four")


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_a_checkpoint_whose_transaction_was_aborted_is_written_again(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 3))
    group, checkpoints = f"{mirror.topic}-shop", f"{mirror.alias}.checkpoints.internal"
    source.commit(group, {(mirror.topic, 0): 3})
    target.create(checkpoints, 1, {"cleanup.policy": "compact"})
    lost = Checkpoint(group, Place(mirror.copy, 0), 3, 3, "")
    killed = Producer({"bootstrap.servers": target.servers, "transactional.id": mirror.alias})
    killed.init_transactions(30)
    killed.begin_transaction()
    killed.produce(checkpoints, lost.value, lost.key)
    killed.flush(30)
    killed.abort_transaction(30)
    running = mirror.start(mirror.connector(), mirror.connector("Checkpoint"))
    running.until(lambda: read_checkpoints(mirror, checkpoints) == [lost])
