"""MirrorMaker 2 itself beside ours, over the same two clusters; and each going on where the other stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from connectors.mirror.notes import Checkpoint, Heartbeat, OffsetSync
from tests.conformance.mirror.conftest import java  # noqa: F401  the fixture
from tests.integration.connectors.mirror.conftest import Mirror
from tests.integration.distributed.pool import a_pool
from tests.integration.group.java_worker import JavaWorker, java_worker
from tests.support.java import Oracle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

KINDS = ("Source", "Checkpoint", "Heartbeat")
WITHOUT_ROUND_TRIPS = {"offset.flush.interval.ms": "500"}


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def create(worker: JavaWorker, config: dict[str, str]) -> None:
    more = {key: value for key, value in config.items() if key != "name"}
    worker.create(config["name"], **{"tasks.max": "1", **more})


def settings_of(mirror: Mirror, topic: str) -> dict[str, str | None]:
    from connect.kafka.admin.cluster import ClusterAdmin

    admin = ClusterAdmin({"bootstrap.servers": mirror.target.servers}, "target", 30)
    return {name: each.value for name, each in admin.topic_settings([topic])[topic].items() if each.is_own}


def records(mirror: Mirror, topic: str, partition: int) -> list[tuple[Any, ...]]:
    return [(m.offset(), m.key(), m.value(), m.headers(), m.timestamp()) for m in mirror.target.read(topic, partition)]


def test_both_make_the_same_of_the_same(mirror: Mirror, tmp_path: Path, java: Oracle) -> None:  # noqa: F811
    source, target = mirror.source, mirror.target
    group = f"{mirror.topic}-shop"
    source.create(mirror.topic, 2, {"retention.ms": "777777777", "cleanup.policy": "compact,delete"})
    source.create(f"{mirror.topic}-more")
    if not source.partitions("heartbeats"):
        source.create("heartbeats")
    headers = [("h", b"\x00"), ("n", None)]
    for partition in (0, 1):
        source.produce(mirror.topic, numbers(0, 1000 * (partition + 1)), partition, key=b"k", headers=headers)
    source.commit(group, {(mirror.topic, 0): 700, (mirror.topic, 1): 2000})
    theirs = Mirror(mirror.standalone, source.servers, target.servers)
    theirs.topic = mirror.topic
    for each in (mirror, theirs):
        each.copy = f"{each.alias}.{mirror.topic}"
    more = {"sync.group.offsets.enabled": "true", "heartbeats.replication.enabled": "true"}
    running = mirror.start(*(mirror.connector(kind, **more) for kind in KINDS))
    with java_worker(target.servers, f"mm2-{mirror.topic}", "sessioned", tmp_path, **WITHOUT_ROUND_TRIPS) as worker:
        for kind in KINDS:
            create(worker, theirs.config(kind, **more))

        def all_is_there() -> bool:
            return all(
                target.partitions(each.copy) == 2
                and target.committed(group).get((each.copy, 1)) == 2000
                and len(target.values(each.copy, 0)) == 1000
                for each in (mirror, theirs)
            )

        running.until(all_is_there)
        running.until(lambda: all(latest(each, 0).downstream > 0 for each in (mirror, theirs)))
        for partition in (0, 1):
            assert records(mirror, mirror.copy, partition) == records(mirror, theirs.copy, partition)
        assert settings_of(mirror, mirror.copy) == settings_of(mirror, theirs.copy)
        assert target.partitions(f"{mirror.copy}-more") == target.partitions(f"{theirs.copy}-more") == 1
        # What both say of the groups is safe; ours is as close.
        ours, other = latest(mirror, 0), latest(theirs, 0)
        assert ours.upstream == other.upstream == 700
        assert other.downstream <= ours.downstream <= 700
        assert latest(mirror, 1).downstream == latest(theirs, 1).downstream == 2000
        # Java's client sees no difference.
        for each in (mirror, theirs):
            found = client(java, each, group)
            assert each.alias in found["upstream"]
            assert f"{each.alias}.heartbeats" in found["heartbeats"]
            assert found["hops"] == 1
            assert f"{each.alias}.checkpoints.internal" in found["checkpoints"]
            assert found["offsets"] == {f"{each.copy}-{p}": latest(each, p).downstream for p in (0, 1)}
        beats = {Heartbeat.read(m.key(), m.value()).source for m in target.read("heartbeats")}
        assert {mirror.alias, theirs.alias} <= beats


def client(oracle: Oracle, mirror: Mirror, group: str) -> dict[str, Any]:
    config = {"bootstrap.servers": mirror.target.servers}
    (answer,) = oracle.ask([{"op": "client", "config": config, "alias": mirror.alias, "group": group}])
    return answer


def latest(mirror: Mirror, partition: int) -> Checkpoint:
    """The last checkpoint of the group and a partition; of offset 0 where there is none."""
    topic = f"{mirror.alias}.checkpoints.internal"
    found = Checkpoint("", (mirror.copy, partition), 0, 0, "")  # type: ignore[arg-type]
    if mirror.target.partitions(topic):
        for message in mirror.target.read(topic):
            checkpoint = Checkpoint.read(message.key(), message.value())
            if checkpoint.partition == (mirror.copy, partition):
                found = checkpoint
    return found


def test_each_goes_on_where_the_other_stopped(mirror: Mirror, tmp_path: Path) -> None:
    """One group, one set of topics: a worker of Java, then ours, then Java's again."""
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 500))
    config = mirror.config()
    with a_pool(target.servers, tmp_path) as pool:
        group = {"offset.flush.interval.ms": "200", "offset.storage.partitions": "3", "status.storage.partitions": "3"}

        def copied(count: int) -> Callable[[], bool]:
            return lambda: target.partitions(mirror.copy) == 1 and len(target.values(mirror.copy)) >= count

        def stored(last: int) -> Callable[[], bool]:
            topic = f"{pool.name}-offset"

            def found() -> bool:
                written = [message.value() for partition in range(3) for message in target.read(topic, partition)]
                return last in {json.loads(value or b"{}").get("offset") for value in written}

            return found

        with java_worker(target.servers, pool.name, "sessioned", tmp_path, **group) as worker:
            create(worker, config)
            worker.until(copied(500))
            worker.until(stored(499))
        source.produce(mirror.topic, numbers(500, 500))
        (ours,) = pool.start(1)
        pool.until(copied(1000), "ours goes on")
        pool.until(stored(999), "ours stores where it is")
        ours.stop()
        source.produce(mirror.topic, numbers(1000, 500))
        with java_worker(target.servers, pool.name, "sessioned", tmp_path, **group) as worker:
            worker.until(copied(1500))
    assert target.values(mirror.copy) == numbers(0, 1500)
    syncs = [
        OffsetSync.read(m.key(), m.value()) for m in source.read(f"mm2-offset-syncs.{mirror.alias}-target.internal")
    ]
    assert all(sync.upstream == sync.downstream for sync in syncs if sync.partition.topic == mirror.topic)
