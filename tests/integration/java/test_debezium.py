"""Debezium's own connectors in workers of ours, by docs/java-connectors.md: a table is copied, whatever is killed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest

from connect.jvm.jars import JarsUnavailable
from connect.kafka.broker.embedded import Broker
from tests.conformance.jdbc.debezium_connector import keys, plug_in
from tests.integration.distributed.pool import Pool, a_pool
from tests.servers.postgresql import PostgresDatabase

from .jvms import jvms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

#: JVMs start within seconds, and on a busy machine within a minute.
PATIENCE_S = 240.0
PAGE = Path(__file__).parents[3] / "docs" / "java-connectors.md"
FILES = dict(re.findall(r"<!-- file: (\S+) -->\s*```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
JSON = "org.apache.kafka.connect.json.JsonConverter"
ROWS = 200


@pytest.fixture(scope="session")
def debezium(tmp_path_factory: pytest.TempPathFactory, cannot_have: Callable[[str, object], NoReturn]) -> Path:
    """A folder of plugin.path with Debezium's PostgreSQL source and its JDBC sink."""
    folder = tmp_path_factory.mktemp("debezium")
    for name in ("debezium-postgres", "debezium-jdbc"):
        try:
            plug_in(folder, name)
        except JarsUnavailable as error:
            cannot_have("Debezium", error)
    return folder


@pytest.fixture
def pool(broker: Broker, tmp_path: Path, debezium: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path) as made:
        made.settings |= {
            "plugin.path": str(debezium),
            "key.converter": JSON,
            "value.converter": JSON,
            "restart.policy": "on",
            "restart.policy.initial.delay.ms": "200",
            "restart.policy.max.delay.ms": "1000",
        }
        yield made


def source(database: PostgresDatabase, name: str) -> dict[str, str]:
    """The page's, for this database. Slot and publication are named after it."""
    config: dict[str, str] = json.loads(FILES["debezium/source.json"])["config"]
    return {**config, **keys(database, name), "name": "changes"}


def sink(database: PostgresDatabase, name: str) -> dict[str, str]:
    """The page's, into the same database."""
    config: dict[str, str] = json.loads(FILES["debezium/sink.json"])["config"]
    return {
        **config,
        "topics": f"{name}.public.orders",
        "connection.url": database.jdbc_url,
        "connection.username": database.user,
        "connection.password": database.password,
    }


class Orders:
    """The table, and its copy."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._last = 0
        database.execute("CREATE TABLE orders (id int PRIMARY KEY, what text, amount int)")

    def change(self) -> None:
        """Some rows come, some change, one goes."""
        first, self._last = self._last + 1, self._last + ROWS
        self._database.execute(
            f"INSERT INTO orders SELECT n, 'order ' || n, n * 2 FROM generate_series({first}, {self._last}) n;"
            f"UPDATE orders SET amount = amount + 1 WHERE id % 7 = 0;"
            f"DELETE FROM orders WHERE id = {first + 10}"
        )

    def are_copied(self) -> bool:
        with suppress(psycopg.errors.UndefinedTable):
            return self._rows("copy") == self._rows("orders")
        return False

    def _rows(self, table: str) -> list[Any]:
        return self._database.execute(f"SELECT id, what, amount FROM {table} ORDER BY id")


@pytest.mark.promise("P1")
@pytest.mark.promise("P6")
def test_a_table_is_copied_whatever_is_killed(pool: Pool, postgres_database: PostgresDatabase) -> None:
    orders = Orders(postgres_database)
    orders.change()
    (worker,) = pool.start()
    name = postgres_database.name
    worker.create("changes", source(postgres_database, name))
    worker.create("copy", sink(postgres_database, name))
    pool.until(orders.are_copied, "the snapshot is copied", within=PATIENCE_S)
    for killed in ("jvms", "worker"):
        orders.change()
        if killed == "jvms":
            for process in jvms(worker):
                process.kill()
        else:
            worker.kill()
            worker.start()
        orders.change()
        pool.until(orders.are_copied, f"all changes are copied, {killed} killed", within=PATIENCE_S)
    assert worker.runs("changes", 1)
    assert worker.runs("copy", 1)
