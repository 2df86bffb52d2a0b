"""`python -m bench.spark`: JSON into a Delta table on Spark, beside the same work written by hand, and without Spark.

One topic of two partitions, JSON of six fields; one field dropped, one renamed, a constant added; a Delta table.

    ours      the Spark engine's data source: converter and transformations run in its Python workers
    raw       by hand on the raw records of our data source: from_json and SQL expressions
    kafka     by hand on Spark's own Kafka source, where its jars are to be had: from_json and SQL expressions
    worker    the same connector with engine=worker: no Spark

Those on Spark share a session of local[2] and run in turn; the first round warms it up and does not count. Of the
others the second half of the records counts: Java has compiled by then what it will, and what a query's start costs is
over. The worker runs by itself. Rows are counted in the table; CPU is that of the whole process tree.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench import one
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.standalone import MeasurementFailed, Memory, end_of_log, failed, worker
from bench.tables import CPU, MEMORY, RATE, Figure, compare
from bench.topics import produce
from connect.jvm.jars import JarsUnavailable, resolve
from connect.kafka.broker import embedded as broker
from connect.telemetry import processes as tree

PARTITIONS = 2
BATCH = 1_000_000  # the connector's own default
WITHIN_S = 600.0  # seconds for a run of the connector
FIELDS = {"id": "int64", "name": "string", "city": "string", "amount": "double", "active": "boolean", "note": "string"}
_DDL = "id bigint, name string, city string, amount double, active boolean, note string"
_BY_HAND = ("v.id", "v.name AS customer", "v.city", "v.amount", "v.active", "'kafka' AS source")


def connector(topic: str, table: str) -> dict[str, str]:
    """What the connector is told, on either engine."""
    schema = {"type": "struct", "fields": [{"field": name, "type": kind} for name, kind in FIELDS.items()]}
    place = "org.apache.kafka.connect.transforms"
    return {
        "name": "bench",
        "connector.class": "SparkSink",
        "topics": topic,
        "table": table,
        "consumer.override.auto.offset.reset": "earliest",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
        "value.converter.schema.content": json.dumps(schema),
        "transforms": "replace,insert",
        "transforms.replace.type": f"{place}.ReplaceField$Value",
        "transforms.replace.exclude": "note",
        "transforms.replace.renames": "name:customer",
        "transforms.insert.type": f"{place}.InsertField$Value",
        "transforms.insert.static.field": "source",
        "transforms.insert.static.value": "kafka",
    }


def values(count: int) -> Iterator[bytes]:
    """So many records."""
    for number in range(count):
        row = {
            "id": number,
            "name": f"customer {number % 1000}",
            "city": "Zürich" if number % 2 else "Bern",
            "amount": number / 4,
            "active": number % 3 == 0,
            "note": "x" * 20,
        }
        yield json.dumps(row).encode()


class Mark(NamedTuple):
    """When a table was seen to have so many versions, and how much CPU was used by then."""

    versions: int
    at: float
    cpu: float


@contextmanager
def watched(table: Path, pid: int) -> Iterator[list[Mark]]:
    """What is seen of a table while it is written: a mark for each moment at which it had more versions."""
    marks: list[Mark] = []
    ended = threading.Event()

    def watch() -> None:
        while True:
            last = ended.wait(0.02)  # one more look when all is written
            versions = sum(1 for _ in table.glob("_delta_log/*.json"))
            if versions > (marks[-1].versions if marks else 0):
                marks.append(Mark(versions, time.monotonic(), tree.cpu(pid)))
            if last:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield marks
    finally:
        ended.set()
        watcher.join()


class Pass(NamedTuple):
    """What one pass over the topic took.

    Attributes:
        rows: of the table in the end.
        first: when the first rows were committed, by the clock of `time.monotonic`.
        half: the figures of the second half.
    """

    rows: int
    first: float
    half: dict[str, float]

    @classmethod
    def of(cls, marks: list[Mark], table: Path) -> "Pass":
        """Of a table that is written."""
        from deltalake import DeltaTable

        counts = [DeltaTable(table, version=mark.versions - 1).count() for mark in marks]
        total = counts[-1]
        first = next(number for number, rows in enumerate(counts) if rows)
        half = next(number for number, rows in enumerate(counts) if rows >= total / 2)
        rows, begin, end = total - counts[half], marks[half], marks[-1]
        if not rows:
            raise MeasurementFailed("more than half of the table was there at the first look: take more records")
        seconds, used = end.at - begin.at, end.cpu - begin.cpu
        figures = {"records": rows, "seconds": seconds, "rate": rows / seconds, "cpu_s": used}
        return cls(total, marks[first].at, {**figures, "cpu_us": used / rows * 1e6})


class OnSpark:
    """The ways that need Spark, in one session."""

    def __init__(self, bootstrap: str, topic: str, folder: Path, ways: list[str], batch: int) -> None:
        from spark_sink.session import open_session

        conf = {"spark.master": "local[2]", "spark.driver.memory": "2g"}
        if "kafka" in ways:
            conf["spark.jars"] = ",".join(map(str, resolve("spark-kafka")))
        began = time.monotonic()
        self.session = open_session(conf, "bench")
        say(f"Spark's session is there after {time.monotonic() - began:.1f} s")
        self._bootstrap, self._topic, self._folder, self._batch = bootstrap, topic, folder, batch
        self._worker = {"bootstrap.servers": bootstrap}

    def run(self, way: str) -> Pass:
        """One pass over the topic into a new table."""
        shutil.rmtree(self._folder / "spark", ignore_errors=True)
        table, checkpoint = str(self._folder / "spark" / "table"), str(self._folder / "spark" / "checkpoint")
        rows = getattr(self, f"_{way}")()
        writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint).trigger(availableNow=True)
        with watched(Path(table), os.getpid()) as marks:
            writer.start(table).awaitTermination()
        return Pass.of(marks, Path(table))

    def _ours(self) -> Any:
        from spark_sink.reading import ReadPlan, RowShape, register
        from spark_sink.reading.sample import Sampler

        config = connector(self._topic, "")
        sampler = Sampler(ReadPlan("bench", (self._topic,), "", self._worker, config), "value", "key")
        sample = sampler.look({}, None, lambda: None)
        sampler.close()
        assert sample.values is not None
        plan = ReadPlan(
            *("bench", (self._topic,), "", self._worker, config),
            rows=RowShape(sample.values),
            parts=2,
            most_records=self._batch,
        )
        return self.session.spark.readStream.format(register(self.session.spark, plan)).load().select("_value.*")

    def _raw(self) -> Any:
        from spark_sink.reading import ReadPlan, register

        config = connector(self._topic, "")
        plan = ReadPlan("bench", (self._topic,), "", self._worker, config, most_records=self._batch)
        return _by_hand(self.session.spark.readStream.format(register(self.session.spark, plan)).load())

    def _kafka(self) -> Any:
        source = self.session.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        source = source.option("subscribe", self._topic).option("startingOffsets", "earliest")
        return _by_hand(source.option("maxOffsetsPerTrigger", self._batch).load())


def _by_hand(raw: Any) -> Any:
    from pyspark.sql import functions

    parsed = functions.from_json(functions.col("value").cast("string"), _DDL)
    return raw.select(parsed.alias("v")).selectExpr(*_BY_HAND)


def by_connector(bootstrap: str, topic: str, folder: Path, engine: str, count: int, batch: int) -> dict[str, float]:
    """A whole run of the connector: until its first commit, and from there to the end.

    Rate and CPU of records are those of the second half.
    """
    table = folder / "table"
    config = {**connector(topic, str(table)), "name": folder.name, "engine": engine, "trigger.interval.ms": "0"}
    config |= {"spark.master": "local[2]", "spark.driver.memory": "2g", "max.records.per.batch": str(batch)}
    converters = {key: config[key] for key in ("key.converter", "value.converter")}
    with (
        worker("ours", bootstrap, folder, config, converters) as pid,
        Memory(pid) as memory,
        watched(table, pid) as marks,
    ):
        began = time.monotonic()
        while (rows := _rows(table)) < count:
            if failed(pid) or time.monotonic() - began > WITHIN_S:
                raise MeasurementFailed(
                    f"engine={engine} wrote {rows:,} of {count:,} rows: {end_of_log(folder / 'log')}"
                )
            time.sleep(0.2)
    whole = Pass.of(marks, table)
    return {
        **whole.half,
        "pss_mb": memory.most,
        "first_s": whole.first - began,
        "whole_s": marks[-1].at - began,
        "whole_cpu_s": marks[-1].cpu,
    }


def _rows(table: Path) -> int:
    from deltalake import DeltaTable

    return int(DeltaTable(table).count()) if any(table.glob("_delta_log/*.json")) else 0


def archive_classes() -> None:
    """What the first task on a machine has done in the background, so that all sessions start as they do from then on.

    Raises:
        MeasurementFailed: it fails.
    """
    say("Spark's classes are archived, unless they are")
    program = [sys.executable, "-W", "ignore", "-m", "spark_sink.session.archiving"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MeasurementFailed(f"Spark's classes were not archived: {done.stderr[-500:]}")


def measure(settings: Settings) -> dict[str, Any]:
    """Everything on Spark in one session, then the connector on either engine in turn."""
    archive_classes()
    count, rounds = settings.count(8_000_000, 80_000), settings.repeat()
    batch = min(BATCH, count // 4)
    rows = Rows({"ours": ["raw", "kafka"], "worker": ["spark"]})
    ways = ["ours", "raw"]
    try:
        resolve("spark-kafka")
        ways.append("kafka")
    except JarsUnavailable as error:
        say(f"without Spark's own Kafka source: {error}")
    try:
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        say(f"filling a topic with {count:,} records")
        produce(
            bootstrap,
            "orders",
            values(count),
            key=lambda number: b"%d" % (number % 5000),
            partitions=PARTITIONS,
            settings={"batch.size": 16384},
        )
        if settings.wants("delta"):
            _on_spark(bootstrap, settings.folder, ways, count, batch, rounds, rows)
        for number, engine in ((each, engine) for each in range(rounds) for engine in ("worker", "spark")):
            if settings.wants("connector"):
                found = by_connector(bootstrap, "orders", settings.folder / f"{engine}-{number}", engine, count, batch)
                say(f"engine={engine}: " + ", ".join(f"{key} {value:,.1f}" for key, value in found.items()))
                rows.add("connector", engine, found, number)
    finally:
        broker.stop(settings.folder / "broker")
    return {
        "settings": {"rounds": rounds, "records": count, "batch": batch},
        "versions": versions("pyspark", "delta-spark", "deltalake", "pyarrow", "connect-runtime", "confluent-kafka"),
        "rows": rows.as_json(),
    }


def _on_spark(bootstrap: str, folder: Path, ways: list[str], count: int, batch: int, rounds: int, rows: Rows) -> None:
    """One pass of each way to warm up, then the rounds."""
    spark = OnSpark(bootstrap, "orders", folder, ways, batch)
    try:
        for number in range(-1, rounds):
            for way in ways:
                with Memory(os.getpid()) as memory:
                    done = spark.run(way)
                if done.rows != count:
                    raise MeasurementFailed(f"{way} wrote {done.rows:,} rows of {count:,}")
                found = {**done.half, "pss_mb": memory.most}
                note = "" if number >= 0 else "   (warming up)"
                say(f"{way:6} {found['rate']:>10,.0f} records/s  {found['cpu_us']:6.2f} us of CPU a record{note}")
                if number >= 0:
                    rows.add("delta", way, found, number)
    finally:
        spark.session.close()


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    figures = (RATE, CPU, MEMORY)
    engine = ("ours", "the Spark engine")
    connectors = (*figures, Figure("first_s", "first commit after a cold start, s", "{:.1f}"))
    tables = [
        compare(document, {"delta": ""}, figures, ("raw", "by hand, our source"), engine),
        compare(document, {"delta": ""}, figures, ("kafka", "by hand, Spark's own source"), engine),
        compare(document, {"connector": ""}, connectors, ("spark", "engine=spark"), ("worker", "engine=worker")),
    ]
    return "\n\n".join(tables)


if __name__ == "__main__":
    sys.exit(one.main("bench.spark", "spark"))
