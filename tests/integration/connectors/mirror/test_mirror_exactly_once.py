"""In a pool that writes in transactions every record comes over once, whatever is killed."""

from __future__ import annotations

import random
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from connectors.mirror.notes import OffsetSync
from tests.integration.connectors.mirror.conftest import Mirror
from tests.integration.distributed.pool import PoolWorker, a_pool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def kill_tasks(worker: PoolWorker) -> None:
    assert worker.process is not None
    for child in psutil.Process(worker.process.pid).children(recursive=True):
        if not child.children():
            child.kill()


@pytest.mark.promise("P10")
@pytest.mark.parametrize("boundary", ["poll", "interval"])
def test_killed_at_any_moment_it_repeats_nothing(mirror: Mirror, tmp_path: Path, seed: int, boundary: str) -> None:
    chance = random.Random(seed)
    source, target = mirror.source, mirror.target
    source.create(mirror.topic, 2)
    config = mirror.config(
        consumer_isolation_level="read_committed",
        exactly_once_support="required",
        transaction_boundary=boundary,
        transaction_boundary_interval_ms="300",
        tasks_max="2",
    )
    with a_pool(target.servers, tmp_path) as pool:
        (worker,) = pool.start(1, exactly_once_source_support="enabled", restart_policy="on")
        worker.create(config.pop("name"), config)
        sent = 0
        for _ in range(3):
            produce(mirror, sent, 4000, chance)
            sent += 4000
            pool.until(lambda: target.partitions(mirror.copy) == 2, "the copy is made")
            begin = chance.randrange(sent - 4000, sent)
            pool.until(lambda: len(target.values(mirror.copy, 0)) >= begin, "some are there")  # noqa: B023
            if chance.random() < 0.5:
                kill_tasks(worker)
            else:
                worker.kill()
                worker.start()
        for partition in (0, 1):
            pool.until(lambda: len(target.values(mirror.copy, partition)) >= sent, "all are there")  # noqa: B023
            assert target.values(mirror.copy, partition) == numbers(0, sent)
        # Syncs speak of what was committed: the record of an offset is where its sync says.
        copies, originals = (
            {(p, message.offset()): message.value() for p in (0, 1) for message in cluster.read(topic, p)}
            for cluster, topic in ((target, mirror.copy), (source, mirror.topic))
        )
        syncs = source.read(f"mm2-offset-syncs.{mirror.alias}-target.internal")
        assert syncs
        for message in syncs:
            sync = OffsetSync.read(message.key(), message.value())
            partition = sync.partition.partition
            assert copies[partition, sync.downstream] == originals[partition, sync.upstream]


def produce(mirror: Mirror, first: int, count: int, chance: random.Random) -> None:
    """In transactions, between them some that are aborted."""
    settings = {"bootstrap.servers": mirror.source.servers, "transactional.id": mirror.topic}
    producer = Producer(settings)
    producer.init_transactions(30)
    at = first
    while at < first + count:
        upto = min(at + chance.randrange(1, 2000), first + count)
        for good in (False, True) if chance.random() < 0.5 else (True,):
            producer.begin_transaction()
            for number in range(at, upto):
                for partition in (0, 1):
                    producer.produce(mirror.topic, b"%d" % number if good else b"never", partition=partition)
            assert producer.flush(30) == 0
            if good:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
        at = upto
