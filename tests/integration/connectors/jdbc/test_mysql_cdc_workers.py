"""Capture of MariaDB in real workers on a real broker: with exactly-once a change is there once, whatever dies."""

import json
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import TURNS, Pool, a_pool
from tests.servers.mariadb import MariaDatabase, MariaServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


@pytest.fixture
def database(mariadb: MariaServer) -> Iterator[MariaDatabase]:
    made = mariadb.database(f"test_{uuid.uuid4().hex[:12]}")
    yield made
    made.drop()


def _insert(database: MariaDatabase, first: int) -> None:
    """1000 rows in one transaction, with as many to an event of the log as to a batch: it is stored in many parts."""
    with closing(database.connect(autocommit=False)) as connection, connection.cursor() as cursor:
        for number in range(first, first + 1000, 50):
            cursor.execute(f"INSERT INTO line SELECT seq FROM seq_{number}_to_{number + 49}")
        connection.commit()


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment(
    pool: Pool, database: MariaDatabase, new_topic: Callable[..., str], seed: int, exactly_once: bool
) -> None:
    chance = random.Random(seed)
    database.execute("CREATE TABLE line (id int PRIMARY KEY)")
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic(name=f"{pool.name}.{database.name}.line")
    config = {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": database.user,
        "database.password": database.password,
        "database.server.id": str(chance.randint(10_000, 99_999)),
        "database.include.list": database.name,
        "topic.prefix": pool.name,
        "max.batch.size": "50",
        "poll.interval.ms": "50",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "exactly.once.support": "required" if exactly_once else "requested",
    }
    reading = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", config)
        pool.until(lambda: database.execute(reading) != [], "the stream begins")
        for turn in pool.deaths(worker):
            _insert(database, turn * 1000)
            until = turn * 1000 + chance.randint(0, 999)
            pool.until(lambda until=until: len(seen.values) > until, "changes come")

        def numbers() -> list[int]:
            return [json.loads(value)["after"]["id"] for value in list(seen.values)]

        pool.until(lambda: set(numbers()) == set(range(1000 * TURNS)), "every change is there")
        assert exactly_once is False or numbers() == list(range(1000 * TURNS)), "a change came twice, or out of order"
