"""Queries that write to any sink, and what tests ask of their targets."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from connect.kafka.broker.embedded import Broker
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.register import register_writer
from spark_sink.reading import ReadPlan, register
from tests.support import waiting

PLUGINS = str(Path(__file__).parent / "plugins")
STRING = "org.apache.kafka.connect.storage.StringConverter"
FILE = "connectors.file.sink:FileStreamSinkTask"


class ConnectorSinks:
    """Writes topics of a broker to sinks, in a shared Spark."""

    def __init__(self, spark: Any, broker: Broker, folder: Path) -> None:
        self.spark = spark
        self.servers = broker.bootstrap_servers
        self.folder = folder
        self.worker = {"bootstrap.servers": self.servers, "key.converter": STRING, "value.converter": STRING}
        self._queries = itertools.count()

    def plan(self, task: str, config: Mapping[str, str], **more: Any) -> WritePlan:
        """What a connector writes; `task` is one of the tests' plug-in, or "module:Class" of what is installed."""
        installed = ":" in task
        whole = {"name": f"sink-{self.folder.name}", **config}
        configs = {"task_config": whole, "connector_config": whole, "worker_config": self.worker}
        place = {"task": task if installed else f"spark_lines:{task}", "folder": None if installed else PLUGINS}
        return WritePlan(whole["name"], **{**place, **configs, "plugin_path": (PLUGINS,), **more})

    def start(self, topics: Sequence[str], plan: WritePlan, most: int = 0, tasks: int = 0) -> Any:
        """Begin a query, or go on with it where it was."""
        read = ReadPlan(plan.connector, tuple(topics), "", self.worker, plan.connector_config, most_records=most)
        rows = self.spark.readStream.format(register(self.spark, read)).load()
        rows = rows.coalesce(tasks) if tasks else rows
        writer = rows.writeStream.format(register_writer(self.spark, plan))
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()

    def produce(self, topic: str, values: Sequence[Any], partition: int = 0, **more: Any) -> None:
        """Write records, each acknowledged."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def lines(self, topic: str, partition: int = 0) -> list[list[Any]]:
        """What the tests' plug-in wrote of a partition: offset, value, number of the task."""
        file = self.folder / f"{topic}-{partition}.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def until(holds: Callable[[], Any], query: Any = None, seconds: float = 120.0) -> Any:
    """Wait until it holds; a query that ended is an error unless it holds then."""

    def found() -> Any:
        if (now := holds()) or query is None or query.isActive or (now := holds()):
            return now
        raise query.exception() or AssertionError("The query ended.")

    return waiting.until(found, seconds, every=0.05)


def failed(query: Any, seconds: float = 120.0) -> Exception:
    """What a query fails with."""
    until(lambda: not query.isActive, seconds=seconds)
    error: Exception | None = query.exception()
    assert error is not None
    return error


def twice(offsets: Sequence[int]) -> dict[int, int]:
    """Offsets that are there more than once."""
    return {offset: count for offset, count in Counter(offsets).items() if count > 1}
