"""Dead letters of a pool's sink: every worker shows them, and one that does not run it replays them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker

from .pool import Pool

HEADERS = [("h", b"\xff"), ("h", None)]


def test_any_worker_shows_and_replays_the_dead_letters_of_a_sink(
    two: Pool, name: str, tmp_path: Path, new_topic: Any, broker: Broker, read: Any
) -> None:
    topic = new_topic(name=name)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    at = int(time.time() * 1000) - 10_000
    for key, value in (("k1", '{"id": "5"}'), ("k2", "{")):
        producer.produce(topic, value, key, headers=HEADERS, timestamp=at)
    assert producer.flush(30) == 0
    one, other = two.up
    config = {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "file": str(tmp_path / "out.txt"),
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "true",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{name}-dlq",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    one.create(name, config)
    path = f"/connectors/{name}/dlq"
    for worker in (one, other):
        two.until(lambda worker=worker: len(worker.get(path)["letters"]) == 2, "both are dead letters")
        assert [letter["key"]["text"] for letter in worker.get(path)["letters"]] == ["k2", "k1"]
    fixed = {"schema": {"type": "string"}, "payload": "fixed"}
    order = {"key": "k1", "set": fixed, "unset": ["id"]}
    for worker, replayed in ((other, 1), (one, 0)):
        outcome = worker.do("POST", f"{path}/replay", order)
        assert (len(outcome["replayed"]), outcome["marked_before"], outcome["warning"]) == (
            replayed,
            1 - replayed,
            None,
        )
    two.until(lambda: (tmp_path / "out.txt").read_text() == "fixed\n", "the sink takes it")
    *_, back = read(broker.bootstrap_servers, topic, 3)
    assert (back.key(), back.headers(), back.timestamp()[1]) == (b"k1", HEADERS, at)
    one.do("DELETE", f"/connectors/{name}")
