"""P1, P3, P10: whoever writes an Iceberg table is killed at random moments; each record is one row of it."""

import random
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyiceberg.catalog import load_catalog

from .conftest import StartWorker
from .test_crashes import ROUNDS
from .test_delta_table import PARTITIONS, attack

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker


class Rows:
    """How many rows the snapshots of all tables of a catalog say that they have added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with closing(load_catalog("iceberg", **catalog(folder))) as opened:
            opened.create_namespace("shop")

    def count(self) -> int:
        with closing(load_catalog("iceberg", **catalog(self._folder))) as opened:
            tables = [opened.load_table(name) for name in opened.list_tables("shop")]
        snapshots = [snapshot for table in tables for snapshot in table.snapshots()]
        return sum(int(snapshot.summary["added-records"] or 0) for snapshot in snapshots)


def catalog(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}


def keys(folder: Path) -> dict[str, str]:
    """Of a connector with as many commits as can be, so that some deaths come in the middle of one."""
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.commit.interval-ms": "10",
        **{f"iceberg.catalog.{key}": value for key, value in catalog(folder).items()},
    }


def numbers(folder: Path, table: str) -> list[tuple[int, int]]:
    """The records that are rows of a table, in order."""
    with closing(load_catalog("iceberg", **catalog(folder))) as opened:
        rows = opened.load_table(table).scan().to_arrow().to_pydict()
    return sorted(zip(rows["p"], rows["n"], strict=True))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.promise("P1", "P3", "P10")
def test_an_iceberg_table_of_two_tasks_has_each_record_once_whatever_is_killed(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, tmp_path: Path
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    config = {**keys(tmp_path), "iceberg.tables": "shop.rows"}
    topic = f"rows-{chance.randrange(1 << 32)}"
    each = attack(worker, broker.bootstrap_servers, topic, chance, 4, Rows(tmp_path), config)
    assert numbers(tmp_path, "shop.rows") == [(p, n) for p in range(PARTITIONS) for n in range(each)]


@pytest.mark.slow
@pytest.mark.timeout(600 + 30 * ROUNDS)
@pytest.mark.promise("P1", "P3", "P10")
def test_so_has_each_of_several_tables(
    start_worker: StartWorker, broker: "Broker", chance: random.Random, tmp_path: Path
) -> None:
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000", offset_flush_interval_ms="20")
    tables = {f"shop.of-{p}": str(p) for p in range(PARTITIONS)}
    config = {**keys(tmp_path), "iceberg.tables": ",".join(tables), "iceberg.tables.route-field": "p"}
    config |= {f"iceberg.table.{name}.route-regex": p for name, p in tables.items()}
    topic = f"rows-{chance.randrange(1 << 32)}"
    each = attack(worker, broker.bootstrap_servers, topic, chance, ROUNDS, Rows(tmp_path), config)
    for name, p in tables.items():
        assert numbers(tmp_path, name) == [(int(p), n) for n in range(each)]
