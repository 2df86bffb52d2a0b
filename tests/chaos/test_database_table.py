"""P1, P3, P10: whoever writes a table of a database is killed at random moments; each record is one row of it."""

import json
import random
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.waiting import until

from . import topic as topics
from .attacks import Attacks
from .conftest import StartWorker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker
    from tests.servers.postgresql import PostgresDatabase

PARTITIONS = 3
AT_A_TIME = 3000
ROUNDS = 6


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P3", "P10")
def test_a_table_has_each_record_once_whatever_is_killed(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, postgres_database: "PostgresDatabase"
) -> None:
    database, bootstrap = postgres_database, broker.bootstrap_servers
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    topic = f"rows-{chance.randrange(1 << 32)}"
    topics.create(bootstrap, topic, PARTITIONS)
    worker.put(
        "rows",
        {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "topics": topic,
            "connection.url": database.jdbc_url,
            "connection.user": database.user,
            "connection.password": database.password,
            "table.name.format": "numbers",
            "auto.create": "true",
            "schemaless.inference": "true",
            "exactly.once": "true",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            # Few records in most batches; some of 500, which are written behind put.
            "consumer.override.max.poll.records": str(chance.choice([20, 600])),
            "transforms": "slow",
            "transforms.slow.type": "unruly.Slow",
        },
    )

    def rows() -> int:
        try:
            return int(database.execute("SELECT count(*) FROM numbers")[0][0])
        except psycopg.errors.UndefinedTable:
            return 0

    attacks = Attacks(worker, "rows", chance, lambda: None)
    for number, strike in enumerate(attacks.some(ROUNDS)):

        def moment(awaited: int = rows() + chance.randrange(1, 2000)) -> None:
            until(lambda: rows() >= awaited, 90, lambda: f"rows are written\n{worker.last_words()}")

        some = range(number * AT_A_TIME, (number + 1) * AT_A_TIME)
        topics.fill(
            bootstrap, topic, [[json.dumps({"p": p, "n": n}).encode() for n in some] for p in range(PARTITIONS)]
        )
        attacks.strike(strike, moment)
    each = ROUNDS * AT_A_TIME
    until(
        lambda: topics.committed(bootstrap, "connect-rows", topic, PARTITIONS) == [each] * PARTITIONS,
        180,
        lambda: f"all is committed: {attacks.done}\n{worker.last_words()}",
    )
    found = database.execute("SELECT p, n FROM numbers ORDER BY p, n")
    assert found == [(p, n) for p in range(PARTITIONS) for n in range(each)]
