"""Real workers on a real broker, killed at any moment: no line is lost, and with exactly-once none comes twice."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.connectors.s3.source_runs import lines
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import TURNS, Pool, a_pool
from tests.integration.worker.conftest import herd
from tests.servers.s3 import S3Bucket

__all__ = ["herd"]

OBJECT = 3000


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def test_objects_come_into_a_topic(
    herd: Any, broker: Broker, s3_bucket: S3Bucket, new_topic: Callable[..., str], read: Any
) -> None:
    topic = new_topic()
    s3_bucket.put("in/1.jsonl", lines(range(100)))
    s3_bucket.put("in/2.jsonl", lines(range(100, 200)))
    run = herd()
    config = {key.replace(".", "__"): value for key, value in s3_bucket.config.items()}
    run.run(
        name=f"objects-{topic}",
        connector__class="io.aiven.kafka.connect.s3.source.S3SourceConnector",
        aws__s3__prefix="in/",
        topic=topic,
        input__format="jsonl",
        value__converter="org.apache.kafka.connect.json.JsonConverter",
        value__converter__schemas__enable="false",
        **config,
    )
    found = [json.loads(message.value())["n"] for message in read(broker.bootstrap_servers, topic, 200)]
    assert found == list(range(200))
    assert run.state(f"objects-{topic}") == "RUNNING"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.promise("P1", "P2", "P10")
@pytest.mark.parametrize(
    ("exactly_once", "order", "action"),
    [(False, "name", "none"), (True, "name", "none"), (False, "time", "none"), (True, "time", "none"),
     (True, "name", "delete")],
)  # fmt: skip
def test_killed_at_any_moment(
    pool: Pool,
    s3_bucket: S3Bucket,
    new_topic: Callable[..., str],
    seed: int,
    exactly_once: bool,
    order: str,
    action: str,
) -> None:
    chance = random.Random(seed)
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic(name=f"{pool.name}-lines")
    config = {
        "connector.class": "io.confluent.connect.s3.source.S3SourceConnector",
        **s3_bucket.config,
        "topic": topic,
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        "object.order": order,
        "done.action": action,
        "s3.poll.interval.ms": "100",
        "max.poll.records": "100",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **({"exactly.once.support": "required"} if exactly_once else {}),
    }
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", config)
        for turn in pool.deaths(worker):
            if turn == 1:
                worker.ask("PUT", "/connectors/lines/config", {**config, "tasks.max": "3"})
            for start in range(turn * OBJECT, (turn + 1) * OBJECT, OBJECT // 3):
                s3_bucket.put(f"{start:08}.jsonl", lines(range(start, start + OBJECT // 3)))
            until = turn * OBJECT + chance.randint(0, OBJECT - 1)
            pool.until(lambda: len(seen.values) > until, "lines come")  # noqa: B023 - called at once

        def found() -> list[int]:
            return [json.loads(value)["n"] for value in list(seen.values)]

        pool.until(lambda: set(found()) == set(range(TURNS * OBJECT)), "every line is there")
        assert exactly_once is False or sorted(found()) == list(range(TURNS * OBJECT)), "a line came twice"
        if action == "delete":
            pool.until(lambda: not s3_bucket.keys(), "every object is deleted")
        stored = worker.get("/connectors/lines/offsets")["offsets"]
        assert 1 <= len(stored) <= 16
        assert {each["partition"]["bucket"] for each in stored} == {s3_bucket.name}
