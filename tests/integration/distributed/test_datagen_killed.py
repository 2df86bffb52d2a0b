"""Made-up records, killed at any moment: none is left out, and with exactly-once none comes twice."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import Pool, a_pool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
COUNT = 9_000
EXACTLY_ONCE = {
    "exactly.once.support": "required",
    # Whoever waits for the broker to end a transaction that was left open waits too long.
    "producer.override.transaction.timeout.ms": "600000",
}


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment(pool: Pool, new_topic: Callable[..., str], seed: int, exactly_once: bool) -> None:
    chance = random.Random(seed)
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic()
    config = {
        "connector.class": "Datagen",
        "kafka.topic": topic,
        "quickstart": "orders",
        "rate": "2000",
        "iterations": str(COUNT // 2),
        "tasks.max": "2",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **(EXACTLY_ONCE if exactly_once else {}),
    }
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("made", config)
        for turn in pool.deaths(worker, 3):
            until = turn * 2500 + chance.randint(500, 2500)
            pool.until(lambda: len(seen.values) > until, "records come")  # noqa: B023 - called at once

        def values() -> list[str]:
            return list(seen.values)

        def numbers() -> list[int]:
            return [json.loads(value)["orderid"] for value in values()]

        pool.until(lambda: set(numbers()) == set(range(COUNT)), "every record is there")
        assert not exactly_once or sorted(numbers()) == list(range(COUNT)), "a record came twice"
        assert len(set(values())) == COUNT, "a record that came again was another one"
