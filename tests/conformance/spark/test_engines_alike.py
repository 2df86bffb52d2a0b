"""The same configuration makes the same records on both engines, for every transformation and converter."""

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from connect.kafka.broker import Broker
from connect.plugins import PluginKind
from connect.plugins.builtin import BUILT_IN
from spark_sink.any_sink.plan import WritePlan
from spark_sink.any_sink.register import register_writer
from spark_sink.reading import ReadPlan, register
from tests.integration.errors.conftest import A_WHILE_AGO_MS
from tests.integration.spark.conftest import session, shared_spark, spark
from tests.integration.worker.conftest import herd
from tests.unit.converters.registry.memory_registry import MemoryRegistry

from .cases import GROUPS, REGISTRY, Group, connector_config, of_registry

__all__ = ["herd", "session", "shared_spark", "spark"]

PLUGINS = str(Path(__file__).with_name("plugins"))
RECORDER = "recorder.RecorderSink"
PARTITIONS = 2
#: Those of the cases above that are run with a registry as well.
WITH_REGISTRY = ("none", "castv", "flattenv", "insertv", "replacev", "timev", "extractk", "hoistv")

Lines = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def memory_registry() -> Iterator[MemoryRegistry]:
    with MemoryRegistry() as running:
        yield running


def new_names(cases: Any) -> dict[str, str]:
    """A topic for each case."""
    end = uuid.uuid4().hex[:8]
    return {case: f"{case}-{end}" for case in cases}


def make(broker: Broker, group: Group, topics: Mapping[str, str]) -> int:
    """Make the topics and their records, on two partitions in turn; says how many records."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for made in admin.create_topics([NewTopic(topic, PARTITIONS) for topic in topics.values()]).values():
        made.result(60)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 20})
    count = 0
    for case, (_, records) in group.cases.items():
        for number, record in enumerate(records):
            stamp = A_WHILE_AGO_MS + number
            # Doublets follow each other within a partition: what remembers records sees both, whoever reads what.
            partition = number * PARTITIONS // len(records)
            producer.produce(topics[case], record.value, record.key, partition, headers=record.headers, timestamp=stamp)
            count += 1
    assert producer.flush(60) == 0
    return count


def lines(folder: Path, topics: Mapping[str, str]) -> Lines:
    """What the recorder wrote down, by case and partition."""
    found: Lines = {}
    for case, topic in topics.items():
        for partition in range(PARTITIONS):
            file = folder / f"{topic}-{partition}.jsonl"
            read = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
            found[f"{case}-{partition}"] = read
    return found


def by_worker(herd: Any, config: Mapping[str, str], count: int, broker: Broker) -> None:
    """Have the worker's engine take all records."""
    run = herd(plugin__path=PLUGINS)
    name = config["name"]
    run.run(**{key.replace(".", "__"): value for key, value in {**config, "connector.class": RECORDER}.items()})
    topics = config["topics"].split(",")
    run.await_state(name, "RUNNING")
    run.until(lambda: committed(broker, name, topics) == count, lambda: run.task(name))
    assert run.state(name) == "RUNNING", run.task(name).trace


def committed(broker: Broker, name: str, topics: list[str]) -> int:
    """How many records the connector's group has behind it."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"connect-{name}"})
    try:
        places = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
        return sum(max(0, place.offset) for place in consumer.committed(places, timeout=30))
    finally:
        consumer.close()


def by_spark(spark: Any, config: Mapping[str, str], broker: Broker, checkpoint: Path) -> None:
    """Have Spark take all records."""
    worker = {"bootstrap.servers": broker.bootstrap_servers, "key.converter": "unset", "value.converter": "unset"}
    read = ReadPlan(config["name"], tuple(config["topics"].split(",")), "", worker, config)
    rows = spark.readStream.format(register(spark, read)).load().coalesce(2)
    plan = WritePlan(config["name"], "recorder:RecorderTask", PLUGINS, config, config, worker, (PLUGINS,))
    writer = rows.writeStream.format(register_writer(spark, plan)).option("checkpointLocation", str(checkpoint))
    query = writer.start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def compare(group: Group, topics: Mapping[str, str], spark: Any, herd: Any, broker: Broker, folder: Path) -> Lines:
    """Run both; says what both made."""
    count = make(broker, group, topics)
    config = {**connector_config(group, topics), "name": f"alike-{uuid.uuid4().hex[:8]}", "tasks.max": "1"}
    config["topics"] = ",".join(topics.values())
    for engine in ("worker", "spark"):
        (folder / engine).mkdir()
    by_worker(herd, {**config, "folder": str(folder / "worker")}, count, broker)
    by_spark(spark, {**config, "folder": str(folder / "spark")}, broker, folder / "checkpoint")
    theirs, ours = lines(folder / "worker", topics), lines(folder / "spark", topics)
    for place, expected in theirs.items():
        assert ours[place] == expected, place
    return theirs


@pytest.mark.parametrize(
    "name", [name if name == "strings" else pytest.param(name, marks=pytest.mark.slow) for name in GROUPS]
)
def test_every_transformation_and_converter_is_alike(
    name: str, spark: Any, herd: Any, broker: Broker, tmp_path: Path
) -> None:
    group = GROUPS[name]
    topics = new_names(group.cases)
    written = compare(group, topics, spark, herd, broker, tmp_path)
    empty = {case for case in group.cases if not any(written[f"{case}-{part}"] for part in range(PARTITIONS))}
    assert empty <= {"filter"}


@pytest.mark.slow
@pytest.mark.parametrize("name", REGISTRY)
def test_converters_with_a_registry_are_alike(
    name: str, spark: Any, herd: Any, broker: Broker, tmp_path: Path, memory_registry: MemoryRegistry
) -> None:
    topics = new_names(WITH_REGISTRY)
    group = of_registry(name, memory_registry.url, topics)
    written = compare(group, topics, spark, herd, broker, tmp_path)
    assert {case for case in topics if not written[f"{case}-0"]} == set()


def test_there_is_a_case_for_each_plug_in_that_comes_with_the_runtime() -> None:
    said = {
        value for group in GROUPS.values() for value in connector_config(group, dict.fromkeys(group.cases, "")).values()
    }
    said |= {cls for cls, _ in REGISTRY.values()}
    kinds = (PluginKind.TRANSFORMATION, PluginKind.PREDICATE, PluginKind.CONVERTER, PluginKind.HEADER_CONVERTER)
    missing = [ref.name for ref in BUILT_IN if ref.kind in kinds and not said.intersection({ref.name, *ref.aliases})]
    assert missing == []
