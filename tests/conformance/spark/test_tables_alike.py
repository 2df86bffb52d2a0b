"""The Spark sink writes the same rows on both engines, for every transformation and converter."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from connect.kafka.broker.embedded import Broker
from spark_sink.query.shapes import TooEarly, shape_of
from spark_sink.reading import ReadPlan, register
from spark_sink.reading.plan import RowShape
from spark_sink.reading.sample import Sampler
from spark_sink.tables import TableSettings, TableWriter
from spark_sink.tables.batch_offsets import BatchOffsets
from tests.integration.spark_sink.conftest import session, shared_spark, spark
from tests.integration.worker.conftest import herd
from tests.unit.converters.registry.memory_registry import MemoryRegistry

from .cases import GROUPS, REGISTRY, Group, connector_config, of_registry
from .merges import MERGES
from .running import committed_everything, make, new_names

__all__ = ["herd", "session", "shared_spark", "spark"]

deltalake = pytest.importorskip("deltalake")

METADATA = "topic,partition,offset,timestamp"


@pytest.fixture(scope="module")
def memory_registry() -> Iterator[MemoryRegistry]:
    with MemoryRegistry() as running:
        yield running


def tables(folder: Path) -> dict[str, pa.Table]:
    """The tables in a folder, by name, with their rows in the order of their offsets.

    Of a table with the rows of several topics, the rows of each by the name of the topic.
    """
    found = {}
    for log in folder.rglob("_delta_log"):
        table = deltalake.DeltaTable(str(log.parent)).to_pyarrow_table()
        table = table.sort_by([("_partition", "ascending"), ("_offset", "ascending")])
        name = str(log.parent.relative_to(folder))
        if not name.startswith("several-"):
            found[name] = table
            continue
        for topic in table["_topic"].unique().to_pylist():
            found[topic] = table.filter(pc.equal(table["_topic"], topic))
    return found


def by_spark(
    spark: Any, topics: Mapping[str, str], config: Mapping[str, str], broker: Broker, folder: Path, routed: set[str]
) -> None:
    """Have Spark write all cases, a query for each shape of rows, one after the other.

    Args:
        routed: topics whose records go to another one: a query and tables for each.
    """
    worker = {"bootstrap.servers": broker.bootstrap_servers}
    settings = TableSettings.of({**config, "table": f"{folder}/${{topic}}"})
    shapes: dict[tuple[RowShape, str], list[str]] = {}
    for topic in topics.values():
        plan = ReadPlan(config["name"], (topic,), "", worker, config)
        sampler = Sampler(plan, "value", settings.wrap_key, events=settings.events)
        sample = sampler.look({}, None, lambda: None)
        sampler.close()
        try:
            shape = shape_of(topic, sample, settings)
        except TooEarly:
            continue
        shapes.setdefault((shape, topic if topic in routed else ""), []).append(topic)
    for number, ((shape, _), alike) in enumerate(shapes.items()):
        if len(alike) > 1:
            settings = TableSettings.of({**config, "table": f"{folder}/several-{number}"})
        else:
            settings = TableSettings.of({**config, "table": f"{folder}/${{topic}}"})
        plan = ReadPlan(config["name"], tuple(alike), "", worker, config)
        rows = spark.readStream.format(register(spark, replace(plan, rows=shape))).load()
        checkpoint = str(folder.with_name("checkpoints") / str(number))
        writes = TableWriter(settings, config["name"], f"alike/{number}", None, BatchOffsets(checkpoint, {}))
        writer = rows.writeStream.foreachBatch(writes).trigger(availableNow=True)
        query = writer.option("checkpointLocation", checkpoint).start()
        try:
            assert query.awaitTermination(120), alike
        finally:
            query.stop()


def offsets(table: pa.Table) -> set[tuple[str, int, int]]:
    """Where rows come from."""
    return set(zip(*(table[name].to_pylist() for name in ("_topic", "_partition", "_offset")), strict=True))


def noted(folder: Path, connector: str) -> set[tuple[str, int, int]]:
    """The offsets that the commits of the tables in a folder say they have."""
    found = set()
    for log in folder.rglob("_delta_log"):
        for commit in deltalake.DeltaTable(str(log.parent)).history():
            said = json.loads(commit.get("userMetadata") or "{}")
            assert said.get("connector", connector) == connector
            for topic, partitions in said.get("offsets", {}).items():
                for partition, (first, last) in partitions.items():
                    found |= {(topic, int(partition), offset) for offset in range(first or 0, last + 1)}
    return found


def told(table: pa.Table, other: pa.Table) -> pa.Table:
    """Without columns that hold nothing and that the other does not have: it has not seen the records with more."""
    wanted = [name for name in table.column_names if name in other.column_names or table[name].null_count < len(table)]
    return table.select(wanted)


def keys_beside_values(group: Group) -> Group:
    """The cases, a transformation of keys in one with that of values: each case is a query of seconds."""
    cases = dict(group.cases)
    for name, (of_key, records) in group.cases.items():
        beside = f"{name.removesuffix('k')}v"
        if name.endswith("k") and beside in cases and cases[beside][1] is records:
            cases[beside] = (cases[beside][0] + of_key, records)
            del cases[name]
    return Group(group.config, cases)


def compare(group: Group, topics: Mapping[str, str], spark: Any, herd: Any, broker: Broker, folder: Path) -> set[str]:
    """Run both; says which tables there are."""
    count = make(broker, group, topics)
    config = {
        **connector_config(group, topics),
        "name": f"tables-{uuid.uuid4().hex[:8]}",
        "topics": ",".join(topics.values()),
        "metadata.columns": METADATA,
        "trigger.interval.ms": "200",
    }
    of_worker = {"connector.class": "DeltaSinkConnector", "engine": "worker", "table": f"{folder}/worker/${{topic}}"}
    committed_everything(herd, {**config, **of_worker}, count, broker)
    expected = tables(folder / "worker")
    routed = {topic for name, table in expected.items() for topic in table["_topic"].to_pylist() if topic != name}
    by_spark(spark, topics, config, broker, folder / "spark", routed)
    found = tables(folder / "spark")
    assert found.keys() == expected.keys()
    for each in ("worker", "spark"):
        places = {place for table in (found, expected)[each == "worker"].values() for place in offsets(table)}
        assert places <= noted(folder / each, config["name"]), each
    for name, table in expected.items():
        mine, theirs = told(found[name], table), told(table, found[name])
        assert mine.to_pylist() == theirs.to_pylist(), name
        assert set(mine.schema) == set(theirs.schema), name
    return {name.rpartition("-")[0] for name in expected}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", GROUPS)
def test_rows_are_alike(name: str, spark: Any, herd: Any, broker: Broker, tmp_path: Path) -> None:
    group = GROUPS[name]
    if name == "json-declared":  # the same structs as with envelopes
        group = Group(group.config, {"none": group.cases["none"]})
    group = keys_beside_values(group)
    topics = new_names(group.cases)
    written = compare(group, topics, spark, herd, broker, tmp_path)
    assert "none" in written


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", REGISTRY)
def test_rows_of_converters_with_a_registry_are_alike(
    name: str, spark: Any, herd: Any, broker: Broker, tmp_path: Path, memory_registry: MemoryRegistry
) -> None:
    topics = new_names(["none"])
    group = of_registry(name, memory_registry.url, topics)
    assert compare(group, topics, spark, herd, broker, tmp_path) == {"none"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MERGES)
def test_merges_are_alike(name: str, spark: Any, herd: Any, broker: Broker, tmp_path: Path) -> None:
    group = MERGES[name]
    topics = new_names(group.cases)
    assert compare(group, topics, spark, herd, broker, tmp_path) == {"none"}
