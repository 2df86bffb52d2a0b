"""engine=worker of the Spark sink: a real broker, a real worker, a Delta table, and no JVM for the table."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable

from connect import TopicPartition
from connect.herder.model import OffsetEntry
from tests.integration.worker.conftest import Herd
from tests.integration.worker.conftest import herd as _herd

herd = _herd
JSON = "org.apache.kafka.connect.json.JsonConverter"

Rows = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "lake" / "orders")


@pytest.fixture
def rows(uri: str) -> Rows:
    """The rows of the table, by id; none while there is no table."""

    def read() -> list[dict[str, Any]]:
        if not DeltaTable.is_deltatable(uri):
            return []
        return sorted(DeltaTable(uri).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])

    return read


@pytest.fixture
def orders(herd: Callable[..., Herd], uri: str) -> Iterator[Callable[..., Herd]]:
    """Runs the connector `orders`: `orders(topic, mode="upsert")`."""

    def start(topic: str, run: Herd | None = None, **config: str) -> Herd:
        run = run or herd()
        defaults = {
            "connector.class": "DeltaSinkConnector",
            "engine": "worker",
            "topics": topic,
            "table": uri,
            "trigger.interval.ms": "100",
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        }
        run.run("orders", **{**defaults, **{key.replace("__", "."): value for key, value in config.items()}})
        run.await_state("orders", "RUNNING")
        return run

    return start


@pytest.fixture
def produce(broker: Any) -> Callable[..., None]:
    """Writes values as JSON: `produce(topic, {"id": 1}, partition=1, key="k")`."""

    def records(topic: str, *values: Any, partition: int = 0, key: str | None = None, moment: int = 0) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 1})
        for value in values:
            encoded = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, encoded, key, partition=partition, timestamp=moment)  # 0: now
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
def test_converted_and_transformed_records_are_rows_once(
    orders: Callable[..., Herd], new_topic: Callable[..., str], produce: Callable[..., None], rows: Rows, broker: Any
) -> None:
    topic = new_topic(partitions=2)
    keys = {
        "tasks__max": "2",
        "value__converter__schemas__enable": "true",
        "metadata__columns": "partition,offset",
        "transforms": "mask,add",
        "transforms__mask__type": "MaskField$Value",
        "transforms__mask__fields": "price",
        "transforms__add__type": "InsertField$Value",
        "transforms__add__topic__field": "topic",
    }
    for partition in range(2):
        produce(
            topic, *(envelope({"id": n, "at": 0, "price": 1.5}) for n in range(partition, 400, 2)), partition=partition
        )
    run = orders(topic, **keys)
    run.until(lambda: len(rows()) == 400)
    assert [row["id"] for row in rows()] == list(range(400))
    assert {row["topic"] for row in rows()} == {topic}
    assert {row["price"] for row in rows()} == {0.0}
    assert {(row["_partition"], row["_offset"]) for row in rows()} == {(p, n) for p in range(2) for n in range(200)}
    run.stop()
    produce(topic, *(envelope({"id": n, "at": 0}) for n in range(400, 410)))
    again = orders(topic, **keys)
    again.until(lambda: len(rows()) == 410)
    assert [row["id"] for row in rows()] == list(range(410))


def test_a_new_connector_begins_at_a_time(
    orders: Callable[..., Herd], new_topic: Callable[..., str], produce: Callable[..., None], rows: Rows
) -> None:
    topic = new_topic(partitions=3)
    for id_, partition, moment in ((0, 0, 1000), (1, 0, 5000), (2, 0, 4000), (3, 1, 1000), (4, 2, 6000)):
        produce(topic, {"id": id_}, partition=partition, moment=moment)
    run = orders(topic, starting__timestamp="1970-01-01T00:00:05Z")
    run.until(lambda: len(rows()) == 3)
    produce(topic, {"id": 5}, partition=1, moment=2000)  # behind the end where it began
    run.until(lambda: len(rows()) == 4)
    assert [row["id"] for row in rows()] == [1, 2, 4, 5]


def test_records_that_do_not_fit_are_dead_letters_and_the_others_are_rows(
    orders: Callable[..., Herd],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    rows: Rows,
    read: Callable[..., Any],
    broker: Any,
) -> None:
    topic, dead = new_topic(), new_topic()
    produce(topic, {"id": 1}, b"{no json", {"id": "text"}, {"id": 2}, {"id": {"x": 1}}, {"id": [1]}, {"id": 3})
    orders(
        topic,
        errors__tolerance="all",
        errors__deadletterqueue__topic__name=dead,
        errors__deadletterqueue__topic__replication__factor="1",
        errors__deadletterqueue__context__headers__enable="true",
        schema__evolution__on__mismatch="quarantine",
    ).until(lambda: len(rows()) == 3)
    letters = read(broker.bootstrap_servers, dead, 4)
    wanted = [b'{"id": "text"}', b'{"id": [1]}', b'{"id": {"x": 1}}', b"{no json"]
    assert sorted(letter.value() for letter in letters) == sorted(wanted)
    why = dict(next(letter for letter in letters if b"text" in letter.value()).headers())
    assert b'The field "id" holds a value of type str' in why["__connect.errors.exception.message"]
    assert [row["id"] for row in rows()] == [1, 2, 3]


def test_or_they_are_found_by_halving(
    orders: Callable[..., Herd], new_topic: Callable[..., str], produce: Callable[..., None], rows: Rows
) -> None:
    topic = new_topic()
    produce(topic, *({"id": n if n % 40 else "x"} for n in range(1, 121)))
    orders(topic, errors__tolerance="all", errors__put__tolerance="all", errors__log__enable="true").until(
        lambda: len(rows()) == 117
    )


def test_offsets_are_altered_in_the_table(
    orders: Callable[..., Herd], new_topic: Callable[..., str], produce: Callable[..., None], rows: Rows, uri: str
) -> None:
    topic = new_topic()
    produce(topic, *({"id": n} for n in range(5)))
    run = orders(topic)
    run.until(lambda: len(rows()) == 5)
    run.herder.stop_connector("orders").result(60)
    run.await_connector("orders", "STOPPED")
    wanted = [OffsetEntry({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 3})]
    run.herder.alter_offsets("orders", wanted).result(60)
    assert DeltaTable(uri).transaction_version(f"connect/orders/{TopicPartition(topic, 0)}") == 3
    run.herder.resume("orders").result(60)
    run.until(lambda: len(rows()) == 7)
    assert [row["id"] for row in rows()] == [0, 1, 2, 3, 3, 4, 4]
    run.herder.stop_connector("orders").result(60)
    run.await_connector("orders", "STOPPED")
    run.herder.reset_offsets("orders").result(60)
    run.herder.resume("orders").result(60)
    run.until(lambda: len(rows()) == 12)


def test_upserts_and_deletes(
    orders: Callable[..., Herd], new_topic: Callable[..., str], produce: Callable[..., None], rows: Rows
) -> None:
    topic = new_topic()
    for key, value in [("a", {"n": 1}), ("b", {"n": 2}), ("a", {"n": 3, "new": "x"}), ("b", None), ("c", {"n": 4})]:
        produce(topic, value, key=key)
    run = orders(topic, mode="upsert", pk__fields="id")
    run.until(lambda: rows() == [{"n": 3, "new": "x", "id": "a"}, {"n": 4, "new": None, "id": "c"}], rows)


def test_a_table_that_cannot_be_written_fails_the_task_in_one_line(
    orders: Callable[..., Herd], new_topic: Callable[..., str], produce: Callable[..., None], tmp_path: Path
) -> None:
    topic = new_topic()
    (tmp_path / "file").write_text("x")
    produce(topic, {"id": 1})
    run = orders(topic, table=str(tmp_path / "file" / "orders"))
    trace = run.await_state("orders", "FAILED")
    assert "could not be created: part of the path is not a folder. Check the key table." in trace


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P10")
def test_the_engine_may_change_to_and_fro(
    orders: Callable[..., Herd],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    rows: Rows,
    herd: Callable[..., Herd],
    no_shared_spark: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.integration.worker.conftest.WITHIN_S", 180.0)
    topic = new_topic(partitions=2)
    for turn, engine in enumerate(("worker", "spark", "worker")):
        before, all_of_them = 40 * turn, 40 * (turn + 1)
        for partition in range(2):
            produce(topic, *({"id": before + 2 * n + partition} for n in range(20)), partition=partition)
        run = orders(topic, herd(), engine=engine, spark__master="local[2]")
        run.until(partial(_are_committed, run, topic, all_of_them), partial(_how_it_stands, run))
        run.herder.stop_connector("orders").result(120)
        run.await_connector("orders", "STOPPED")
        run.stop()
        assert [row["id"] for row in rows()] == list(range(all_of_them))


def _are_committed(run: Herd, topic: str, records: int) -> bool:
    """Whether it has committed so many of a topic. Its group may have offsets of topics of other tests."""
    offsets = [
        each.offset for each in run.herder.offsets("orders").result(60) if each.partition["kafka_topic"] == topic
    ]
    return sum(int(offset["kafka_offset"]) for offset in offsets if offset) == records


def _how_it_stands(run: Herd) -> Any:
    return run.task("orders"), run.herder.offsets("orders").result(60)
