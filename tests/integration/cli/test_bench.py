"""`connect bench` on a real broker: what it measures, what it names as the bottleneck, what it leaves behind."""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from connect.kafka.broker.embedded import Broker
from tests.support.groups import group_ids

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SLOW = """
import time
from connect import SinkTask, SinkConnector
from connect.settings import Definition

class SlowTask(SinkTask):
    def put(self, batch):
        time.sleep(len(batch) / 20_000)

class SlowSink(SinkConnector):
    settings = Definition()
    task = SlowTask
"""


class Bench:
    """Runs the command in a folder."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder = folder
        self._broker = broker
        (folder / "slow_sink.py").write_text(SLOW)
        (folder / "worker.properties").write_text(
            f"bootstrap.servers={broker.bootstrap_servers}\nplugin.path=.\noffset.storage.file.filename=never-made\n"
            "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
            "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
        )

    def __call__(self, name: str, config: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        (self.folder / f"{name}.json").write_text(json.dumps({"name": name, "config": config}))
        command = [sys.executable, "-m", "connect.cli", "bench", "worker.properties", f"{name}.json", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=200)

    def left_behind(self, name: str) -> list[str]:
        admin = AdminClient({"bootstrap.servers": self._broker.bootstrap_servers})
        topics = list(admin.list_topics(timeout=20).topics)
        groups = group_ids(self._broker.bootstrap_servers)
        return [each for each in (*topics, *groups) if f"bench-{name}-" in each]


@pytest.fixture
def bench(tmp_path: Path, broker: Broker) -> Bench:
    return Bench(tmp_path, broker)


@pytest.fixture
def name() -> str:
    return f"b{uuid.uuid4().hex[:6]}"


def fill(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, json.dumps({"id": number, "text": "x" * 50}).encode())
        if number % 10_000 == 0:
            producer.flush()
    assert producer.flush(60) == 0


def test_a_sink_is_measured_and_nothing_is_left_but_what_it_wrote(bench: Bench, broker: Broker, name: str) -> None:
    fill(broker, name, 1_000_000)
    config = {"connector.class": "FileStreamSink", "topics": name, "file": str(bench.folder / "out.txt")}
    done = bench(name, config, "--yes", "--records", "900000")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name}: sink, 1 task, ")
    for wanted in ("value converter: JsonConverter", "put", "waiting for records of Kafka", "bottleneck: ", "next: "):
        assert wanted in done.stdout
    assert bench.left_behind(name) == []
    assert not (bench.folder / "never-made").exists()
    assert (bench.folder / "out.txt").stat().st_size > 1_000_000


def test_what_waits_for_its_target_is_named(bench: Bench, broker: Broker, name: str) -> None:
    fill(broker, name, 100_000)
    done = bench(name, {"connector.class": "SlowSink", "topics": name}, "--yes", "--seconds", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bottleneck"].startswith("put and pre_commit: ")
    assert found["bottleneck"].endswith("it waits for its target.")
    assert found["shares"]["put"] > 0.5
    assert found["records_per_second"] > 0


def test_a_source_writes_into_a_topic_of_its_own(bench: Bench, broker: Broker, name: str) -> None:
    config = {"connector.class": "Datagen", "kafka.topic": name, "quickstart": "users", "max.interval": "0"}
    done = bench(name, config, "--seconds", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "source"
    assert found["records"] > 1000
    assert {"poll", "sending to Kafka"} <= set(found["shares"])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    assert name not in admin.list_topics(timeout=20).topics
    assert bench.left_behind(name) == []


def test_what_fails_is_said(bench: Bench, broker: Broker, name: str) -> None:
    fill(broker, name, 10)
    config = {"connector.class": "FileStreamSink", "topics": name, "file": "/proc/no/such"}
    done = bench(name, config, "--yes")
    assert done.returncode == 1
    assert "/proc/no/such" in done.stderr
    assert bench.left_behind(name) == []


def test_a_sink_writes_only_where_somebody_agrees(bench: Bench, name: str) -> None:
    done = bench(name, {"connector.class": "FileStreamSink", "topics": name, "file": "out.txt"})
    assert done.returncode == 2
    assert "will write to its target" in done.stderr
    assert not (bench.folder / "out.txt").exists()
