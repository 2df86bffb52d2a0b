"""Protobuf and JSON Schema in a worker: lines into a topic and out of it again, a bad record among them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from tests.integration.standalone.conftest import Standalone


@pytest.fixture
def standalone(tmp_path: Path, broker: Broker) -> Iterator[Standalone]:
    made = Standalone(tmp_path, broker)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.slow
@pytest.mark.promise("P5")
@pytest.mark.parametrize("name", ["protobuf.ProtobufConverter", "json.JsonSchemaConverter"])
def test_structs_go_through_a_topic_and_what_is_no_record_costs_no_other(
    standalone: Standalone, registry: str, topic: str, broker: Broker, name: str
) -> None:
    converter = {
        "value.converter": f"io.confluent.connect.{name}",
        "value.converter.schema.registry.url": registry,
        "errors.tolerance": "all",
    }
    source = {"name": "source", "connector.class": "FileStreamSource", "file": "in.txt", "topic": topic}
    hoist = {
        "transforms": "hoist",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
    }
    sink = {"name": f"sink-{topic}", "connector.class": "FileStreamSink", "file": "out.txt", "topics": topic}
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"\x01of another converter")
    producer.produce(topic, b"\0\0\0\0")
    producer.flush(30)
    standalone.worker({})
    (standalone.folder / "in.txt").write_text("one\ntwo\nthree\n")
    worker = standalone.start(
        standalone.properties("source.properties", {**source, **hoist, **converter}),
        standalone.properties("sink.properties", {**sink, **converter}),
    )
    out = standalone.folder / "out.txt"
    lines = "".join(f"Struct{{line={line}}}\n" for line in ("one", "two", "three"))
    worker.until(lambda: out.exists() and out.read_text() == lines)
    assert worker.stop() == 0
