"""Queries that read topics and keep their rows, for the tests of reading."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from connect.data.schema import Schema
from connect.kafka.broker.embedded import Broker
from spark_sink.reading import ReadPlan, RowShape, register
from tests.support.waiting import until

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"


class Run:
    """One run of a query.

    Attributes:
        query: the StreamingQuery.
        batches: the rows of each batch, in order.
    """

    query: Any

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []

    def take(self, df: Any, batch: int) -> None:
        self.batches.append([row.asDict(recursive=True) for row in df.collect()])

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch]

    @property
    def offsets(self) -> list[int]:
        """Of all rows, in order."""
        return sorted(row["offset"] for row in self.rows)

    def until(self, holds: Callable[[], Any], seconds: float = 90.0) -> None:
        """Wait until it holds; a query that ended is an error."""

        def held() -> bool:
            if holds():
                return True
            if not self.query.isActive:
                raise self.query.exception() or AssertionError("The query ended.")
            return False

        until(held, seconds, lambda: f"It does not come to hold: {self.batches}", every=0.05)

    def until_read(self, count: int) -> None:
        """Wait until so many rows are read."""
        self.until(lambda: len(self.rows) >= count)

    def error(self, seconds: float = 90.0) -> Exception:
        """What it fails with."""
        until(lambda: not self.query.isActive, seconds, lambda: f"It does not fail: {self.batches}", every=0.05)
        error: Exception | None = self.query.exception()
        assert error is not None, self.batches
        return error


class Readings:
    """Reads topics of a broker in a shared Spark.

    Attributes:
        worker: the worker's configuration: JSON without schemas.
    """

    def __init__(self, spark: Any, broker: Broker, folder: Path) -> None:
        self.spark = spark
        self.servers = broker.bootstrap_servers
        self.folder = folder
        self.worker = {
            "bootstrap.servers": self.servers,
            "key.converter": STRING,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        }

    @contextmanager
    def told(self, key: str, value: str) -> Iterator[None]:
        """Spark with another setting for a while."""
        before = self.spark.conf.get(key)
        self.spark.conf.set(key, value)
        try:
            yield
        finally:
            self.spark.conf.set(key, before)

    def plan(
        self,
        *topics: str,
        values: Schema | None = None,
        shape: Mapping[str, Any] | None = None,
        config: Mapping[str, str] | None = None,
        **more: Any,
    ) -> ReadPlan:
        """What is read: raw records, or rows with these values."""
        rows = None if values is None else RowShape(values, **(shape or {}))
        whole = {"name": f"sink-{self.folder.name}", **(config or {})}
        return ReadPlan(whole["name"], topics, more.pop("pattern", ""), self.worker, whole, rows=rows, **more)

    def start(self, plan: ReadPlan, checkpoint: str = "checkpoint", **trigger: Any) -> Run:
        """Begin a query, or go on where it was. Without a trigger: one batch after another."""
        run = Run()
        return self.begin(run, plan, run.take, checkpoint, **trigger)

    def begin(
        self, run: Run, plan: ReadPlan, write: Callable[[Any, int], None], checkpoint: str, **trigger: Any
    ) -> Run:
        """Begin a query that hands its batches to a function."""
        rows = self.spark.readStream.format(register(self.spark, plan)).load()
        writer = rows.writeStream.foreachBatch(write)
        if trigger:
            writer = writer.trigger(**trigger)
        run.query = writer.option("checkpointLocation", str(self.folder / checkpoint)).start()
        return run

    def available(self, plan: ReadPlan, checkpoint: str = "checkpoint") -> Run:
        """Read what is there, to the end."""
        run = self.start(plan, checkpoint, availableNow=True)
        assert run.query.awaitTermination(120), run.batches
        return run

    def values(self, plan: ReadPlan) -> list[Any]:
        """The values of what is there, by their origin's order."""
        return [row["_value"] for row in self.available(plan).rows]

    def produce(self, topic: str, values: Sequence[Any], partition: int = 0, **more: Any) -> None:
        """Write records, each acknowledged; what is not bytes as JSON."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        for value in values:
            raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, raw, partition=partition, **more)
        assert producer.flush(60) == 0
