"""The dead letters of a sink, beside those that Apache Kafka Connect's worker writes of the same records."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from connect.kafka.broker.embedded import Broker
from tests.support.waiting import until
from tests.support.worker_process import our_command

from .conversation import Ask, Wait
from .parties import java_command, party
from .talk import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

JSON = "org.apache.kafka.connect.json.JsonConverter"
SINK = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "tasks.max": "1",
    "file": "{folder}/out.txt",
    "key.converter": "org.apache.kafka.connect.converters.IntegerConverter",
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "header.converter": JSON,
    "header.converter.schemas.enable": "false",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}
HOUR_AGO = int(time.time() * 1000) - 3_600_000  # the broker deletes what is older than its topic keeps records
GOOD = (b"\x00\x00\x00\x01", b'{"a":1}')
#: Key, value, headers, timestamp of records; the ones that are bad, at some stage, are dead letters.
RECORDS: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]] = [
    (*GOOD, [], HOUR_AGO + 0),
    (GOOD[0], b'{"a":', [("x", b"1"), ("x", None), ("y", b"{}")], HOUR_AGO + 1),
    (b"\x00", GOOD[1], [], HOUR_AGO + 2),
    (None, GOOD[1], [("broken", b"{")], HOUR_AGO + 3),
    (b"\x00\x01", b"{", [("broken", b"{")], HOUR_AGO + 4),
    (None, b"", [], HOUR_AGO + 5),
    (GOOD[0], "ä".encode("utf-16"), [("", b"\xff")], HOUR_AGO + 6),
    (*GOOD, [], HOUR_AGO + 7),
]
#: What stands in headers that are each side's own words.
WORDS = {"__connect.errors.exception.message", "__connect.errors.exception.stacktrace"}


def test_the_same_records_make_the_same_dead_letters_as_in_java(
    broker: Broker, tmp_path: Path, cannot_have: Callable[[str, object], NoReturn]
) -> None:
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value, headers, timestamp in RECORDS:
        producer.produce(topic, value, key, headers=headers, timestamp=timestamp, partition=0)
    assert producer.flush(30) == 0
    found: dict[str, dict[str, Any]] = {}
    for side, command in (("java", java_command("standalone", cannot_have)), ("ours", our_command("standalone"))):
        dead, first, bare = (f"{topic}-{side}-{what}" for what in ("dead", "first", "bare"))
        with party(side, "standalone", command, tmp_path / side, broker.bootstrap_servers, {}) as worker:
            for name, config, becomes in (
                ("all", {"errors.deadletterqueue.topic.name": dead}, "RUNNING"),
                ("none", {"errors.deadletterqueue.topic.name": first, "errors.tolerance": "none"}, "FAILED"),
                (
                    "bare",
                    {
                        "errors.deadletterqueue.topic.name": bare,
                        "errors.deadletterqueue.context.headers.enable": "false",
                    },
                    "RUNNING",
                ),
            ):
                given = {**SINK, "topics": topic, **config, "file": f"{{folder}}/{name}.txt"}
                given["consumer.override.group.id"] = f"{side}-{topic}-{name}"  # of its own: both begin at the first
                task = Wait(f"/connectors/{name}/status", ("tasks", 0, "state"), becomes)
                answer = worker.ask(Ask(name, "PUT", f"/connectors/{name}/config", given))
                assert answer.status == 201, answer
                worker.wait(task)
            found[side] = {
                "all": letters(broker, dead, 5),
                "none": letters(broker, first, 1),
                "bare": letters(broker, bare, 5),
            }
    assert found["ours"] == found["java"]
    assert [letter[0] for letter in found["java"]["all"]] == [
        (key, value) for number, (key, value, _, _) in enumerate(RECORDS) if number not in (0, 5, 7)
    ]


def letters(broker: Broker, topic: str, count: int) -> list[Any]:
    """Key and value, timestamp and headers of all records of a topic, once there are so many."""
    reader = {"group.id": f"reader-{uuid.uuid4()}", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, **reader})
    try:
        deadline = time.monotonic() + PATIENCE
        until(
            lambda: consumer.list_topics(topic, timeout=10).topics[topic].partitions, PATIENCE, f"{topic} is not there"
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        messages: list[Message] = []
        while len(messages) < count:
            messages += [message for message in consumer.consume(count, 0.2) if message.error() is None]
            assert time.monotonic() < deadline, f"{topic} has {len(messages)} records of {count}"
        messages += [message for message in consumer.consume(count, 1) if message.error() is None]
    finally:
        consumer.close()
    return [
        (
            (message.key(), message.value()),
            message.timestamp(),
            [(key, b"words" if key in WORDS else value) for key, value in message.headers() or ()],
        )
        for message in messages
    ]
