"""Real workers on a real broker, killed at any moment: no row is lost, and with exactly-once none comes twice."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.distributed.committed import Committed
from tests.integration.distributed.pool import TURNS, Pool, a_pool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        yield made


def _config(database: Any, prefix: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
        "topic.prefix": prefix,
        "poll.interval.ms": "20",
        "timestamp.delay.interval.ms": "0",
        "connection.backoff.ms": "100",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def _grow(database: Any, count: int) -> None:
    database.execute(
        "INSERT INTO line (id) SELECT coalesce(max(m), 0) + n FROM generate_series(1, %s) n,"
        " (SELECT max(id) AS m FROM line) x GROUP BY n",
        [count],
    )


@pytest.mark.promise("P1", "P10")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_killed_at_any_moment(
    pool: Pool, postgres_database: Any, new_topic: Callable[..., str], seed: int, exactly_once: bool
) -> None:
    chance = random.Random(seed)
    postgres_database.execute(
        "CREATE TABLE line (id int PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())"
    )
    settings = {"exactly_once_source_support": "enabled"} if exactly_once else {}
    (worker,) = pool.start(1, restart_policy="on", **settings)
    prefix = f"{pool.name}-"
    topic = new_topic(name=f"{prefix}line")
    keys = {"mode": "timestamp+incrementing", "timestamp_column_name": "at", "incrementing_column_name": "id"}
    required = {"exactly_once_support": "required"} if exactly_once else {}
    with closing(Committed(pool.bootstrap, topic)) as seen:
        worker.create("lines", _config(postgres_database, prefix, batch_max_rows="50", **keys, **required))
        for turn in pool.deaths(worker):
            _grow(postgres_database, 2000)
            until = turn * 2000 + chance.randint(0, 1999)
            pool.until(lambda: len(seen.values) > until, "rows come")  # noqa: B023 - called at once

        def numbers() -> list[int]:
            return [json.loads(value)["id"] for value in list(seen.values)]

        pool.until(lambda: set(numbers()) == set(range(1, 2000 * TURNS + 1)), "every row is there")
        assert exactly_once is False or sorted(numbers()) == list(range(1, 2000 * TURNS + 1)), "a row came twice"
        # Without transactions offsets are stored now and then, and on a quick machine not yet.
        pool.until(lambda: worker.get("/connectors/lines/offsets")["offsets"], "offsets are stored")
        ((stored),) = worker.get("/connectors/lines/offsets")["offsets"]
        assert stored["partition"] == {"protocol": "1", "table": f"{postgres_database.name}.public.line"}
        assert set(stored["offset"]) == {"incrementing", "timestamp", "timestamp_nanos"}


def test_tables_come_and_go_while_it_runs(pool: Pool, postgres_database: Any, new_topic: Callable[..., str]) -> None:
    (worker,) = pool.start()
    prefix = f"{pool.name}-"
    first, second = new_topic(name=f"{prefix}one"), new_topic(name=f"{prefix}two")
    postgres_database.execute("CREATE TABLE one (id int PRIMARY KEY); INSERT INTO one VALUES (1)")
    config = _config(postgres_database, prefix, mode="incrementing", incrementing_column_name="id", tasks_max="4")
    with closing(Committed(pool.bootstrap, first)) as ones, closing(Committed(pool.bootstrap, second)) as twos:
        worker.create("tables", {**config, "table.poll.interval.ms": "200"})
        pool.until(lambda: ones.values, "the table is read")
        assert worker.runs("tables", 1)
        postgres_database.execute("CREATE TABLE two (id int PRIMARY KEY); INSERT INTO two VALUES (1)")
        pool.until(lambda: twos.values, "the new table is read")
        pool.until(lambda: worker.runs("tables", 2), "by a task of its own")
        postgres_database.execute("DROP TABLE one; INSERT INTO two VALUES (2)")
        pool.until(lambda: len(twos.values) == 2, "the other is read on")
        pool.until(lambda: worker.runs("tables", 1), "one task is left")
        metrics = worker.ask("GET", "/connectors/tables/status").body
        assert metrics["connector"]["state"] == "RUNNING"


def test_a_database_that_is_away_when_the_connector_is_made(
    pool: Pool, postgres: Any, new_topic: Callable[..., str]
) -> None:
    from tests.servers.postgresql import PostgresServer

    server = PostgresServer()
    try:
        server.execute("CREATE TABLE line (id int PRIMARY KEY); INSERT INTO line VALUES (1)")
        server.kill()
        (worker,) = pool.start(1, restart_policy="on")
        topic = new_topic(name=f"{pool.name}-line")
        config = _config(server, f"{pool.name}-", mode="incrementing", incrementing_column_name="id")
        with closing(Committed(pool.bootstrap, topic)) as seen:
            worker.create("lines", {**config, "table.monitoring.startup.polling.limit.ms": "500"})
            pool.until(lambda: "could not be listed" in worker.log, "it says so")
            server.start()
            pool.until(lambda: seen.values, "the row comes when the database is there")
    finally:
        server.close()
