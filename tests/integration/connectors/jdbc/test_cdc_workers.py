"""Change capture in real workers on a real broker: with exactly-once a change is in its topic once, whatever dies."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import TURNS, Pool, a_pool

from .captured import Captured

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RESTARTS = 10

_KINDS = pytest.mark.parametrize(
    "captured",
    [
        pytest.param("postgres", marks=pytest.mark.promise("P1", "P2", "P10")),
        pytest.param("mariadb", marks=pytest.mark.promise("P1", "P10")),
    ],
    indirect=True,
)


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def _config(pool: Pool, captured: Captured, exactly_once: bool, **changes: str) -> dict[str, str]:
    return {
        **captured.config(topic_prefix=pool.name, poll_interval_ms="50", **changes),
        "name": "lines",
        "connector.class": captured.debezium,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "exactly.once.support": "required" if exactly_once else "requested",
    }


def _insert(captured: Captured, first: int) -> None:
    """1000 rows in one transaction, with as many to a statement as to a batch: it is stored in many parts.

    MariaDB's log has the rows of a statement in one event.
    """
    parts = (captured.numbers(number, number + 49, "x") for number in range(first, first + 1000, 50))
    captured.execute("BEGIN", *parts, "COMMIT")


@_KINDS
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment(
    pool: Pool, captured: Captured, new_topic: Callable[..., str], seed: int, exactly_once: bool
) -> None:
    chance = random.Random(seed)
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic(name=f"{pool.name}.{captured.table('line')}")
    config = _config(pool, captured, exactly_once, max_batch_size="50")
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", config)
        pool.until(captured.streaming, "the stream begins")
        for turn in pool.deaths(worker):
            _insert(captured, turn * 1000)
            until = turn * 1000 + chance.randint(0, 999)
            pool.until(lambda until=until: len(seen.values) > until, "changes come")

        def numbers() -> list[int]:
            return [json.loads(value)["after"]["id"] for value in list(seen.values)]

        pool.until(lambda: set(numbers()) == set(range(1000 * TURNS)), "every change is there")
        assert exactly_once is False or numbers() == list(range(1000 * TURNS)), "a change came twice, or out of order"


@_KINDS
@pytest.mark.parametrize("exactly_once", [False, True])
def test_restarted_while_changes_come(
    pool: Pool, captured: Captured, new_topic: Callable[..., str], exactly_once: bool
) -> None:
    """A task ends in the middle of a poll mostly: what that returned is not sent, and has to be read again."""
    captured.execute("CREATE TABLE line (id int PRIMARY KEY, word text)")
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, **settings)
    topic = new_topic(name=f"{pool.name}.{captured.table('line')}")
    config = _config(pool, captured, exactly_once)
    config |= {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "200"}
    inserted, enough = [0], threading.Event()

    def insert() -> None:
        while not enough.wait(0.002):
            captured.execute(captured.numbers(inserted[0], inserted[0], "x"))
            inserted[0] += 1

    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", config)
        pool.until(captured.streaming, "the stream begins")
        thread = threading.Thread(target=insert)
        thread.start()
        try:
            for _ in range(RESTARTS):
                until = len(seen.values) + 40
                pool.until(lambda until=until: len(seen.values) > until, "changes come")
                worker.do("POST", "/connectors/lines/tasks/0/restart")
        finally:
            enough.set()
            thread.join()

        def numbers() -> list[int]:
            return [json.loads(value)["after"]["id"] for value in list(seen.values)]

        pool.until(lambda: set(numbers()) == set(range(inserted[0])), "every change is there")
        assert exactly_once is False or numbers() == list(range(inserted[0])), "a change came twice, or out of order"
