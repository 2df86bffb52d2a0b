"""The Iceberg sink: a real broker, a real worker, catalogs in SQLite, PostgreSQL and behind Iceberg's REST, and S3."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from confluent_kafka import Producer
from duckdb_extensions import import_extension
from pyiceberg.catalog import load_catalog

from connect import TopicPartition
from connect.herder.model import OffsetEntry
from tests.integration.worker.conftest import Herd
from tests.integration.worker.conftest import herd as _herd

if TYPE_CHECKING:
    from tests.servers.iceberg_rest import IcebergRest
    from tests.servers.postgresql import PostgresDatabase
    from tests.servers.s3 import S3Bucket

herd = _herd
JSON = "org.apache.kafka.connect.json.JsonConverter"

Rows = Callable[..., list[dict[str, Any]]]
Orders = Callable[..., Herd]


@pytest.fixture
def sqlite(tmp_path: Path) -> dict[str, str]:
    """The keys of a catalog in a file, with its tables beside it."""
    return {
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{tmp_path}/catalog.db",
        "iceberg.catalog.warehouse": f"file://{tmp_path}/lake",
    }


def opened(keys: Mapping[str, str]) -> Any:
    """The catalog of a connector, for others."""
    from spark_sink.iceberg.catalog import properties_for_pyiceberg

    prefix = "iceberg.catalog."
    made, _ = properties_for_pyiceberg({k.removeprefix(prefix): v for k, v in keys.items() if k.startswith(prefix)})
    return closing(load_catalog("iceberg", **made))


def rows(keys: Mapping[str, str], name: str = "shop.orders") -> list[dict[str, Any]]:
    """The rows of a table, by id; none while there is no table."""
    with opened(keys) as catalog:
        if not catalog.table_exists(name):
            return []
        return sorted(catalog.load_table(name).scan().to_arrow().to_pylist(), key=lambda row: row["id"])


@pytest.fixture
def orders(herd: Callable[..., Herd], sqlite: dict[str, str]) -> Iterator[Orders]:
    """Runs the connector `orders`: `orders(topic, {"tasks.max": "2"})`."""

    def start(topic: str, more: Mapping[str, str] | None = None, run: Herd | None = None) -> Herd:
        run = run or herd()
        config = {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": topic,
            "iceberg.tables": "shop.orders",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.control.commit.interval-ms": "100",
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
            **sqlite,
            **(more or {}),
        }
        run.run("orders", **config)
        run.await_state("orders", "RUNNING")
        return run

    return start


@pytest.fixture
def produce(broker: Any) -> Callable[..., None]:
    """Writes values as JSON: `produce(topic, {"id": 1}, partition=1, key="k")`."""

    def records(topic: str, *values: Any, partition: int = 0, key: str | None = None) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1})
        for value in values:
            encoded = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, encoded, key, partition=partition)
        assert producer.flush(30) == 0

    return records


def envelope(value: dict[str, Any]) -> dict[str, Any]:
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        {"field": "price", "type": "double", "optional": True},
    ]
    return {"schema": {"type": "struct", "fields": fields}, "payload": value}


@pytest.mark.quick
@pytest.mark.promise("P1", "P10")
def test_converted_and_transformed_records_of_two_tasks_are_rows_once(
    orders: Orders, new_topic: Callable[..., str], produce: Callable[..., None], sqlite: dict[str, str]
) -> None:
    topic = new_topic(partitions=2)
    keys = {
        "tasks.max": "2",
        "value.converter.schemas.enable": "true",
        "iceberg.tables.default-partition-by": "day(at), bucket(id, 2)",
        "transforms": "mask,add",
        "transforms.mask.type": "MaskField$Value",
        "transforms.mask.fields": "price",
        "transforms.add.type": "InsertField$Value",
        "transforms.add.topic.field": "topic",
    }
    for partition in range(2):
        day = 86_400_000
        values = (envelope({"id": n, "at": n % 3 * day, "price": 1.5}) for n in range(partition, 400, 2))
        produce(topic, *values, partition=partition)
    run = orders(topic, keys)
    run.until(lambda: len(rows(sqlite)) >= 400)
    assert [row["id"] for row in rows(sqlite)] == list(range(400))
    assert {(row["topic"], row["price"]) for row in rows(sqlite)} == {(topic, 0.0)}
    run.stop()
    produce(topic, *(envelope({"id": n, "at": 0}) for n in range(400, 410)))
    again = orders(topic, keys)
    again.until(lambda: len(rows(sqlite)) >= 410)
    assert [row["id"] for row in rows(sqlite)] == list(range(410))


def test_another_implementation_reads_what_is_written(
    orders: Orders, new_topic: Callable[..., str], produce: Callable[..., None], sqlite: dict[str, str]
) -> None:
    topic = new_topic()
    more = {
        "iceberg.tables.upsert-mode-enabled": "true",
        "iceberg.tables.default-id-columns": "id",
        "iceberg.tables.default-partition-by": "truncate(city, 1)",
        "iceberg.tables.evolve-schema-enabled": "true",
    }
    run = orders(topic, more)
    produce(topic, *({"id": n, "city": f"city-{n % 7}", "in": {"x": [n]}} for n in range(100)))
    run.until(lambda: len(rows(sqlite)) == 100)
    produce(topic, {"id": 7, "city": "Bonn", "new": 1.5})
    produce(topic, None, key="8")
    run.until(lambda: len(rows(sqlite)) == 99)
    for extension in ("avro", "iceberg"):
        import_extension(extension)
    with opened(sqlite) as catalog, duckdb.connect() as connection:
        path = catalog.load_table("shop.orders").metadata_location.removeprefix("file://")
        connection.execute("LOAD avro; LOAD iceberg")
        found = connection.execute(
            f"SELECT count(*), sum(id), max(new), count(\"in\"), min(city) FROM iceberg_scan('{path}')"
        ).fetchall()
    assert found == [(99, sum(range(100)) - 8, 1.5, 98, "Bonn")]


def test_records_that_do_not_fit_are_dead_letters_and_the_others_are_rows(
    orders: Orders,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    sqlite: dict[str, str],
    read: Callable[..., Any],
    broker: Any,
) -> None:
    topic, dead = new_topic(), new_topic()
    produce(topic, {"id": 1}, b"{no json", {"id": "text"}, {"id": 2}, {"id": {"x": 1}}, {"id": [1]}, {"id": 3})
    more = {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    orders(topic, more).until(lambda: len(rows(sqlite)) == 3)
    letters = read(broker.bootstrap_servers, dead, 4)
    wanted = [b'{"id": "text"}', b'{"id": [1]}', b'{"id": {"x": 1}}', b"{no json"]
    assert sorted(letter.value() for letter in letters) == sorted(wanted)
    why = dict(next(letter for letter in letters if b"text" in letter.value()).headers())
    assert b'"id" holds a value of type str' in why["__connect.errors.exception.message"]


def test_offsets_are_altered_in_the_table(
    orders: Orders, new_topic: Callable[..., str], produce: Callable[..., None], sqlite: dict[str, str]
) -> None:
    topic = new_topic()
    produce(topic, *({"id": n} for n in range(5)))
    run = orders(topic)
    run.until(lambda: len(rows(sqlite)) == 5)
    run.herder.stop_connector("orders").result(60)
    run.await_connector("orders", "STOPPED")
    wanted = [OffsetEntry({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 3})]
    run.herder.alter_offsets("orders", wanted).result(60)
    with opened(sqlite) as catalog:
        properties = catalog.load_table("shop.orders").properties
    assert properties[f"connect.offsets.orders.{TopicPartition(topic, 0)}"].startswith("3/")
    run.herder.resume("orders").result(60)
    run.until(lambda: len(rows(sqlite)) == 7)
    assert [row["id"] for row in rows(sqlite)] == [0, 1, 2, 3, 3, 4, 4]
    run.herder.stop_connector("orders").result(60)
    run.await_connector("orders", "STOPPED")
    run.herder.reset_offsets("orders").result(60)
    run.herder.resume("orders").result(60)
    run.until(lambda: len(rows(sqlite)) == 12)


@pytest.mark.promise("P10")
def test_a_catalog_in_postgresql_and_files_in_s3_that_go_away_and_come_back(
    orders: Orders,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    postgres_database: "PostgresDatabase",
    s3_bucket: "S3Bucket",
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = s3_bucket.server.config
    postgres = postgres_database.server
    keys = {
        "iceberg.catalog.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "iceberg.catalog.uri": postgres_database.jdbc_url,
        "iceberg.catalog.jdbc.user": postgres_database.user,
        "iceberg.catalog.jdbc.password": postgres_database.password,
        "iceberg.catalog.warehouse": f"s3://{s3_bucket.name}/lake",
        "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "iceberg.catalog.client.region": server["s3.region"],
        "iceberg.catalog.s3.endpoint": server["store.url"],
        "iceberg.catalog.s3.path-style-access": "true",
        "iceberg.catalog.s3.access-key-id": server["aws.access.key.id"],
        "iceberg.catalog.s3.secret-access-key": server["aws.secret.access.key"],
    }
    topic = new_topic()
    produce(topic, *({"id": n} for n in range(5)))
    run = orders(topic, {"iceberg.catalog.type": "", **keys})
    run.until(lambda: len(rows(keys)) == 5)
    assert any(key.endswith(".parquet") for key in s3_bucket.keys("lake"))
    for stop, start in (
        (s3_bucket.server.kill, s3_bucket.server.start),
        (postgres.kill, postgres.start),
    ):
        before = len(rows(keys))
        stop()
        try:
            produce(topic, *({"id": n} for n in range(before, before + 5)))
            run.until(lambda: "shop.orders could not be" in caplog.text)
        finally:
            start()
        run.until(lambda: len(rows(keys)) == before + 5)  # noqa: B023 - called at once
        caplog.clear()
    assert [row["id"] for row in rows(keys)] == list(range(15))
    assert run.state("orders") == "RUNNING"
    assert server["aws.secret.access.key"] not in caplog.text
    run.stop()


@pytest.mark.promise("P10")
@pytest.mark.parametrize("status", [504, 409])
def test_iceberg_s_rest_catalog_whose_answer_is_lost(
    orders: Orders,
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    iceberg_rest: "IcebergRest",
    status: int,
) -> None:
    table = f"shop{uuid.uuid4().hex[:8]}.orders"
    topic = new_topic(partitions=2)
    more = {
        **iceberg_rest.config,
        "iceberg.catalog.warehouse": "",
        "iceberg.tables": table,
        "tasks.max": "2",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.tables.default-partition-by": "bucket(id, 2)",
    }
    keys = {key: value for key, value in more.items() if value}
    produce(topic, *({"id": n} for n in range(5)))
    run = orders(topic, more)
    run.until(lambda: len(rows(keys, table)) == 5)
    for first in range(5, 35, 5):
        iceberg_rest.lose_an_answer(status)
        produce(topic, *({"id": n, f"of-{first}": 1.5} for n in range(first, first + 5)), partition=first % 2)
        run.until(lambda: len(rows(keys, table)) >= first + 5)  # noqa: B023 - called at once
    assert [row["id"] for row in rows(keys, table)] == list(range(35))
    assert run.state("orders") == "RUNNING"


def test_credentials_that_are_refused_are_an_error_that_says_so(
    orders: Orders, new_topic: Callable[..., str], iceberg_rest: "IcebergRest", herd: Callable[..., Herd]
) -> None:
    run = herd()
    config = {
        **iceberg_rest.config,
        "iceberg.catalog.credential": "tester:another-secret",
        "connector.class": "IcebergSinkConnector",
        "topics": new_topic(),
        "iceberg.tables": "shop.orders",
    }
    run.run("orders", **config)
    trace = run.await_state("orders", "FAILED")
    assert f"The Iceberg catalog {iceberg_rest.uri} could not be opened: access was denied" in trace
    assert "another-secret" not in trace
