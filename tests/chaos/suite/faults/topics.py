"""Topics: partitions added, records deleted before their reader comes, compaction, a topic deleted and recreated."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from confluent_kafka import Consumer, TopicPartition

from tests.chaos.suite.flows.passing import Compacted, ShortLived
from tests.chaos.suite.reader import new_topic
from tests.chaos.suite.world import World
from tests.chaos.topic import QUIET
from tests.support.waiting import until

from .fault import fault

MOST_PARTITIONS = 8


@fault("partitions added", "topics")
def widen(world: World, chance: random.Random) -> Iterator[str]:
    count = world.feed.partitions + 1
    if count > MOST_PARTITIONS:
        yield f"{world.feed.topic} has {count - 1} already"
        return
    yield f"{world.feed.topic}, {count} now"
    world.topics.widen(world.feed.topic, count)
    world.feed.widen(count)
    if (mirror := world.flows.get("mirror")) is not None:
        world.reader.follow(mirror.topic, count)  # type: ignore[attr-defined]


@fault("retention passes the reader", "topics", wants="short-lived")
def retention(world: World, chance: random.Random) -> Iterator[str]:
    """Records behind the committed offset of a paused sink are deleted: just those are excused."""
    flow = world.flows["short-lived"]
    assert isinstance(flow, ShortLived)
    yield flow.name
    world.request("PUT", f"/connectors/{flow.name}/pause")
    world.await_state(flow.name, "PAUSED")
    try:
        world.rest(chance.uniform(4, 8))
        committed = world.topics.committed(flow.group, flow.feed.topic, 1).get(0, 0)
        end = max((offset + 1 for _, offset in flow.feed.places.values()), default=0)
        low = committed + (end - committed) // 2
        flow.excused_lost |= {n for n, (_, offset) in flow.places().items() if committed <= offset < low}
        world.topics.delete_before(flow.feed.topic, low)
    finally:
        world.request("PUT", f"/connectors/{flow.name}/resume")


@fault("topic deleted and recreated", "topics", wants="short-lived")
def anew(world: World, chance: random.Random) -> Iterator[str]:
    """Kafka forgets the offsets that groups have committed for it. What was not read by then is excused."""
    flow = world.flows["short-lived"]
    assert isinstance(flow, ShortLived)
    yield flow.name
    flow.feed.pause()
    if chance.random() < 0.5:
        until(lambda: set(flow.feed.places) <= set(flow.arrived()) | flow.excused_lost, 120, "it has read all")
    flow.excused_lost |= set(flow.feed.places) - set(flow.arrived())
    admin = world.topics.admin
    admin.delete_topics([flow.feed.topic], operation_timeout=30)[flow.feed.topic].result(60)
    flow.begin_anew()
    world.rest(chance.uniform(12, 18))  # more than twice what consumers believe of topics: they have seen it gone
    world.topics.create(new_topic(flow.feed.topic))
    flow.feed.go_on()


@fault("compaction passes the reader", "topics", wants="compacted")
def compaction(world: World, chance: random.Random) -> Iterator[str]:
    flow = world.flows["compacted"]
    assert isinstance(flow, Compacted)
    yield flow.name
    world.request("PUT", f"/connectors/{flow.name}/pause")
    world.await_state(flow.name, "PAUSED")
    try:
        committed = world.topics.committed(flow.group, flow.feed.topic, 1).get(0, 0)
        deadline = time.monotonic() + 40
        while not _has_gaps(world, flow, committed) and time.monotonic() < deadline and not world.stopped.is_set():
            world.rest(2)
    finally:
        world.request("PUT", f"/connectors/{flow.name}/resume")


def _has_gaps(world: World, flow: Compacted, start: int) -> bool:
    """Whether offsets from here on are missing."""
    consumer = Consumer({"bootstrap.servers": world.brokers.bootstrap, "group.id": "gaps", **QUIET})
    try:
        consumer.assign([TopicPartition(flow.feed.topic, 0, start)])
        offsets = [each.offset() for each in consumer.consume(2000, 2) if each.error() is None]
        return bool(offsets) and offsets[-1] - start >= len(offsets)
    finally:
        consumer.close()
