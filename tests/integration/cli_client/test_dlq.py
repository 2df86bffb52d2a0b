"""Dead letters of a real sink, of Java's worker and of ours: seen, fixed and replayed until the sink takes them."""

import json
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer

pytestmark = pytest.mark.slow

#: Brokers take no records of the future, and do not keep old ones.
BEGAN = int(time.time() * 1000) - 60_000
HEADERS = [("trace", b"abc"), ("trace", None), ("raw", b"\xff")]


@pytest.fixture
def name():
    return f"letters-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def sink(connect, name, broker, new_topic):
    """A sink that took one record and gave up three; its file, and the options that lead to its dead letters."""
    topic = new_topic(partitions=2, name=name)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    good = json.dumps({"schema": {"type": "string"}, "payload": "good"})
    for number, value in enumerate([good, '{"id": "5", "price": 1.50}', "{", b"\xff\xfe"]):
        producer.produce(topic, value, f"k{number}", 1, headers=HEADERS, timestamp=BEGAN + number)
    assert producer.flush(30) == 0
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": topic,
        "file": str(connect.folder / "out.txt"),
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{name}-dlq",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    connect("apply", "-f", connect.write("sink.json", {"name": name, "config": config}), "--yes")
    # Java's worker does not answer for dead letters; its topic is read from here.
    there = [] if connect.hides_secrets else ["--bootstrap-server", broker.bootstrap_servers]

    def kept():
        found = connect.run("dlq", "list", name, "--json", *there)
        return found.returncode == 0 and len(json.loads(found.stdout)["letters"]) == 3

    connect.until(kept)
    return Path(config["file"]), there


def test_dead_letters_are_found_shown_and_grouped(connect, name, sink, broker):
    _, there = sink
    found = json.loads(connect("dlq", "list", name, "--json", *there))
    assert [(one["key"]["text"], one["error"]["offset"]) for one in found["letters"]] == [
        ("k3", 3),
        ("k2", 2),
        ("k1", 1),
    ]
    assert connect("dlq", "list", name, "--key", "k2", *there).count("VALUE_CONVERTER") == 1
    assert connect("dlq", "list", name, "--stage", "TRANSFORMATION", *there) == f"{name}-dlq has none of them\n"
    groups = json.loads(connect("dlq", "list", name, "--group", "--json", *there))
    assert sum(group["count"] for group in groups["groups"]) == 3
    place = f"{found['letters'][2]['partition']}:{found['letters'][2]['offset']}"
    shown = connect("dlq", "show", name, place, *there)
    assert f"from         {name}-1@1\n" in shown
    assert '\nvalue        26 bytes\n  {\n    "id": "5",\n    "price": 1.50\n  }\n' in shown
    assert 'header       trace = "abc"\nheader       trace = null\nheader       raw = 0xff\n' in shown
    assert "stack trace\n  " in shown
    assert "  converted  JsonConverter fails: DataError: " in shown
    by_topic = ["--topic", f"{name}-dlq", "--bootstrap-server", broker.bootstrap_servers]
    assert connect("dlq", "show", place, *by_topic).startswith(f"dead letter  {name}-dlq {place}, ")


def test_what_is_mended_is_taken_by_the_sink_and_nothing_is_replayed_twice(connect, name, sink, broker, read):
    file, there = sink
    edits = ["--set", 'schema={"type": "string"}', "--set", "payload=fixed", "--unset", "id", "--unset", "price"]
    assert connect("dlq", "replay", name, "--key", "k1", *edits, "--dry-run", *there).endswith("1 would be replayed\n")
    assert connect("dlq", "replay", name, "--key", "k1", *edits, *there).endswith(f"-> {name}-1@4\n1 replayed\n")
    connect.until(lambda: file.read_text() == "good\nfixed\n")
    again = connect("dlq", "replay", name, "--key", "k1", *edits, *there)
    assert again == "0 replayed, 1 were replayed before (--again replays them, too)\n"
    *_, replayed = sorted(read(broker.bootstrap_servers, name, 5), key=lambda message: message.offset())
    assert (replayed.key(), replayed.headers(), replayed.timestamp()[1]) == (b"k1", HEADERS, BEGAN + 1)
    fixed = {"schema": {"type": "string"}, "payload": "fixed"}
    assert json.loads(replayed.value()) == fixed


def test_bytes_come_back_to_the_letter(connect, name, sink, broker, read):
    _, there = sink
    assert connect("dlq", "replay", name, *there).endswith("3 replayed\n")
    found = sorted(read(broker.bootstrap_servers, name, 7), key=lambda message: message.offset())
    assert len(found) == 7
    before = {message.key(): (message.value(), message.headers(), message.timestamp()) for message in found[:4]}
    for message in found[4:]:
        assert before[message.key()] == (message.value(), message.headers(), message.timestamp())
