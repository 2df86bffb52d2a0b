"""Change capture in real workers on a real broker: with exactly-once a change is in its topic once, whatever dies."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import TURNS, Pool, a_pool
from tests.servers.postgresql import PostgresDatabase

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


@pytest.mark.promise("P1", "P2", "P10")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment(
    pool: Pool, postgres_database: PostgresDatabase, new_topic: Callable[..., str], seed: int, exactly_once: bool
) -> None:
    chance = random.Random(seed)
    postgres_database.execute("CREATE TABLE line (id int PRIMARY KEY)")
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    topic = new_topic(name=f"{pool.name}.public.line")
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": postgres_database.host,
        "database.port": str(postgres_database.port),
        "database.user": postgres_database.user,
        "database.password": postgres_database.password,
        "database.dbname": postgres_database.name,
        "topic.prefix": pool.name,
        "slot.name": pool.name.replace("-", "_"),
        "max.batch.size": "50",
        "poll.interval.ms": "50",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "exactly.once.support": "required" if exactly_once else "requested",
    }
    slot = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", config)
        pool.until(lambda: postgres_database.execute(slot, [config["slot.name"]]), "the stream begins")
        for turn in pool.deaths(worker):
            postgres_database.execute(f"INSERT INTO line SELECT generate_series({turn}000, {turn}000 + 999)")
            until = turn * 1000 + chance.randint(0, 999)
            pool.until(lambda until=until: len(seen.values) > until, "changes come")

        def numbers() -> list[int]:
            return [json.loads(value)["after"]["id"] for value in list(seen.values)]

        pool.until(lambda: set(numbers()) == set(range(1000 * TURNS)), "every change is there")
        assert exactly_once is False or numbers() == list(range(1000 * TURNS)), "a change came twice, or out of order"
