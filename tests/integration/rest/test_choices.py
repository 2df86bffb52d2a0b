"""The values that a key could have, by a real worker: topics, tables, buckets, indices, and why there are none."""

import sqlite3
from typing import Any

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from tests.servers.elasticsearch import ElasticsearchServer
from tests.servers.mariadb import MariaServer
from tests.servers.postgresql import PostgresDatabase
from tests.servers.s3 import S3Server

from .conftest import Worker

pytestmark = pytest.mark.slow


@pytest.fixture
def worker(workers: Any) -> Worker:
    started: Worker = workers.start()
    return started


def listed(worker: Worker, plugin: str, key: str, **config: str) -> Any:
    """The values, or the message."""
    body = {name.replace("__", "."): value for name, value in config.items()}
    status, answer = worker.ask("PUT", f"/connector-plugins/{plugin}/config/{key}/choices", body)
    assert status == 200, answer
    assert answer["key"] == key
    assert bool(answer["values"]) != bool(answer["message"])
    return answer["values"] or answer["message"]


def login(database: Any, **more: str) -> dict[str, str]:
    return {
        "connection__url": database.jdbc_url,
        "connection__user": database.user,
        "connection__password": database.password,
        **more,
    }


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.execute(
        "CREATE TABLE orders (id bigint); CREATE TABLE items (id bigint); CREATE VIEW totals AS SELECT 1 AS n;"
        'CREATE SCHEMA "old.shop"; CREATE TABLE "old.shop"."orders(1)" (id bigint);'
        "CREATE PUBLICATION shop FOR TABLE orders"
    )
    return postgres_database


def test_the_tables_of_a_database(worker: Worker, shop: PostgresDatabase) -> None:
    keys = worker.get("/connector-plugins/JdbcSource/config/choices")["keys"]
    assert {"table.whitelist", "table.include.list"} <= set(keys)
    assert "connection.password" not in keys
    tables = ['"old.shop".orders(1)', "public.items", "public.orders"]
    assert listed(worker, "JdbcSource", "table.whitelist", **login(shop)) == tables
    assert listed(worker, "JdbcSink", "table.name.format", **login(shop)) == tables
    patterns = [r"old.shop.orders\(1\)", "public.items", "public.orders"]
    assert listed(worker, "JdbcSource", "table.include.list", **login(shop)) == patterns
    # What else is written decides which tables there are, and nothing that is wrong elsewhere is in the way.
    chosen = login(shop, schema__pattern="pub%", table__types="VIEW", poll__interval__ms="often")
    assert listed(worker, "JdbcSource", "table.whitelist", **chosen) == ["public.totals"]
    assert listed(worker, "JdbcSource", "table.whitelist", **login(shop, schema__pattern="no")) == "There is none yet."


def test_what_changes_can_be_captured_of(worker: Worker, shop: PostgresDatabase) -> None:
    debezium = {
        "database__hostname": shop.host,
        "database__port": str(shop.port),
        "database__user": shop.user,
        "database__password": shop.password,
        "database__dbname": shop.name,
    }
    expected = {
        "table.include.list": [r"old.shop.orders\(1\)", "public.items", "public.orders"],
        "schema.exclude.list": ["old.shop", "public"],
        "publication.name": ["shop"],
    }
    for key, values in expected.items():
        assert listed(worker, "PostgresCdcSource", key, **debezium) == values


def test_tables_of_mysql_and_of_a_file(worker: Worker, mariadb: MariaServer) -> None:
    shop = mariadb.database("choices_shop")
    shop.execute("CREATE TABLE orders (id bigint)")
    try:
        assert listed(worker, "JdbcSource", "table.whitelist", **login(shop)) == ["orders"]
    finally:
        shop.drop()
    file = worker.folder / "shop.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE orders (id integer)")
    connection.close()
    assert listed(worker, "JdbcSink", "table.name.format", connection__url=f"jdbc:sqlite:{file}") == ["orders"]
    missing = worker.folder / "missing.db"
    assert listed(worker, "JdbcSink", "table.name.format", connection__url=f"jdbc:sqlite:{missing}") == (
        f"There is no file {missing}."
    )
    assert not missing.exists()


@pytest.mark.promise("P8")
def test_why_no_table_is_listed_without_the_password(worker: Worker, shop: PostgresDatabase) -> None:
    wrong = listed(worker, "JdbcSource", "table.whitelist", **login(shop, connection__password="opensesame"))
    assert "refuses the connection" in wrong
    assert "opensesame" not in wrong + worker.log
    assert listed(worker, "JdbcSource", "table.whitelist").startswith("connection.url: is required: ")
    half = listed(worker, "S3Sink", "s3.bucket.name", aws__access__key__id="ada")
    assert half == "aws.secret.access.key: is missing: aws.access.key.id is given."
    unset = login(shop, connection__password="${env:NOBODY}")
    assert listed(worker, "JdbcSource", "table.whitelist", **unset).startswith("connection.password: ")
    assert listed(worker, "JdbcSource", "mode", **login(shop)).endswith("cannot list values of mode.")
    assert "Nobody" in listed(worker, "Nobody", "table.whitelist")


def test_a_stored_password_lists_what_its_connector_sees(worker: Worker, shop: PostgresDatabase) -> None:
    config = {key.replace("__", "."): value for key, value in login(shop).items()}
    config |= {"connector.class": "JdbcSource", "mode": "bulk", "table.whitelist": "public.items"}
    assert worker.ask("PUT", "/connectors/shop/config", config)[0] == 201
    masked = worker.get("/connectors/shop/config")
    assert masked["connection.password"] == "[hidden]"
    status, answer = worker.ask("PUT", "/connector-plugins/JdbcSource/config/table.whitelist/choices", masked)
    assert (status, answer["values"][-1]) == (200, "public.orders")
    worker.until_state("shop", "RUNNING")  # and it is not disturbed


def test_buckets(worker: Worker, s3: S3Server) -> None:
    name = s3.bucket().name
    config = {key.replace(".", "__"): value for key, value in s3.config.items()}
    for plugin in ("S3Sink", "S3Source"):
        assert name in listed(worker, plugin, "s3.bucket.name", **config)
    gone = {**config, "store__url": "http://127.0.0.1:1"}
    assert listed(worker, "S3Sink", "s3.bucket.name", **gone) == (
        "S3 failed listing buckets in http://127.0.0.1:1: it cannot be reached (EndpointConnectionError)."
        " Check store.url and the network."
    )


def test_indices(worker: Worker, elasticsearch: ElasticsearchServer) -> None:
    elasticsearch.request("PUT", "/choices-orders", {"aliases": {"choices-all": {}}})
    elasticsearch.request("PUT", "/_ingest/pipeline/choices-clean", {"processors": []})
    try:
        url = {"connection__url": elasticsearch.url}
        for plugin, key in (("ElasticsearchSource", "index.names"), ("ElasticsearchSink", "index.name.format")):
            found = listed(worker, plugin, key, **url)
            assert {"choices-all", "choices-orders"} <= set(found)
            assert not [name for name in found if name.startswith(".")]
        assert "choices-clean" in listed(worker, "ElasticsearchSink", "pipeline", **url)
    finally:
        elasticsearch.drop("choices-orders")
        elasticsearch.request("DELETE", "/_ingest/pipeline/choices-clean")
    away = listed(worker, "ElasticsearchSource", "index.names", connection__url="http://127.0.0.1:1")
    assert away.startswith("Elasticsearch at http://127.0.0.1:1: It cannot be reached")


def test_topics_without_kafkas_own(worker: Worker, broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0
    for plugin, key in (
        ("FileStreamSink", "topics"),
        ("FileStreamSink", "errors.deadletterqueue.topic.name"),
        ("FileStreamSource", "topic"),
        ("Datagen", "kafka.topic"),
    ):
        assert key in worker.get(f"/connector-plugins/{plugin}/config/choices")["keys"]
        found = listed(worker, plugin, key)
        assert topic in found
        assert not [name for name in found if name.startswith("__")]
