"""The same configuration makes the same records on both engines, for every transformation and converter."""

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker
from connect.plugins import PluginKind
from connect.plugins.builtin import BUILT_IN
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.register import register_writer
from spark_sink.reading import ReadPlan, register
from tests.integration.spark_sink.conftest import session, shared_spark, spark
from tests.integration.worker.conftest import herd
from tests.unit.converters.registry.memory_registry import MemoryRegistry

from .cases import GROUPS, REGISTRY, Group, connector_config, of_registry
from .running import PARTITIONS, committed_everything, make, new_names

__all__ = ["herd", "session", "shared_spark", "spark"]

PLUGINS = str(Path(__file__).with_name("plugins"))
RECORDER = "recorder.RecorderSink"
#: Those of the cases above that are run with a registry as well.
WITH_REGISTRY = ("none", "castv", "flattenv", "insertv", "replacev", "timev", "extractk", "hoistv")

Lines = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def memory_registry() -> Iterator[MemoryRegistry]:
    with MemoryRegistry() as running:
        yield running


def lines(folder: Path, topics: Mapping[str, str]) -> Lines:
    """What the recorder wrote down, by case and partition."""
    found: Lines = {}
    for case, topic in topics.items():
        for partition in range(PARTITIONS):
            file = folder / f"{topic}-{partition}.jsonl"
            read = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
            found[f"{case}-{partition}"] = read
    return found


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
    theirs = {**config, "connector.class": RECORDER, "folder": str(folder / "worker")}
    committed_everything(herd, theirs, count, broker, PLUGINS)
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
