"""Lines of JSON become rows of a database, and one that does not fit a dead letter, through the real command."""

import json
import re
from pathlib import Path

import pytest

from tests.servers.postgresql import PostgresDatabase

SCHEMA = {
    "type": "struct",
    "fields": [
        {"field": "id", "type": "int32"},
        {"field": "name", "type": "string", "optional": True},
        {"field": "price", "type": "string"},
    ],
}


def line(number: int, name: str | None, price: str) -> str:
    return json.dumps({"schema": SCHEMA, "payload": {"id": number, "name": name, "price": price}}) + "\n"


@pytest.mark.quick
def test_json_becomes_rows_and_a_poison_row_a_dead_letter(
    standalone, topic: str, postgres_database: PostgresDatabase
) -> None:
    database = postgres_database
    database.execute("CREATE TABLE orders (id integer PRIMARY KEY, name text, price numeric)")
    folder: Path = standalone.folder
    lines = [line(1, "Ada", "1.50"), line(2, "", "no number"), line(3, None, "2.25"), line(1, "Eve", "3")]
    (folder / "in.txt").write_text("".join(lines))
    sink = {
        "name": f"{topic}-sink",
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": topic,
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
        "table.name.format": "orders",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    running = standalone.start(
        standalone.source(topic),
        standalone.properties("jdbc.properties", sink),
        standalone.sink(f"{topic}-dead", f"{topic}-dead-sink"),
    )
    dead = folder / "out.txt"
    running.until(lambda: dead.exists() and dead.read_text() == lines[1])
    running.until(lambda: len(database.execute("SELECT 1 FROM orders")) == 2)
    assert running.stop() == 0
    found = database.execute("SELECT id, name, price::text FROM orders ORDER BY id")
    assert found == [(1, "Eve", "3"), (3, None, "2.25")]
    assert database.password not in running.log


def test_debeziums_keys_are_followed_or_named_once_with_the_reason(
    standalone, topic: str, postgres_database: PostgresDatabase
) -> None:
    database = postgres_database
    (standalone.folder / "in.txt").write_text(line(1, "Ada", "1.50"))
    without_effect = {
        "collection.naming.strategy": "com.example.Ours",
        "column.naming.strategy": "com.example.Ours",
        "cloud.events.schema.name.pattern": ".*Event",
        "dialect.postgres.postgis.schema": "gis",
        "dialect.starrocks.catalog.name": "c",
        "connection.pool.max_size": "5",
    }
    sink = {
        "name": f"{topic}-sink",
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": topic,
        "connection.url": database.jdbc_url,
        "connection.username": database.user,
        "connection.password": database.password,
        "insert.mode": "upsert",
        "primary.key.mode": "record_value",
        "primary.key.fields": "id",
        "schema.evolution": "basic",
        "collection.name.format": "Debezium",
        "dialect.sqlserver.identity.insert": "false",
        "use.time.zone": "UTC",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        **without_effect,
    }
    running = standalone.start(standalone.source(topic), standalone.properties("jdbc.properties", sink))
    running.until(lambda: database.execute("SELECT to_regclass('debezium')") != [(None,)])
    running.until(lambda: database.execute("SELECT id, name FROM debezium") == [(1, "Ada")])
    assert running.stop() == 0
    warned = re.findall(r"([\w.]+) has no effect: ", running.log)
    assert sorted(warned) == sorted(without_effect)
    assert "is not known" not in running.log
