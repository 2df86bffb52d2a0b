"""What is done to tables beside writing, without Spark."""

import datetime
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from connect.testing import SinkRun
from spark_sink.delta.maintenance import Maintenance
from spark_sink.delta.partitions import chosen
from spark_sink.table_settings import TableOptions
from tests.support.waiting import until

Run = Callable[..., SinkRun]
Log = Callable[..., DeltaTable]

DAY = datetime.date(2026, 1, 1)


def filled(table: Path, partition_by: list[str] | None = None) -> str:
    """A table of three commits, each with the same days and countries."""
    columns = {
        "id": range(4),
        "day": [DAY, DAY, DAY + datetime.timedelta(1), None],
        "a country": ["DE", "FR", "D'E", "FR"],
    }
    for _ in range(3):
        write_deltalake(table, pa.table(columns), mode="append", partition_by=partition_by)
    return str(table)


def look_after(table: str, **keys: str) -> None:
    """Do what keys say, once."""
    config = {"compaction.interval.ms": "1", **{key.replace("__", "."): text for key, text in keys.items()}}
    care = Maintenance({}, TableOptions.parse(config))
    care.after_commit(table)  # the first time is one interval after the first rows
    until(lambda: care._schedule.due(table))
    care.after_commit(table)
    care.join(60)


def files(table: str) -> dict[tuple[Any, Any], int]:
    """How many files each partition has."""
    actions = pa.table(DeltaTable(table).get_add_actions(flatten=True))
    found: dict[tuple[Any, Any], int] = {}
    for part in zip(*(actions[f"partition.{name}"].to_pylist() for name in ("day", "a country")), strict=True):
        found[part] = found.get(part, 0) + 1
    return found


@pytest.mark.parametrize(
    ("where", "joined"),
    [
        (f"day = '{DAY}'", {(DAY, "DE"), (DAY, "FR")}),
        ("\"a country\" = 'D''E'", {(DAY + datetime.timedelta(1), "D'E")}),
        ("day IS NULL", {(None, "FR")}),
        ("day <= current_date() - INTERVAL 1 DAY AND day > '2026-01-01'", {(DAY + datetime.timedelta(1), "D'E")}),
        ("day > '2100-01-01'", set()),
    ],
)
@pytest.mark.parametrize("zorder", ["", "ID"])
def test_only_partitions_of_the_condition_are_optimized(
    tmp_path: Path, where: str, zorder: str, joined: set[Any]
) -> None:
    table = filled(tmp_path / "t", ["day", "a country"])
    look_after(table, optimize__where=where, optimize__zorder__by=zorder)
    found = files(table)
    assert len(found) == 4
    assert {part for part, count in found.items() if count == 1} == joined
    assert DeltaTable(table).to_pyarrow_table().num_rows == 12


def test_rows_that_belong_together_are_put_together(tmp_path: Path) -> None:
    table = filled(tmp_path / "t")
    look_after(table, optimize__zorder__by="id")
    assert DeltaTable(table).to_pyarrow_table()["id"].to_pylist() == sorted([*range(4)] * 3)
    assert DeltaTable(table).history(1)[0]["operation"] == "OPTIMIZE"


@pytest.mark.parametrize(
    ("partitioned", "keys", "words"),
    [
        (["day", "a country"], {"optimize.where": "id = 1"}, "No field named id"),
        (["day", "a country"], {"optimize.where": "day ="}, "SQL error"),
        (None, {"optimize.where": "day IS NULL"}, "the table has none"),
        (None, {"optimize.zorder.by": "nothing"}, 'field "nothing" not found'),
    ],
)
def test_what_is_not_possible_is_logged_and_changes_nothing(
    tmp_path: Path, partitioned: list[str] | None, keys: dict[str, str], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = filled(tmp_path / "t", partitioned)
    look_after(table, **keys)
    assert words in caplog.text
    assert DeltaTable(table).version() == 2


def test_partitions_of_one_file_are_left_alone(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"id": [1, 2], "day": [1, 2]}), partition_by=["day"])
    write_deltalake(tmp_path / "t", pa.table({"id": [3], "day": [2]}), mode="append")
    assert chosen(DeltaTable(tmp_path / "t"), "true") == [[("day", "=", 2)]]


def test_no_commit_waits_for_it(run: Run, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless files may be deleted that a commit is about to name."""
    gate, where = threading.Event(), []

    def compact(self: Maintenance, uri: str) -> None:
        where.append(threading.current_thread().name)
        assert gate.wait(60)

    monkeypatch.setattr(Maintenance, "_compact", compact)
    orders = run(compaction__interval__ms="1")
    for n in range(5):
        orders.put({"id": n})
        orders.commit()
    until(lambda: where)
    orders.put({"id": 5})
    orders.commit()
    assert log().to_pyarrow_table().num_rows == 6
    gate.set()
    assert set(where) == {"table-care"}


def test_each_table_is_looked_after_by_one_task_whichever_writes_it(
    run: Run, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[Maintenance, str]] = []
    monkeypatch.setattr(Maintenance, "_compact", lambda self, uri: done.append((self, Path(uri).name)))
    keys = {"table": str(lake / "${field}"), "table__field": "kind", "tasks__max": "2", "compaction__interval__ms": "1"}
    orders = run(partitions=4, **keys)

    def written() -> bool:
        for partition, kinds in enumerate(("ab", "bc", "bc", "cd")):
            orders.put(*({"kind": kind} for kind in kinds), partition=partition)
        orders.commit()
        return {kind for _, kind in done} >= {*"abcd"}

    for _ in range(2):  # with the first rows of a table no task knows of the others
        until(lambda: "table-care" not in {thread.name for thread in threading.enumerate()})
        done.clear()
        until(written)
    assert len(set(done)) == 4


def test_a_vacuum_that_could_delete_what_is_being_written_is_between_commits(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[str] = []
    monkeypatch.setattr(Maintenance, "_vacuum", lambda self, uri: where.append(threading.current_thread().name))
    unchecked = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}
    for hours, thread in (("0", "orders-sink-0"), ("168", "table-care")):
        orders = run(vacuum__interval__ms="1", vacuum__retention__hours=hours, **unchecked)
        where.clear()

        def written(sink: SinkRun = orders) -> bool:
            sink.put({"id": 1})
            sink.commit()
            return bool(where)

        until(written)
        assert set(where) == {thread}
        orders.stop()
