"""Batches that replace partitions of a table, or what a condition says; and files in folders."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pytest

VALUE = {"day": pa.string(), "n": pa.int64()}


def day(day: str, *numbers: int) -> list[dict[str, Any]]:
    return [{"value": {"day": day, "n": n}} for n in numbers]


@pytest.mark.promise("P10")
def test_a_batch_replaces_the_partitions_of_its_records(tables: Any) -> None:
    writer = tables.writer(mode="overwrite", partition__by="day")
    first = tables.batch(VALUE, day("mo", 1, 2) + day("tu", 3))
    second = tables.batch(VALUE, day("tu", 4, 5))
    writer(first, 0)
    writer(second, 1)
    writer(second, 1)
    writer(first, 0)  # late
    assert tables.read() == [{"day": "mo", "n": n} for n in (1, 2)] + [{"day": "tu", "n": n} for n in (4, 5)]
    assert tables.operations() == ["CREATE TABLE", "WRITE", "WRITE"]


@pytest.mark.slow
def test_a_batch_replaces_what_a_condition_says(tables: Any) -> None:
    tables.writer()(tables.batch(VALUE, day("mo", 1) + day("tu", 2)), 0)
    writer = tables.writer("connect/c/2/q", mode="overwrite", replace__where="day = 'tu'")
    for number in (0, 1, 1, 0):
        writer(tables.batch(VALUE, day("tu", 10 + number)), number)
    assert tables.read() == [{"day": "mo", "n": 1}, {"day": "tu", "n": 11}]
    with pytest.raises(Exception, match="REPLACE_WHERE|replaceWhere|day = 'tu'"):
        writer(tables.batch(VALUE, day("we", 3)), 2)


@pytest.mark.slow
@pytest.mark.promise("P1")
@pytest.mark.parametrize("keys", [{"replace__where": "day = 'tu'"}, {"partition__by": "day"}], ids=["where", "parts"])
def test_a_batch_of_which_nothing_is_written_replaces_nothing(tables: Any, keys: dict[str, str]) -> None:
    letters = {"errors__deadletter__table": tables.path("letters"), "errors__tolerance": "all"}
    writer = tables.writer(mode="overwrite", **keys, **letters)
    writer(tables.batch(VALUE, day("tu", 1)), 0)
    failure = {"stage": "VALUE_CONVERTER", "message": "broken"}
    writer(tables.batch(VALUE, [{"value": None}, {"value": None, "failure": failure}]), 1)
    assert tables.read() == [{"day": "tu", "n": 1}]
    assert [row["message"] for row in tables.read("letters")] == ["broken"]


@pytest.mark.slow
@pytest.mark.parametrize("where", [None, "day = 'tu'"])
def test_a_table_with_a_name_is_replaced_in_part(tables: Any, where: str | None) -> None:
    sql = tables.spark.sql
    sql(f"CREATE TABLE connect_days (day string, n bigint) USING delta PARTITIONED BY (day) LOCATION '{tables.path()}'")
    try:
        sql("INSERT INTO connect_days VALUES ('mo', 1), ('tu', 2)")
        more = {"replace.where": where} if where else {"partition.by": "day"}
        writer = tables.writer(table="connect_days", checkpoint__location="/c", mode="overwrite", **more)
        for _ in range(2):
            writer(tables.batch(VALUE, day("tu", 5)), 0)
        assert tables.read() == [{"day": "mo", "n": 1}, {"day": "tu", "n": 5}]
        assert len([name for name in tables.operations() if "WRITE" in name or "OVERWRITE" in name.upper()]) >= 2
    finally:
        sql("DROP TABLE connect_days")


@pytest.mark.promise("P10")
@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_files_of_a_batch_that_comes_again_are_replaced(tables: Any, kind: str) -> None:
    writer = tables.writer(format=kind, partition__by="day", metadata__columns="offset")
    first = tables.batch(VALUE, [*day("mo", 1, 2), {"value": None}])
    writer(first, 0)
    writer(tables.batch(VALUE, day("tu", 3)), 1)
    writer(first, 0)
    tables.writer("connect/c/000002-bb/q", format=kind, partition__by="day")(tables.batch(VALUE, day("mo", 4)), 0)
    # By a reader that knows nothing of Spark.
    found = pyarrow.dataset.dataset(tables.path(), format=kind, partitioning="hive").to_table().to_pylist()
    assert sorted((row["day"], row["n"]) for row in found) == [("mo", 1), ("mo", 2), ("mo", 4), ("tu", 3)]
    assert len(list(Path(tables.path()).iterdir())) == 3
    assert {row["batch"][-2:] for row in found} == {"00", "01"}
    assert tables.spark.read.format(kind).load(tables.path()).count() == 4
