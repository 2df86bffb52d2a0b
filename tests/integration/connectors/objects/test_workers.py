"""A real worker on a real broker: records become blobs and objects, and kill -9 neither loses nor repeats one."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.connectors.objects.runs import numbers
from tests.integration.connectors.s3.test_sink_workers import RECORDS, VALUES, produce
from tests.integration.distributed.pool import TURNS, Pool, a_pool
from tests.servers.object_stores import ObjectStore

pytestmark = pytest.mark.slow


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


@pytest.mark.timeout(300)
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize(
    "rules", [{"flush.size": "300"}, {"rotate.schedule.interval.ms": "300"}], ids=["by records", "by the clock"]
)
def test_killed_at_any_moment(
    pool: Pool, store: ObjectStore, new_topic: Callable[..., str], seed: int, rules: dict[str, str]
) -> None:
    chance, bucket = random.Random(seed), store.bucket()
    (worker,) = pool.start(1, restart_policy="on", offset_flush_interval_ms="500")
    topic = new_topic(name=f"{pool.name}-numbers", partitions=2)
    config = {
        "connector.class": bucket.connector,
        **bucket.config,
        **VALUES,
        **rules,
        "topics": topic,
        "tasks.max": "2",
        "consumer.override.max.poll.records": "50",
    }
    worker.create("objects", config)
    for turn in pool.deaths(worker):
        produce(pool.bootstrap, topic, range(turn * RECORDS, (turn + 1) * RECORDS), partitions=2)
        until = turn * RECORDS + chance.randint(1, RECORDS // 2)
        pool.until(lambda: len(numbers(bucket)) > until, "records come")  # noqa: B023 - called at once
    # By records, the last ones of each partition stay in open files.
    last = TURNS * RECORDS // 2 // 300 * 300 * 2 if "flush.size" in rules else TURNS * RECORDS
    pool.until(lambda: len(numbers(bucket)) >= last, "every file is there")
    found = numbers(bucket)
    assert len(found) == len(set(found)) == last, "none is lost, and none comes twice"
    assert set(found) <= set(range(TURNS * RECORDS))
