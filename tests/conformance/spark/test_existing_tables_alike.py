"""A table that exists becomes the same on both engines."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.testing import SinkRun
from spark_sink.sink.connector import SparkSinkConnector
from tests.integration.spark_sink.conftest import session, shared_spark, spark
from tests.integration.spark_sink.tables.conftest import Tables

__all__ = ["session", "shared_spark", "spark"]

deltalake = pytest.importorskip("deltalake")

VALUE = {"id": pa.int64(), "text": pa.string()}


def by_worker(table: Path, batches: list[list[dict[str, Any]]], keys: dict[str, str]) -> None:
    """Write batches by the worker itself."""
    sink = SinkRun(SparkSinkConnector, {"name": "c", "engine": "worker", "table": str(table), **keys}, timeout=60)
    sink.start()
    for values in batches:
        sink.put(*values)
        sink.commit()
        if (care := sink.task._maintenance) is not None:  # type: ignore[attr-defined]
            care.join(60)
    sink.stop()


def by_spark(spark: Any, table: Path, batches: list[list[dict[str, Any]]], keys: dict[str, str]) -> None:
    """Write batches by Spark."""
    tables = Tables(spark, table.parent)
    writer = tables.writer(table=str(table), **keys)
    offset = 0
    for number, values in enumerate(batches):
        records = [{"value": value, "offset": offset + n} for n, value in enumerate(values)]
        writer(tables.batch(VALUE, records), number)
        writer.maintenance.join(60)
        offset += len(values)


def both(spark: Any, folder: Path, batches: list[list[dict[str, Any]]], keys: dict[str, str]) -> tuple[Any, Any]:
    """The tables of the worker and of Spark, which were alike before."""
    for name in ("worker", "spark"):
        partitions = [keys["partition.by"]] if "partition.by" in keys else None
        first = pa.table({"id": [0], "text": ["first"]})
        properties = {"delta.logRetentionDuration": "interval 7 days"}
        deltalake.write_deltalake(folder / name, first, partition_by=partitions, configuration=properties)
    by_worker(folder / "worker", batches, keys)
    by_spark(spark, folder / "spark", batches, keys)
    return deltalake.DeltaTable(folder / "worker"), deltalake.DeltaTable(folder / "spark")


@pytest.mark.slow
def test_properties_are_alike(spark: Any, tmp_path: Path) -> None:
    keys = {
        "mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
        "table.property.delta.enableChangeDataFeed": "true",
        "table.property.delta.logRetentionDuration": "interval 9 days",
        "table.property.team": "shop",
    }
    batches = [[{"id": 0, "text": "changed"}, {"id": 1, "text": "new"}], [{"id": 1, "text": "changed"}]]
    worker, by_spark = both(spark, tmp_path, batches, keys)
    assert worker.metadata().configuration == by_spark.metadata().configuration
    assert worker.metadata().configuration["team"] == "shop"
    rows = [sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["id"]) for table in (worker, by_spark)]
    assert rows[0] == rows[1] == [{"id": 0, "text": "changed"}, {"id": 1, "text": "changed"}]
    for name in ("worker", "spark"):
        assert list((tmp_path / name / "_change_data").rglob("*.parquet")), name


@pytest.mark.slow
def test_joined_files_are_alike(spark: Any, tmp_path: Path) -> None:
    keys = {
        "partition.by": "text",
        "compaction.interval.ms": "1",
        "optimize.where": "text >= 'b' AND text < 'f'",
        "optimize.zorder.by": "ID",
    }
    batches = [[{"id": n, "text": "a"}, {"id": -n, "text": "b"}] for n in range(1, 3)]
    files = []
    for table in both(spark, tmp_path, batches, keys):
        actions = pa.table(table.get_add_actions(flatten=True))
        files.append(Counter(actions["partition.text"].to_pylist()))
        rows = {name: table.to_pyarrow_table(filters=[("text", "=", name)])["id"].to_pylist() for name in "ab"}
        assert {name: sorted(ids) for name, ids in rows.items()} == {"a": [1, 2], "b": [-2, -1]}
    assert files[0] == files[1] == {"a": 2, "b": 1, "first": 1}
