"""`connect bench` on a real broker: what it measures, what it names as the bottleneck, what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from connect.kafka.broker.embedded import Broker
from tests.support.groups import group_ids
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COPY = """
from connect import SourceConnector, SourceRecord, SourceTask

class CopyTask(SourceTask):
    def start(self, config):
        self.topic = config["topics"]

    def poll(self):
        return [SourceRecord(self.topic, "x")] * 100

class Copy(SourceConnector):
    task = CopyTask
"""
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
        (folder / "copy_source.py").write_text(COPY)
        (folder / "worker.properties").write_text(
            f"bootstrap.servers={broker.bootstrap_servers}\nplugin.path=.\noffset.storage.file.filename=never-made\n"
            "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
            "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
        )

    def __call__(self, name: str, config: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        command = self.command(name, config, *words)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=200)

    def command(self, name: str, config: dict[str, str], *words: str) -> list[str]:
        (self.folder / "connector.json").write_text(json.dumps({"name": name, "config": config}))
        return [sys.executable, "-m", "connect.cli", "bench", "worker.properties", "connector.json", *words]

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


def test_a_source_with_a_key_of_sinks_writes_into_a_topic_of_its_own(bench: Bench, broker: Broker, name: str) -> None:
    done = bench(f"{name} of $1", {"connector.class": "Copy", "topics": f"{name}-target"}, "--seconds", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "source"
    topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=20).topics
    assert [topic for topic in topics if name in topic] == []


def test_the_file_of_a_worker_of_a_pool_is_taken_as_well(bench: Bench, broker: Broker, name: str) -> None:
    file = bench.folder / "worker.properties"
    keys = "".join(f"{kind}.storage.topic={name}-{kind}\n" for kind in ("config", "offset", "status"))
    file.write_text(
        file.read_text().replace("offset.storage.file.filename=never-made\n", f"group.id={name}-pool\n{keys}")
    )
    config = {"connector.class": "Datagen", "kafka.topic": name, "quickstart": "users", "max.interval": "0"}
    done = bench(name, config, "--seconds", "1.5", "--json")
    assert done.returncode == 0, done.stderr
    topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=20).topics
    assert [topic for topic in topics if name in topic] == []
    assert f"{name}-pool" not in group_ids(broker.bootstrap_servers)


def test_a_sink_uses_neither_the_group_nor_the_dead_letters_of_its_usual_run(
    bench: Bench, broker: Broker, name: str
) -> None:
    fill(broker, name, 500_000)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    usual = ConsumerGroupTopicPartitions(f"{name}-group", [TopicPartition(name, 0, 7)])
    admin.alter_consumer_group_offsets([usual])[usual.group_id].result(20)
    config = {
        "connector.class": "FileStreamSink",
        "topics": name,
        "file": str(bench.folder / "out.txt"),
        "consumer.override.group.id": usual.group_id,
        "consumer.override.auto.offset.reset": "none",
        "errors.deadletterqueue.topic.name": f"{name}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    with (bench.folder / "worker.properties").open("a") as worker:
        worker.write("connector.client.config.override.policy=None\n")
    done = bench(name, config, "--yes", "--records", "400000")
    assert done.returncode == 0, done.stderr
    (after,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(usual.group_id)]).values()
    assert [each.offset for each in after.result(20).topic_partitions] == [7]
    assert (bench.folder / "out.txt").read_text().startswith("{id=0,")  # from the first record on
    assert f"{name}-dead" not in admin.list_topics(timeout=20).topics


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_behind_when_it_is_told_to_end(bench: Bench, name: str, number: signal.Signals) -> None:
    config = {"connector.class": "Datagen", "kafka.topic": name, "quickstart": "users", "max.interval": "0"}
    environment = {**os.environ, "TMPDIR": str(bench.folder / "tmp")}
    (bench.folder / "tmp").mkdir()
    running = subprocess.Popen(bench.command(name, config), cwd=bench.folder, env=environment)
    until(lambda: bool(bench.left_behind(name)), 60)
    until(lambda: any((bench.folder / "tmp").glob("*/worker.log")), 60)
    running.send_signal(number)
    assert running.wait(60) == 128 + number
    assert bench.left_behind(name) == []
    assert list((bench.folder / "tmp").glob("connect-bench-*")) == []


def test_what_fails_is_said(bench: Bench, broker: Broker, name: str) -> None:
    fill(broker, name, 10)
    config = {"connector.class": "FileStreamSink", "topics": name, "file": "/proc/no/such"}
    done = bench(name, config, "--yes")
    assert done.returncode == 1
    assert "/proc/no/such" in done.stderr
    assert bench.left_behind(name) == []


def test_what_is_wrong_with_a_configuration_is_said(bench: Bench, name: str) -> None:
    config = {"connector.class": "Datagen", "kafka.topic": name, "quickstart": "users", "tasks.max": "many"}
    done = bench(name, config)
    assert done.returncode == 1
    assert 'key "tasks.max": "many" is not a whole number.' in done.stderr
    assert bench.left_behind(name) == []


def test_placeholders_have_values_and_one_without_is_an_error(bench: Bench, name: str) -> None:
    (bench.folder / "a.yaml").write_text("name: ${{ stage }}-a\nconfig: {connector.class: Datagen, topics: t}\n")
    command = [sys.executable, "-m", "connect.cli", "bench", "worker.properties", "a.yaml"]
    done = subprocess.run(command, cwd=bench.folder, capture_output=True, text=True, check=False, timeout=200)
    said = 'connector "${{ stage }}-a", key "name": ${{ stage }} has no value. Give it by --values FILE.'
    assert (done.returncode, done.stderr) == (2, f"a.yaml:1: {said}\nconnect: 1 error; nothing was started.\n")


def test_a_key_that_set_replaces_needs_no_value_for_its_placeholder(bench: Bench) -> None:
    (bench.folder / "a.yaml").write_text("name: a\nconfig: {connector.class: '${{ plug }}', topics: t}\n")
    command = [sys.executable, "-m", "connect.cli", "bench", "worker.properties", "a.yaml", "--set"]
    command.append("connector.class=FileStreamSink")
    done = subprocess.run(command, cwd=bench.folder, capture_output=True, text=True, check=False, timeout=200)
    assert done.stderr.startswith("connect: a will write to its target. Run it?")


def test_a_sink_writes_only_where_somebody_agrees(bench: Bench, name: str) -> None:
    done = bench(name, {"connector.class": "FileStreamSink", "topics": name, "file": "out.txt"})
    assert done.returncode == 1
    assert "will write to its target" in done.stderr
    assert not (bench.folder / "out.txt").exists()
