"""Real workers on a real broker: records become objects, and kill -9 at any moment neither loses nor repeats one."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from tests.integration.connectors.s3.sink_runs import Numbers, json_lines
from tests.integration.distributed.pool import TURNS, Pool, a_pool
from tests.integration.worker.conftest import herd
from tests.servers.s3 import S3Bucket

__all__ = ["herd"]

RECORDS = 4000
VALUES = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "consumer.override.auto.offset.reset": "earliest",
}


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def produce(servers: str, topic: str, numbers: range, partitions: int = 1) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5})
    for n in numbers:
        producer.produce(topic, json.dumps({"n": n, "c": n % 3}).encode(), partition=n % partitions)
    assert producer.flush(30) == 0


@pytest.mark.quick
def test_a_topic_comes_into_objects(
    herd: Any, broker: Broker, s3_bucket: S3Bucket, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(broker.bootstrap_servers, topic, range(250))
    run = herd()
    config = {**s3_bucket.config, **VALUES, "flush.size": "100", "s3.compression.type": "gzip"}
    run.run(
        name=f"objects-{topic}",
        connector__class="io.confluent.connect.s3.S3SinkConnector",
        format__class="io.confluent.connect.s3.format.json.JsonFormat",
        storage__class="io.confluent.connect.s3.storage.S3Storage",
        topics=topic,
        **{key.replace(".", "__"): value for key, value in config.items()},
    )
    run.until(lambda: len(s3_bucket.keys()) == 2)
    keys = s3_bucket.keys()
    assert keys == [f"topics/{topic}/partition=0/{topic}+0+0000000{n}.json.gz" for n in ("000", "100")]
    assert [each["n"] for key in keys for each in json_lines(s3_bucket, key)] == list(range(200))
    assert run.state(f"objects-{topic}") == "RUNNING"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize(
    "rules",
    [
        {"flush.size": "300", "partitioner.class": "field", "partition.field.name": "c"},
        {"rotate.schedule.interval.ms": "300"},
        {},
    ],
    ids=["by records", "by the clock", "by commits"],
)
def test_killed_at_any_moment(
    pool: Pool, s3_bucket: S3Bucket, new_topic: Callable[..., str], seed: int, rules: Mapping[str, str]
) -> None:
    chance = random.Random(seed)
    (worker,) = pool.start(1, restart_policy="on", offset_flush_interval_ms="500")
    topic = new_topic(name=f"{pool.name}-numbers", partitions=2)
    config = {
        "connector.class": "S3Sink",
        **s3_bucket.config,
        **VALUES,
        **rules,
        "topics": topic,
        "tasks.max": "2",
        "consumer.override.max.poll.records": "50",
    }
    worker.create("objects", config)
    found = Numbers(s3_bucket)
    for turn in pool.deaths(worker):
        produce(pool.bootstrap, topic, range(turn * RECORDS, (turn + 1) * RECORDS), partitions=2)
        until = turn * RECORDS + chance.randint(1, RECORDS // 2)
        pool.until(lambda: len(found()) > until, "records come")  # noqa: B023 - called at once
    every = list(range(TURNS * RECORDS))
    if "flush.size" in rules:  # of each partition the last records stay in open files
        last = TURNS * RECORDS // 2 // 300 * 300 * 2
        pool.until(lambda: len(found()) >= last, "every full file is there")
        assert len(found()) == len(set(found())) == last, "none is lost, and none comes twice"
        assert set(found()) <= set(every)
    else:
        pool.until(lambda: set(found()) == set(every), "every record is there")
        assert found() == every, "a record came twice"
