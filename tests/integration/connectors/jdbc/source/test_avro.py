"""A snapshot of a table as Avro: every row is a record that others' readers understand."""

import io
import json
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from connect.kafka.broker.embedded import Broker
from tests.integration.spark_sink.source_runs import everything
from tests.integration.worker.conftest import herd
from tests.unit.converters.registry.memory_registry import MemoryRegistry

__all__ = ["herd"]

ROWS = 25_000


@pytest.fixture
def registry() -> Iterator[MemoryRegistry]:
    with MemoryRegistry() as running:
        yield running


def test_a_snapshot_in_columns(
    herd: Any, broker: Broker, postgres_database: Any, registry: MemoryRegistry, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(name=f"line_{uuid.uuid4().hex[:8]}")
    postgres_database.execute(
        f'CREATE TABLE "{topic}" '
        "(id bigint PRIMARY KEY, name text, price numeric(12, 2) NOT NULL, at timestamptz, ok boolean);"
        f"INSERT INTO \"{topic}\" SELECT n, CASE WHEN n % 7 > 0 THEN 'größe ' || n END, n / 100.0,"
        f" '2024-02-29 12:34:56.789Z'::timestamptz + n * interval '1 ms', n % 3 = 0 FROM generate_series(1, {ROWS}) n"
    )
    run = herd()
    run.run(
        name=f"avro-{topic}",
        connector__class="JdbcSource",
        connection__url=postgres_database.jdbc_url,
        connection__user=postgres_database.user,
        connection__password=postgres_database.password,
        mode="snapshot",
        table__include__list=f".*{topic}",
        topic__prefix="",
        numeric__mapping="none",
        value__converter="io.confluent.connect.avro.AvroConverter",
        value__converter__schema__registry__url=registry.url,
    )
    run.until(lambda: len(everything(broker, topic)) == ROWS, lambda: run.task(f"avro-{topic}"))
    schemas: dict[int, Any] = {}
    rows = {}
    for message in everything(broker, topic):
        data = message.value()
        number = int.from_bytes(data[1:5], "big")
        if number not in schemas:
            schemas[number] = fastavro.parse_schema(json.loads(registry.schemas[number - 1]["schema"]))
        row = fastavro.schemaless_reader(io.BytesIO(data[5:]), schemas[number], None)
        rows[row["id"]] = row
    assert len(schemas) == 1
    assert sorted(rows) == list(range(1, ROWS + 1))
    assert [row["price"] for _, row in sorted(rows.items())] == [Decimal(n) / 100 for n in range(1, ROWS + 1)]
    assert (rows[7]["name"], rows[8]["name"], rows[9]["ok"], rows[8]["ok"]) == (None, "größe 8", True, False)
    assert rows[1]["at"].isoformat() == "2024-02-29T12:34:56.790000+00:00"
