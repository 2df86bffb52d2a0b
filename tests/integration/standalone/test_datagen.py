"""Made-up records through a real worker into a real topic, and from there into a file."""

import json
from typing import Any

import pytest


@pytest.mark.quick
def test_orders_are_made_and_written(standalone: Any, topic: str) -> None:
    keys = {
        "name": f"{topic}-made",
        "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector",
        "kafka.topic": topic,
        "quickstart": "orders",
        "max.interval": "0",
        "iterations": "5000",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    made = standalone.properties("made.properties", keys)
    out = standalone.folder / "out.txt"
    running = standalone.start(made, standalone.sink(topic, f"{topic}-sink"))
    running.until(lambda: out.exists() and out.read_bytes().count(b"\n") == 5000)
    assert [json.loads(line)["orderid"] for line in out.read_text().splitlines()] == list(range(5000))
    assert running.stop() == 0
    stored = json.loads((standalone.folder / "offsets").read_text())["offsets"]
    assert [(each[0][1], each[1]["current.iteration"]) for each in stored] == [({"task.id": 0}, 5000)]
