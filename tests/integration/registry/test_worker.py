"""AvroConverter in a worker: a file into a topic and out of it again, over a real broker and a real registry."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from connect.kafka.broker.embedded import Broker
from tests.integration.standalone.conftest import Standalone

from .front import Front, running

AVRO = "io.confluent.connect.avro.AvroConverter"


@pytest.fixture
def standalone(tmp_path: Path, broker: Broker) -> Iterator[Standalone]:
    made = Standalone(tmp_path, broker)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.quick
def test_lines_go_through_a_topic_as_avro(standalone: Standalone, registry: str, topic: str, broker: Broker) -> None:
    standalone.worker({"value.converter": AVRO, "value.converter.schema.registry.url": registry})
    (standalone.folder / "in.txt").write_text("one\ntwo\nthree\n")
    source = standalone.source(topic)
    sink = standalone.sink(topic, f"sink-{topic}")
    worker = standalone.start(source, sink)
    out = standalone.folder / "out.txt"
    worker.until(lambda: out.exists() and out.read_text() == "one\ntwo\nthree\n")
    assert worker.stop() == 0
    client = SchemaRegistryClient({"url": registry, "timeout": 30})
    deserializer = AvroDeserializer(client)
    context = SerializationContext(topic, MessageField.VALUE)
    values = consumed(broker, topic, 3)
    assert [deserializer(value, context) for value in values] == ["one", "two", "three"]
    client.close()


def test_a_registry_that_refuses_the_login_fails_the_task_and_skips_nothing(
    standalone: Standalone, registry: str, topic: str
) -> None:
    with running(Front(registry, authorization="Basic other")) as front:
        standalone.worker({})
        (standalone.folder / "in.txt").write_text("one\n")
        user_info = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "alice:wonderland"}
        settings = {
            "name": "source",
            "connector.class": "FileStreamSource",
            "file": "in.txt",
            "topic": topic,
            "errors.tolerance": "all",
            "value.converter": AVRO,
            "value.converter.schema.registry.url": front.url,
            **{f"value.converter.{key}": value for key, value in user_info.items()},
        }
        worker = standalone.start(standalone.properties("source.properties", settings))
        worker.until_logged("refuses the login (401)")
        assert "wonderland" not in worker.log
        assert not (standalone.folder / "offsets").exists()
        worker.stop()


def test_a_registry_that_is_busy_for_a_while_costs_nothing(standalone: Standalone, registry: str, topic: str) -> None:
    with running(Front(registry, failures=3)) as front:
        converter = {
            "value.converter": AVRO,
            "value.converter.schema.registry.url": front.url,
            "value.converter.max.retries": "0",
            "errors.retry.timeout": "60000",
        }
        (standalone.folder / "in.txt").write_text("one\ntwo\n")
        source = {"name": "source", "connector.class": "FileStreamSource", "file": "in.txt", "topic": topic}
        sink = {"name": f"sink-{topic}", "connector.class": "FileStreamSink", "file": "out.txt", "topics": topic}
        worker = standalone.start(
            standalone.properties("source.properties", {**source, **converter}),
            standalone.properties("sink.properties", {**sink, **converter}),
        )
        out = standalone.folder / "out.txt"
        worker.until(lambda: out.exists() and out.read_text() == "one\ntwo\n")
        assert front.failures == 0
        assert worker.stop() == 0


def consumed(broker: Broker, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        values.append(message.value())
    consumer.close()
    return values
