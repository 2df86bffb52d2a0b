"""Topics of one cluster into another: records, settings and partitions as they are, through everything that happens."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import time
import urllib.request

import pytest

from tests.integration.conftest import StrictBroker
from tests.integration.connectors.mirror.conftest import Mirror, tasks_of


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


@pytest.mark.quick
def test_records_come_over_as_they_are(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic, 2, {"retention.ms": "777777777", "min.insync.replicas": "1"})
    now = int(time.time() * 1000)
    headers = [("plain", b"text"), ("bytes", b"\x00\xff"), ("null", None), ("plain", b"twice")]
    source.produce(mirror.topic, [b"\x00\xff", b""], 0, key=b"k\x80", headers=headers, timestamp=now - 5000)
    source.produce(mirror.topic, [b"no headers"], 1, timestamp=now)
    source.produce(mirror.topic, [None], 1, key=b"gone")  # type: ignore[list-item]
    running = mirror.start(mirror.connector(tasks_max="2"), mirror.connector("Heartbeat"))
    running.until(lambda: target.partitions(mirror.copy) == 2)
    running.until(lambda: len(target.values(mirror.copy, 0)) == 2 and len(target.values(mirror.copy, 1)) == 2)
    for partition in (0, 1):
        theirs, ours = source.read(mirror.topic, partition), target.read(mirror.copy, partition)
        for their, our in zip(theirs, ours, strict=True):
            for get in ("key", "value", "headers", "timestamp"):
                assert getattr(our, get)() == getattr(their, get)()
    assert target.setting(mirror.copy, "retention.ms") == "777777777"
    assert target.setting("heartbeats", "cleanup.policy") == "compact"
    assert running.stop() == 0
    stored = json.loads((mirror.standalone.folder / "offsets").read_text())["offsets"]
    assert [
        ["mirror-Source", {"cluster": mirror.alias, "partition": 0, "topic": mirror.topic}],
        {"offset": 1},
    ] in [list(entry) for entry in stored]


@pytest.mark.slow
def test_topics_may_keep_their_names_and_what_is_done_is_counted(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 7))
    policy = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    running = mirror.start(mirror.connector(replication_policy_class=policy))
    running.until(lambda: target.partitions(mirror.topic) == 1)
    running.until(lambda: target.values(mirror.topic) == numbers(0, 7))
    running.until_logged("REST API at ")
    (address,) = re.findall(r"REST API at (\S+)", running.log)

    def told() -> bool:
        with urllib.request.urlopen(f"{address}/metrics", timeout=30) as answer:
            page = answer.read().decode()
        read = re.findall(rf'^mirror_records_read_total{{[^}}]*topic="{mirror.topic}"[^}}]*}} 7', page, re.MULTILINE)
        return bool(read) and "mirror_replication_latency_seconds_count" in page

    running.until(told)


@pytest.mark.slow
def test_without_acknowledgements_records_come_over_and_no_syncs(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 300))
    running = mirror.start(mirror.connector(producer_override_acks="0"))
    running.until(lambda: target.partitions(mirror.copy) == 1)
    running.until(lambda: target.values(mirror.copy) == numbers(0, 300))
    source.produce(mirror.topic, numbers(300, 300))
    running.until(lambda: target.values(mirror.copy) == numbers(0, 600))
    assert source.read(f"mm2-offset-syncs.{mirror.alias}-target.internal") == []


@pytest.mark.slow
def test_a_topic_grows_and_changes_and_others_come(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic, 1, {"retention.ms": "700000000", "max.message.bytes": "2000000"})
    running = mirror.start()
    running.until(lambda: target.partitions(mirror.copy) == 1)
    source.grow(mirror.topic, 3)
    source.produce(mirror.topic, numbers(0, 10), 2)
    running.until(lambda: target.partitions(mirror.copy) == 3)
    running.until(lambda: target.values(mirror.copy, 2) == numbers(0, 10))
    source.create(f"{mirror.topic}-other")
    source.produce(f"{mirror.topic}-other", numbers(0, 5))
    running.until(lambda: target.partitions(f"{mirror.copy}-other") == 1)
    running.until(lambda: target.values(f"{mirror.copy}-other") == numbers(0, 5))
    assert target.setting(mirror.copy, "max.message.bytes") == "2000000"
    change = {"retention.ms": "600000000", "max.message.bytes": None}
    _alter(mirror, change)
    running.until(lambda: target.setting(mirror.copy, "retention.ms") == "600000000")
    running.until(lambda: target.setting(mirror.copy, "max.message.bytes") != "2000000")


@pytest.mark.slow
def test_what_stands_in_the_files_of_brokers_is_theirs(mirror: Mirror) -> None:
    from connect.kafka.admin.cluster import ClusterAdmin

    there = ClusterAdmin({"bootstrap.servers": mirror.target.servers}, "target", 30)

    def own() -> dict[str, str | None]:
        settings = there.topic_settings([mirror.copy])[mirror.copy]
        return {name: setting.value for name, setting in settings.items() if setting.is_own}

    source, target = mirror.source, mirror.target
    source.create(mirror.topic, 1, {"retention.ms": "700000000"})
    assert source.setting(mirror.topic, "segment.bytes") == "536870912", "of its broker's file"
    running = mirror.start()
    running.until(lambda: target.partitions(mirror.copy) == 1)
    assert own() == {"retention.ms": "700000000"}
    there.change_topic_settings(mirror.copy, {"segment.bytes": "300000000"})
    _alter(mirror, {"retention.ms": "600000000"})
    running.until(lambda: own()["retention.ms"] == "600000000")
    assert own() == {"retention.ms": "600000000", "segment.bytes": "300000000"}


def _alter(mirror: Mirror, change: dict[str, str | None]) -> None:
    from connect.kafka.admin.cluster import ClusterAdmin

    admin = ClusterAdmin({"bootstrap.servers": mirror.source.servers}, "source", 30)
    admin.change_topic_settings(mirror.topic, change)


@pytest.mark.slow
@pytest.mark.promise("P1", "P10")
def test_killed_at_any_moment_it_loses_nothing(mirror: Mirror, seed: int) -> None:
    chance = random.Random(seed)
    source, target = mirror.source, mirror.target
    source.create(mirror.topic, 2)
    mirror.standalone.worker(
        {"bootstrap.servers": target.servers, "restart.policy": "on", "restart.policy.delay.ms": "100"}
    )
    running = mirror.start(mirror.connector(tasks_max="2"))
    sent = 0
    for kill in ("task", "worker", "task", "worker"):
        source.produce(mirror.topic, numbers(sent, 5000), 0)
        source.produce(mirror.topic, numbers(sent, 5000), 1)
        sent += 5000
        running.until(lambda: target.partitions(mirror.copy) == 2)
        begin = chance.randrange(sent - 5000, sent)
        running.until(lambda: len(set(target.values(mirror.copy, 0))) >= begin)  # noqa: B023
        if kill == "task":
            for child in tasks_of(running.process):
                child.kill()
        else:
            os.killpg(running.process.pid, signal.SIGKILL)
            running.process.wait()
            running = mirror.start(mirror.connector(tasks_max="2"))
    for partition in (0, 1):
        running.until(lambda: set(target.values(mirror.copy, partition)) == set(numbers(0, sent)))  # noqa: B023
    # Repeated is only what was not stored: each value comes first in order.
    for partition in (0, 1):
        assert list(dict.fromkeys(target.values(mirror.copy, partition))) == numbers(0, sent)


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_a_source_that_is_killed_and_comes_back_is_gone_on_with(mirror: Mirror, strict_broker: StrictBroker) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 1000))
    running = mirror.start()
    running.until(lambda: target.partitions(mirror.copy) == 1)
    running.until(lambda: len(target.values(mirror.copy)) == 1000)
    strict_broker.kill()
    try:
        running.until_logged("cannot be read")
    finally:
        strict_broker.start()
    source.produce(mirror.topic, numbers(1000, 1000))
    running.until(lambda: len(target.values(mirror.copy)) >= 2000)
    assert target.values(mirror.copy) == numbers(0, 2000)


@pytest.mark.slow
@pytest.mark.promise("P1")
def test_a_target_that_is_killed_and_comes_back_has_everything(standalone, broker, strict_broker: StrictBroker) -> None:
    mirror = Mirror(standalone, broker.bootstrap_servers, strict_broker.bootstrap_servers)
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 20_000))
    running = mirror.start()
    running.until(lambda: target.partitions(mirror.copy) == 1)
    strict_broker.kill()
    source.produce(mirror.topic, numbers(20_000, 1000))
    strict_broker.start()
    running.until(lambda: len(set(target.values(mirror.copy))) == 21_000)
    assert list(dict.fromkeys(target.values(mirror.copy))) == numbers(0, 21_000)


@pytest.mark.slow
def test_a_topic_that_is_deleted_and_made_again_is_copied_from_its_beginning(mirror: Mirror) -> None:
    source, target = mirror.source, mirror.target
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(0, 100))
    running = mirror.start()
    running.until(lambda: target.partitions(mirror.copy) == 1)
    running.until(lambda: len(target.values(mirror.copy)) == 100)
    source.delete(mirror.topic)
    running.until(lambda: source.partitions(mirror.topic) == 0)
    source.create(mirror.topic)
    source.produce(mirror.topic, numbers(1000, 30))
    running.until(lambda: len(target.values(mirror.copy)) >= 130)
    assert target.values(mirror.copy) == numbers(0, 100) + numbers(1000, 30)


def test_a_source_that_is_not_there_is_named(mirror: Mirror) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{nobody.getsockname()[1]}"
        running = mirror.start(mirror.connector(source_cluster_bootstrap_servers=servers, admin_timeout_ms="2000"))
        running.until_logged(f'Source cluster "{mirror.alias}" does not answer: No broker answers at {servers}')
        running.until_logged("bootstrap.servers")


def test_too_many_copies_for_the_brokers_are_told(mirror: Mirror) -> None:
    mirror.source.create(mirror.topic)
    running = mirror.start(mirror.connector(replication_factor="2"))
    running.until_logged("Lower the replication factor")
