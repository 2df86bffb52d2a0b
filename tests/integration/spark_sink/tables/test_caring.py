"""Tables that are looked after, and writers that are in each other's way."""

import logging
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.errors import RetriableError
from spark_sink.tables import conflicts
from spark_sink.tables.table import Table

VALUE = {"id": pa.int64(), "text": pa.string()}
KEY = {"id": pa.int64()}


def one(tables: Any, id_: int, text: str) -> Any:
    return tables.batch(VALUE, [{"key": {"id": id_}, "value": {"id": id_, "text": text}}], KEY)


@pytest.mark.slow
def test_a_table_is_compacted_and_vacuumed_after_batches(tables: Any, spark: Any) -> None:
    before = spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.parallelism")
    writer = tables.writer(
        **{
            "compaction.interval.ms": "1",
            "vacuum.interval.ms": "1",
            "vacuum.retention.hours": "0",
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        }
    )
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        for number in range(3):
            writer(one(tables, number, "x"), number)
            writer.maintenance.join(60)
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert {"OPTIMIZE", "VACUUM START", "VACUUM END"} <= set(tables.operations())
    files = list(Path(tables.path()).glob("*.parquet"))
    assert len(files) == 1, "three small files were joined, and these deleted"
    assert [row["id"] for row in tables.read()] == [0, 1, 2]
    assert spark.conf.get("spark.sql.sources.parallelPartitionDiscovery.parallelism") == before


@pytest.mark.slow
def test_nothing_is_done_before_it_is_due(tables: Any) -> None:
    writer = tables.writer(**{"compaction.interval.ms": "3600000"})
    for number in range(2):
        writer(one(tables, number, "x"), number)
    assert "OPTIMIZE" not in tables.operations()


@pytest.mark.slow
def test_a_compaction_that_fails_costs_no_batch(
    tables: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Table, "optimize", lambda self, *how: self._run(f"OPTIMIZE {self.sql} WHERE none = 1"))
    writer = tables.writer(**{"compaction.interval.ms": "1"})
    with caplog.at_level(logging.WARNING, "spark_sink.tables.maintenance"):
        for number in range(3):
            writer(one(tables, number, "x"), number)
            writer.maintenance.join(60)
    assert "could not be compacted and is left as it is: " in caplog.text
    assert len(tables.read()) == 3


@pytest.mark.slow
def test_no_batch_waits_for_a_compaction(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, began = threading.Event(), threading.Event()
    real: Any = Table.optimize

    def late(self: Table, *how: Any) -> None:
        began.set()
        assert gate.wait(60)
        real(self, *how)

    monkeypatch.setattr(Table, "optimize", late)
    writer = tables.writer(**{"compaction.interval.ms": "1"})
    for number in range(2):
        writer(one(tables, number, "x"), number)
    assert began.wait(60)
    assert not gate.is_set()
    writer(one(tables, 2, "x"), 2)
    writer(one(tables, 3, "x"), 3)
    gate.set()
    writer.maintenance.join(60)
    assert tables.operations() == ["CREATE TABLE", *["WRITE"] * 4, "OPTIMIZE"]
    assert tables.commits()[-1]["operationMetrics"]["numRemovedFiles"] == "4"


@pytest.mark.slow
@pytest.mark.promise("P10")
def test_merges_beside_compactions_lose_nothing(tables: Any) -> None:
    """They touch the same files: whoever commits second does it again, or leaves it."""
    writer = tables.writer(mode="upsert", **{"compaction.interval.ms": "1"})
    for number in range(12):
        ids = range(number % 3, 9, 3)
        records = [{"key": {"id": id_}, "value": {"id": id_, "text": str(number)}} for id_ in ids]
        writer(tables.batch(VALUE, records, KEY), number)
    writer.maintenance.join(60)
    assert tables.read() == [{"id": id_, "text": str(9 + id_ % 3)} for id_ in range(9)]
    assert "OPTIMIZE" in tables.operations()


def test_rows_are_ordered_within_the_partitions_of_a_condition(tables: Any) -> None:
    keys = {"partition.by": "text", "optimize.where": "text >= 'b'", "optimize.zorder.by": "ID"}
    writer = tables.writer(**{"compaction.interval.ms": "1"}, **keys)
    batches = [[(1, "a"), (9, "b")], [(2, "a"), (8, "b")]]
    for number, rows in enumerate(batches):
        writer(tables.batch(VALUE, [{"value": {"id": id_, "text": text}} for id_, text in rows]), number)
        writer.maintenance.join(60)
    assert tables.operations() == ["CREATE TABLE", "WRITE", "WRITE", "OPTIMIZE"]
    assert "text >= b" in tables.commits()[-1]["operationParameters"]["predicate"]
    assert "ID" in tables.commits()[-1]["operationParameters"]["zOrderBy"]
    assert {f"text={name}": len(list((Path(tables.path()) / f"text={name}").glob("*.parquet"))) for name in "ab"} == {
        "text=a": 2,
        "text=b": 3,
    }


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_two_writers_of_a_table_lose_nothing(tables: Any, mode: str) -> None:
    """They merge into the same file, so that their commits conflict again and again."""
    tables.writer("first", mode=mode)(one(tables, 0, "x"), 0)
    errors: list[BaseException] = []

    def write(app: str, ids: range) -> None:
        session = tables.spark.newSession()
        mine = type(tables)(session, tables.folder)
        writer = mine.writer(app, mode=mode)
        try:
            for number, id_ in enumerate(ids):
                writer(one(mine, id_, app), number)
                writer(one(mine, id_, app), number)
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=write, args=("a", range(1, 5))),
        threading.Thread(target=write, args=("b", range(11, 15))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(row["id"] for row in tables.read()) == [0, *range(1, 5), *range(11, 15)]


@pytest.mark.slow
@pytest.mark.promise("P3", "P10")
def test_of_two_writers_of_one_query_each_batch_is_written_once(tables: Any) -> None:
    """Two tasks of one connector, of which one was thought dead."""
    batches = [[number] for number in range(6)]
    errors: list[BaseException] = []
    barrier = threading.Barrier(2)

    def write() -> None:
        mine = type(tables)(tables.spark.newSession(), tables.folder)
        writer = mine.writer()
        try:
            for number, ids in enumerate(batches):
                frame = one(mine, ids[0], "x")
                barrier.wait(60)
                writer(frame, number)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(row["id"] for row in tables.read()) == list(range(6))


def test_a_writer_that_is_always_too_late_says_so(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def conflict(afresh: bool) -> None:
        tried.append(afresh)
        raise RuntimeError("[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] ConcurrentAppendException: files were added")

    monkeypatch.setattr(conflicts.time, "sleep", lambda seconds: None)
    with pytest.raises(RetriableError, match=r"in the way of 6 commits to .*DELTA_CONCURRENT_"):
        conflicts.until_nobody_is_in_the_way("t", conflict)
    assert tried == [False, *[True] * 5]
