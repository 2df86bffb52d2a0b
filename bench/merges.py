"""`python -m bench.merges`: updates merged into a Delta table on Spark, beside a merge written by hand.

A table of rows with a number as their key, and a topic with updates of a tenth of them, spread over the whole table:
JSON with the fields of `bench.spark`. Each way merges them into a copy of the table, in one batch.

    ours     the connector's own source and writer, with mode=upsert
    kafka    by hand on Spark's own Kafka source: from_json, the newest record of each key, MERGE in foreachBatch
    raw      the same on the raw records of our source, where the jars of Spark's own are not to be had

All share a session of local[2] and run in turn; the first round warms it up and does not count. CPU is that of the
whole process tree, from the start of the query until it has ended.
"""

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from bench import one
from bench.document import Rows
from bench.machine import say, versions
from bench.part import Settings
from bench.spark import _DDL, PARTITIONS, connector, values
from bench.standalone import MeasurementFailed, Memory
from bench.tables import CPU, MEMORY, RATE, compare
from bench.topics import produce
from connect.jvm.jars import JarsUnavailable, resolve
from connect.kafka.broker import embedded as broker
from connect.telemetry import processes as tree

#: Every tenth row is updated.
_EVERY = 10
_COLUMNS = ("id", "customer", "city", "amount", "active", "source")
_BY_HAND = ("v.id", "v.name AS customer", "v.city", "v.amount", "v.active", "'kafka' AS source")


class Merges:
    """The ways, in one session.

    Args:
        bootstrap, topic: of the updates.
        folder: for tables.
        ways: that are measured.
        rows: of the table.
    """

    def __init__(self, bootstrap: str, topic: str, folder: Path, ways: list[str], rows: int) -> None:
        from spark_sink.session import open_session

        conf = {"spark.master": "local[2]", "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
        if "kafka" in ways:
            conf["spark.jars"] = ",".join(map(str, resolve("spark-kafka")))
        self.session = open_session(conf, "bench")
        self._bootstrap, self._topic, self._folder, self._rows = bootstrap, topic, folder, rows
        self._passes = 0
        self._base = folder / "base"
        before = self.session.spark.range(rows).selectExpr(
            "id",
            "concat('customer ', id % 1000) AS customer",
            "'Basel' AS city",
            "id / 8 AS amount",
            "true AS active",
            "'spark' AS source",
        )
        before.write.format("delta").save(str(self._base))

    def run(self, way: str) -> dict[str, float]:
        """Merge the updates into a fresh copy of the table.

        Raises:
            MeasurementFailed: the table is not what it has to be.
        """
        self._passes += 1
        folder = self._folder / f"{way}-{self._passes}"
        shutil.copytree(self._base, folder / "table")
        rows = getattr(self, f"_{way}")(str(folder / "table"))
        writer = rows.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        began, used = time.monotonic(), tree.cpu(os.getpid())
        writer.start().awaitTermination()
        seconds, used = time.monotonic() - began, tree.cpu(os.getpid()) - used
        self._check(folder / "table")
        shutil.rmtree(folder)
        count = self._rows // _EVERY
        return {
            "records": count,
            "seconds": seconds,
            "rate": count / seconds,
            "cpu_s": used,
            "cpu_us": used / count * 1e6,
        }

    def _check(self, table: Path) -> None:
        found = self.session.spark.read.format("delta").load(str(table))
        count, merged = found.count(), found.where("source = 'kafka' AND city <> 'Basel'").count()
        if (count, merged) != (self._rows, self._rows // _EVERY):
            raise MeasurementFailed(f"{table} has {count:,} rows, {merged:,} of them updated")

    def _ours(self, table: str) -> Any:
        from spark_sink.query.shapes import shape_of
        from spark_sink.reading import ReadPlan, register
        from spark_sink.reading.sample import Sampler
        from spark_sink.tables import TableSettings, TableWriter

        config = {**connector(self._topic, table), "mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}
        settings = TableSettings.of(config)
        worker = {"bootstrap.servers": self._bootstrap}
        sampler = Sampler(ReadPlan("bench", (self._topic,), "", worker, config), "value", "key")
        sample = sampler.look({}, None, lambda: None)
        sampler.close()
        shape = shape_of("bench", sample, settings)
        plan = ReadPlan("bench", (self._topic,), "", worker, config, rows=shape, parts=PARTITIONS)
        rows = self.session.spark.readStream.format(register(self.session.spark, plan)).load()
        return rows.writeStream.foreachBatch(TableWriter(settings, "bench", f"bench/{self._passes}", self._topic))

    def _kafka(self, table: str) -> Any:
        source = self.session.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        raw = source.option("subscribe", self._topic).option("startingOffsets", "earliest").load()
        return raw.writeStream.foreachBatch(lambda batch, _: _merge(batch, table, "partition", "offset"))

    def _raw(self, table: str) -> Any:
        from spark_sink.reading import ReadPlan, register

        worker = {"bootstrap.servers": self._bootstrap}
        plan = ReadPlan("bench", (self._topic,), "", worker, connector(self._topic, ""))
        raw = self.session.spark.readStream.format(register(self.session.spark, plan)).load()
        return raw.writeStream.foreachBatch(lambda batch, _: _merge(batch, table, "partition", "offset"))


def _merge(batch: Any, table: str, *order: str) -> None:
    """As Delta's documentation writes it: the newest record of each key, merged."""
    from delta.tables import DeltaTable
    from pyspark.sql import Window, functions

    parsed = functions.from_json(functions.col("value").cast("string"), _DDL)
    rows = batch.select(parsed.alias("v"), *order)
    newest = Window.partitionBy("v.id").orderBy(*(functions.col(name).desc() for name in order))
    rows = rows.withColumn("rank", functions.row_number().over(newest)).where("rank = 1").selectExpr(*_BY_HAND)
    target = DeltaTable.forPath(batch.sparkSession, table).alias("t")
    merge = target.merge(rows.alias("s"), "t.id = s.id")
    columns: dict[str, Any] = {name: f"s.{name}" for name in _COLUMNS}
    merge.whenMatchedUpdate(set=columns).whenNotMatchedInsert(values=columns).execute()


def measure(settings: Settings) -> dict[str, Any]:
    """One pass of each way to warm up, then the rounds."""
    count, rounds = settings.count(4_000_000, 40_000), settings.repeat()
    rows = Rows({"ours": ["kafka", "raw"]})
    ways = ["ours"]
    try:
        resolve("spark-kafka")
        ways.append("kafka")
    except JarsUnavailable as error:
        say(f"without Spark's own Kafka source: {error}")
        ways.append("raw")
    try:
        bootstrap = broker.ensure_running(settings.folder / "broker", port=0).bootstrap_servers
        say(f"filling a topic with {count // _EVERY:,} updates of {count:,} rows")
        updates = (value for number, value in enumerate(values(count)) if number % _EVERY == 0)
        produce(bootstrap, "orders", updates, key=lambda number: b"%d" % number, partitions=PARTITIONS)
        merges = Merges(bootstrap, "orders", settings.folder, ways, count)
        try:
            for number in range(-1, rounds):
                for way in ways:
                    with Memory(os.getpid()) as memory:
                        found = merges.run(way)
                    note = "" if number >= 0 else "   (warming up)"
                    say(f"{way:6} {found['seconds']:6.1f} s  {found['cpu_us']:6.2f} us of CPU an update{note}")
                    if number >= 0:
                        rows.add("merge", way, {**found, "pss_mb": memory.most}, number)
        finally:
            merges.session.close()
    finally:
        broker.stop(settings.folder / "broker")
    return {
        "settings": {"rounds": rounds, "rows": count, "updates": count // _EVERY},
        "versions": versions("pyspark", "delta-spark", "pyarrow", "connect-runtime"),
        "rows": rows.as_json(),
    }


def table(document: dict[str, Any]) -> str:
    """The document as Markdown."""
    figures, engine = (RATE, CPU, MEMORY), ("ours", "the Spark engine")
    by_hand = next(way for way in ("kafka", "raw") if f"{way}" in str(document["rows"]["merge"].keys()))
    return compare(document, {"merge": ""}, figures, (by_hand, "by hand, in foreachBatch"), engine)


if __name__ == "__main__":
    sys.exit(one.main("bench.merges", "merges"))
