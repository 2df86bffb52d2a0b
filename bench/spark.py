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

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench import tree
from bench.machine import introduce, say
from bench.workers import free_port
from connect.jvm.jars import JarsUnavailable, resolve
from connect.kafka.broker import ensure_running, stop

RECORDS = 8_000_000
PARTITIONS = 2
BATCH = 1_000_000  # the connector's own default
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


def fill(bootstrap: str, topic: str, records: int) -> None:
    """Make the topic."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})  # a name keeps it: it answers nothing once it is gone
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 16384})
    for number in range(records):
        row = {
            "id": number,
            "name": f"customer {number % 1000}",
            "city": "Zürich" if number % 2 else "Bern",
            "amount": number / 4,
            "active": number % 3 == 0,
            "note": "x" * 20,
        }
        value = json.dumps(row).encode()
        while True:
            try:
                producer.produce(topic, value, key=b"%d" % (number % 5000), partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


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
        rate: records a second in the second half.
        us: microseconds of CPU a record in the second half.
        first: when the first rows were committed, by the clock of `time.monotonic`.
    """

    rows: int
    rate: float
    us: float
    first: float

    @classmethod
    def of(cls, marks: list[Mark], table: Path) -> Pass:
        """Of a table that is written."""
        from deltalake import DeltaTable

        counts = [DeltaTable(table, version=mark.versions - 1).count() for mark in marks]
        total = counts[-1]
        first = next(number for number, rows in enumerate(counts) if rows)
        half = next(number for number, rows in enumerate(counts) if rows >= total / 2)
        rows, begin, end = total - counts[half], marks[half], marks[-1]
        return cls(total, rows / (end.at - begin.at), (end.cpu - begin.cpu) / rows * 1e6, marks[first].at)


class OnSpark:
    """The ways that need Spark, in one session."""

    def __init__(self, bootstrap: str, topic: str, folder: Path, ways: list[str]) -> None:
        from spark_sink.session import open_session

        conf = {"spark.master": "local[2]", "spark.driver.memory": "2g"}
        if "kafka" in ways:
            conf["spark.jars"] = ",".join(map(str, resolve("spark-kafka")))
        began = time.monotonic()
        self.session = open_session(conf, "bench")
        say(f"Spark's session is there after {time.monotonic() - began:.1f} s")
        self._bootstrap, self._topic, self._folder = bootstrap, topic, folder
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
            most_records=BATCH,
        )
        return self.session.spark.readStream.format(register(self.session.spark, plan)).load().select("_value.*")

    def _raw(self) -> Any:
        from spark_sink.reading import ReadPlan, register

        config = connector(self._topic, "")
        plan = ReadPlan("bench", (self._topic,), "", self._worker, config, most_records=BATCH)
        return _by_hand(self.session.spark.readStream.format(register(self.session.spark, plan)).load())

    def _kafka(self) -> Any:
        source = self.session.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        source = source.option("subscribe", self._topic).option("startingOffsets", "earliest")
        return _by_hand(source.option("maxOffsetsPerTrigger", BATCH).load())


def _by_hand(raw: Any) -> Any:
    from pyspark.sql import functions

    parsed = functions.from_json(functions.col("value").cast("string"), _DDL)
    return raw.select(parsed.alias("v")).selectExpr(*_BY_HAND)


@contextmanager
def connect_standalone(
    bootstrap: str, folder: Path, config: Mapping[str, str], worker: Mapping[str, str]
) -> Iterator[int]:
    """A worker with one connector; its process id."""
    import subprocess

    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "bootstrap.servers": bootstrap,
        "offset.storage.file.filename": str(folder / "offsets"),
        "listeners": f"http://127.0.0.1:{free_port()}",
        "key.converter": config["key.converter"],
        "value.converter": config["value.converter"],
        **worker,
    }
    for name, values in (("worker.properties", settings), ("sink.properties", config)):
        (folder / name).write_text("".join(f"{key}={value}\n" for key, value in values.items()), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "connect.cli", "standalone", "worker.properties", "sink.properties"],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def by_connector(bootstrap: str, topic: str, folder: Path, engine: str, name: str) -> dict[str, float]:
    """A whole run of the connector: until its first commit, and from there to the end.

    Rate and CPU of records are those of the second half.
    """
    table = folder / "table"
    config = {**connector(topic, str(table)), "name": name, "engine": engine, "trigger.interval.ms": "0"}
    config |= {"spark.master": "local[2]", "spark.driver.memory": "2g", "max.records.per.batch": str(BATCH)}
    began = time.monotonic()
    with connect_standalone(bootstrap, folder, config, {}) as pid, watched(table, pid) as marks:
        while _rows(table) < RECORDS:
            if time.monotonic() - began > 600:
                raise TimeoutError((folder / "log").read_text(encoding="utf-8")[-3000:])
            time.sleep(0.2)
    whole = Pass.of(marks, table)
    return {
        "first commit, s": whole.first - began,
        "records/s": whole.rate,
        "us": whole.us,
        "whole, s": marks[-1].at - began,
        "whole CPU, s": marks[-1].cpu,
    }


def _rows(table: Path) -> int:
    from deltalake import DeltaTable

    return int(DeltaTable(table).count()) if any(table.glob("_delta_log/*.json")) else 0


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="that count (default: 3)")
    parser.add_argument("--warm", type=int, default=1, help="that warm up (default: 1)")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    introduce()
    ways = ["ours", "raw"]
    try:
        resolve("spark-kafka")
        ways.append("kafka")
    except JarsUnavailable as error:
        say(f"without Spark's own Kafka source: {error}")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="connect-bench-") as name:
        folder = Path(name)
        broker = ensure_running(folder / "broker", port=0)
        try:
            say(f"filling a topic with {RECORDS:,} records")
            fill(broker.bootstrap_servers, "orders", RECORDS)
            figures |= _on_spark(broker.bootstrap_servers, folder, ways, args.warm, args.rounds)
            for engine in ("worker", "spark"):
                runs = []
                for number in range(args.rounds if engine == "worker" else 1):
                    where = folder / f"{engine}-{number}"
                    made = by_connector(broker.bootstrap_servers, "orders", where, engine, f"{engine}-{number}")
                    say(f"engine={engine}: " + ", ".join(f"{key} {value:,.1f}" for key, value in made.items()))
                    runs.append(made)
                figures[f"engine={engine}"] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        finally:
            stop(folder / "broker")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    print(json.dumps(figures, indent=2))


def _on_spark(bootstrap: str, folder: Path, ways: list[str], warm: int, rounds: int) -> dict[str, Any]:
    spark = OnSpark(bootstrap, "orders", folder, ways)
    figures: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    try:
        for number in range(warm + rounds):
            for way in ways:
                done = spark.run(way)
                if done.rows != RECORDS:
                    raise AssertionError(f"{way} wrote {done.rows:,} rows of {RECORDS:,}")
                note = "" if number >= warm else "   (warming up)"
                say(f"{way:6} {done.rate:>10,.0f} records/s  {done.us:6.2f} us of CPU a record{note}")
                if number >= warm:
                    figures[way].append((done.rate, done.us))
    finally:
        spark.session.close()
    median: Callable[[list[float]], float] = statistics.median
    return {
        way: {"records/s": median([r for r, _ in runs]), "us": median([u for _, u in runs])}
        for way, runs in figures.items()
    }


if __name__ == "__main__":
    main()
