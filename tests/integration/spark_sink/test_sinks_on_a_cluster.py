"""Sinks that are no tables, on a standalone cluster: each record is there once, whatever becomes of executors."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from connect.kafka.broker.embedded import Broker
from spark_sink.session.cluster import Cluster
from tests.chaos import topic as topics
from tests.chaos.test_spark_sinks import TARGETS, api
from tests.integration.distributed.pool import Pool, a_pool
from tests.integration.spark_sink.executors import EXECUTOR, below, stopped

__all__ = ["api"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PARTITIONS = 2
AT_A_TIME = 2000
WITHIN = 180


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def on(cluster: Cluster, folder: Path) -> dict[str, str]:
    """The keys of a connector that runs there, in small batches one behind the other."""
    return {
        "engine": "spark",
        "spark.master": cluster.url,
        "spark.executor.memory": "512m",
        "checkpoint.location": (folder / "checkpoints").as_uri(),
        "max.records.per.batch": "500",
        "trigger.interval.ms": "0",
    }


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize(
    "sink", ["FileStreamSinkConnector", "JdbcSinkConnector", "S3SinkConnector", "HttpSinkConnector"]
)
def test_executors_that_are_killed_within_their_writes(
    pool: Pool,
    cluster: Cluster,
    new_topic: Callable[..., str],
    seed: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    sink: str,
) -> None:
    """As the kernel does it to the one that takes the last memory."""
    chance = random.Random(seed)
    topic = new_topic(PARTITIONS)
    target = TARGETS[sink](request, topic)
    (worker,) = pool.start(1, restart_policy="on")
    worker.create("sink", {**target.config, **on(cluster, tmp_path), "topics": topic})

    def are_there(wanted: int) -> None:
        pool.until(lambda: len(set(target.numbers())) >= wanted, f"{wanted} records are there", within=WITHIN)

    for count in (AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME):
        values = [json.dumps({"n": n}).encode() for n in range(count - AT_A_TIME, count)]
        topics.fill(pool.bootstrap, topic, [values[p::PARTITIONS] for p in range(PARTITIONS)])
        are_there(count - chance.randrange(AT_A_TIME // 4, AT_A_TIME))  # somewhere in the batches
        chance.choice(below(psutil.Process(), EXECUTOR)).kill()
        are_there(count)
    assert worker.runs("sink", 1), worker.states("sink")
    assert Counter(target.numbers()) == Counter(range(count))
    assert "Lost executor" in worker.log


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("sink", ["JdbcSinkConnector", "S3SinkConnector", "ElasticsearchSinkConnector"])
def test_tasks_that_write_the_same_at_the_same_time(
    pool: Pool,
    cluster: Cluster,
    new_topic: Callable[..., str],
    seed: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    sink: str,
) -> None:
    """Speculative execution: a task hangs within its writes, another begins them, and then the first goes on."""
    chance = random.Random(seed)
    events = tmp_path / "events"
    events.mkdir()
    topic = new_topic(PARTITIONS)
    target = TARGETS[sink](request, topic)
    (worker,) = pool.start(1, restart_policy="on")
    spark = {
        **on(cluster, tmp_path),
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "50ms",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    count = 0

    def sends() -> None:
        nonlocal count
        values = [json.dumps({"n": n}).encode() for n in range(count, count + AT_A_TIME)]
        topics.fill(pool.bootstrap, topic, [values[p::PARTITIONS] for p in range(PARTITIONS)])
        count += AT_A_TIME

    def begun_again() -> int:
        files = [file for file in events.rglob("*") if file.is_file()]
        return sum(file.read_text(errors="replace").count('"Speculative":true') for file in files)

    def are_there(wanted: int) -> None:
        pool.until(lambda: len(set(target.numbers())) >= wanted, f"{wanted} records are there", within=WITHIN)

    sends()
    worker.create("sink", {**target.config, **spark, "topics": topic})
    are_there(count)
    for _ in range(10):
        before = begun_again()
        sends()
        are_there(count - chance.randrange(AT_A_TIME // 4, AT_A_TIME))  # somewhere in the batches
        slow = chance.choice(below(psutil.Process(), EXECUTOR))
        with stopped(slow, "pyspark.daemon"):
            are_there(count)
        if begun_again() > before:
            break
    sends()
    are_there(count)
    assert worker.runs("sink", 1), worker.states("sink")
    assert Counter(target.numbers()) == Counter(range(count))
    assert begun_again(), "tasks were begun a second time"
