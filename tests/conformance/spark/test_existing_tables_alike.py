"""A table that exists becomes the same on both engines."""

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
    sink.stop()


def by_spark(spark: Any, table: Path, batches: list[list[dict[str, Any]]], keys: dict[str, str]) -> None:
    """Write batches by Spark."""
    tables = Tables(spark, table.parent)
    writer = tables.writer(table=str(table), **keys)
    offset = 0
    for number, values in enumerate(batches):
        records = [{"value": value, "offset": offset + n} for n, value in enumerate(values)]
        writer(tables.batch(VALUE, records), number)
        offset += len(values)


def both(spark: Any, folder: Path, batches: list[list[dict[str, Any]]], keys: dict[str, str]) -> tuple[Any, Any]:
    """The tables of the worker and of Spark, which were alike before."""
    for name in ("worker", "spark"):
        first = pa.table({"id": [0], "text": ["first"]})
        deltalake.write_deltalake(folder / name, first, configuration={"delta.logRetentionDuration": "interval 7 days"})
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
