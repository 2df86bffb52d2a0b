"""Real workers on a real broker, killed while others write: no document is lost, with exactly-once none comes twice."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.connectors.elasticsearch.source.conftest import Index, NewIndex
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import Pool, a_pool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
COUNT = 8_000


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def _write(index: Index) -> None:
    """Two writers at once, numbers in no order."""

    def some(which: int) -> None:
        for start in range(which * 20, COUNT, 40):
            index.numbered(start, 20, at=int(time.time() * 1000))

    others = threading.Thread(target=some, args=[1])
    others.start()
    some(0)
    others.join()


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("exactly_once", [False, True], ids=["at least once", "exactly once"])
@pytest.mark.parametrize("field", ["", "at"], ids=["numbers of shards", "field"])
def test_killed_at_any_moment(
    pool: Pool,
    new_elasticsearch_index: NewIndex,
    new_topic: Callable[..., str],
    seed: int,
    exactly_once: bool,
    field: str,
) -> None:
    chance = random.Random(seed)
    index = new_elasticsearch_index(shards=2, n="long", at="date")
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic()
    config: dict[str, Any] = {
        **index.config(tasks_max="2", topic_name=topic, value_format="json", batch_max_rows="50"),
        "connector.class": "ElasticsearchSource",
        "poll.interval.ms": "20",
        **({"incrementing.field.name": field, "delay.ms": "1000"} if field else {}),
        **({"exactly.once.support": "required"} if exactly_once else {}),
    }
    writer = threading.Thread(target=_write, args=[index])
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("documents", config)
        writer.start()
        try:
            for turn in pool.deaths(worker, COUNT // 2000 - 1):
                until = turn * 2000 + chance.randint(1, 1999)
                pool.until(lambda: len(seen.values) > until, "documents come")  # noqa: B023 - called at once
        finally:
            writer.join()

        def numbers() -> list[int]:
            return [json.loads(value)["n"] for value in list(seen.values)]

        pool.until(lambda: set(numbers()) == set(range(COUNT)), "every document is there")
        assert not exactly_once or sorted(numbers()) == list(range(COUNT)), "a document came twice"
        stored = worker.get("/connectors/documents/offsets")["offsets"]
        places = sorted((each["partition"]["index"], each["partition"]["shard"]) for each in stored)
        assert places == [(index.name, 0), (index.name, 1)]


def test_indices_come_and_go_while_it_runs(
    pool: Pool, new_elasticsearch_index: NewIndex, new_topic: Callable[..., str]
) -> None:
    index = new_elasticsearch_index()
    (worker,) = pool.start()
    topic = new_topic()
    index.numbered(0, 10)
    config = index.config(tasks_max="4", topic_name=topic, value_format="json", index_poll_interval_ms="200")
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("documents", {**config, "connector.class": "ElasticsearchSource", "poll.interval.ms": "50"})
        pool.until(lambda: len(seen.values) == 10, "it is read")
        assert worker.runs("documents", 1)
        other = f"{index.name}-2"
        index.make(1, other)
        index.put([("x", {"n": 10})], name=other)
        pool.until(lambda: len(seen.values) == 11, "the new index is read")
        pool.until(lambda: worker.runs("documents", 2), "by a task of its own")
        index.server.drop(other)
        pool.until(lambda: worker.runs("documents", 1), "one task is left")
        index.numbered(11, 1)
        pool.until(lambda: len(seen.values) == 12, "the other is read on")
