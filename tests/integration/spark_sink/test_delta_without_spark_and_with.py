"""Tables that engine=worker writes are like any other: Spark reads, changes and compacts them meanwhile."""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from connect import ConnectError, Schema
from connect.data import logical
from connect.data.schema import BOOLEAN, BYTES, FLOAT32, INT8, INT64, OPTIONAL_STRING, STRING
from connect.testing import SinkRun
from spark_sink.sink.connector import SparkSinkConnector

_NOON = dt.datetime(2024, 5, 6, 12, tzinfo=dt.UTC)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "orders")


@pytest.fixture
def run(uri: str) -> Iterator[Callable[..., SinkRun]]:
    runs: list[SinkRun] = []

    def start(**keys: str) -> SinkRun:
        config = {"name": "orders", "engine": "worker", "table": uri}
        runs.append(
            SinkRun(SparkSinkConnector, config | {k.replace("__", "."): v for k, v in keys.items()}, timeout=120)
        )
        return runs[-1].start()

    yield start
    for each in runs:
        each.crash()


def read(spark: Any, uri: str) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in spark.read.format("delta").load(uri).orderBy("id").collect()]


def test_spark_reads_every_type(spark: Any, run: Callable[..., SinkRun], uri: str) -> None:
    value: dict[str, tuple[Schema, Any]] = {
        "id": (INT64, 1 << 60),
        "small": (INT8, -5),
        "float": (FLOAT32, 0.5),
        "flag": (BOOLEAN, True),
        "raw": (BYTES, b"\x00\xff"),
        "price": (logical.decimal(2), Decimal("12.30")),
        "day": (logical.DATE, _NOON.date()),
        "time": (logical.TIME, _NOON.time()),
        "at": (logical.TIMESTAMP, _NOON),
        "list": (Schema.array(Schema.struct({"x": INT64, "y": OPTIONAL_STRING})), [{"x": 1, "y": None}]),
        "map": (Schema.map(STRING, INT64), {"k": 1}),
    }
    orders = run(partition__by="day,flag")
    orders.put({n: v for n, (_, v) in value.items()}, schema=Schema.struct({n: s for n, (s, _) in value.items()}))
    orders.commit()
    (row,) = read(spark, uri)
    wanted = {name: item for name, (_, item) in value.items()} | {"time": 43_200_000, "raw": bytearray(b"\x00\xff")}
    assert row.pop("at").astimezone(dt.UTC) == wanted.pop("at")
    assert row == wanted


@pytest.mark.slow
def test_spark_changes_and_looks_after_the_table_meanwhile(spark: Any, run: Callable[..., SinkRun], uri: str) -> None:
    table = f"delta.`{uri}`"
    orders = run()
    orders.put(*({"id": n} for n in range(3)))
    orders.commit()
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (theirs STRING)")
    spark.sql(f"INSERT INTO {table} VALUES (100, 'spark')")
    orders.put({"id": 3, "theirs": "ours"}, {"id": 4, "mine": 1.5})
    spark.sql(f"OPTIMIZE {table}")
    orders.commit()
    spark.sql(f"DELETE FROM {table} WHERE id = 0")
    orders.put({"id": 5})
    orders.commit()
    orders.restart()
    orders.put({"id": 6})
    orders.commit()
    assert [(row["id"], row["theirs"], row["mine"]) for row in read(spark, uri)] == [
        (1, None, None),
        (2, None, None),
        (3, "ours", None),
        (4, None, 1.5),
        (5, None, None),
        (6, None, None),
        (100, "spark", None),
    ]


@pytest.mark.slow
def test_a_table_of_sparks_is_written_and_merged_into(spark: Any, run: Callable[..., SinkRun], uri: str) -> None:
    spark.sql(f"CREATE TABLE delta.`{uri}` (id BIGINT NOT NULL, Name STRING, n INT) USING delta PARTITIONED BY (n)")
    spark.sql(f"INSERT INTO delta.`{uri}` VALUES (1, 'a', 1), (2, 'b', 1)")
    orders = run(mode="upsert", pk__mode="record_value", pk__fields="id")
    orders.put({"id": 2, "name": "B", "n": 2}, {"id": 3, "name": "c", "n": 1})
    orders.commit()
    assert read(spark, uri) == [
        {"id": 1, "Name": "a", "n": 1},
        {"id": 2, "Name": "B", "n": 2},
        {"id": 3, "Name": "c", "n": 1},
    ]


@pytest.mark.parametrize("feature", ["delta.enableTypeWidening", "delta.enableRowTracking"])
def test_a_table_with_features_that_deltalake_does_not_know_is_refused(
    spark: Any, run: Callable[..., SinkRun], uri: str, feature: str
) -> None:
    spark.sql(f"CREATE TABLE delta.`{uri}` (id INT) USING delta TBLPROPERTIES ('{feature}' = 'true')")
    with pytest.raises(ConnectError, match=r"could not be (opened|written): .*engine=spark may"):
        run()
