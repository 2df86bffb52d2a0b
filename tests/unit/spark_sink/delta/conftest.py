"""Delta tables in a folder, filled by a sink connector that runs in memory, and read by others' code."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from connect.testing import SinkRun
from spark_sink.sink import connector as sink

Run = Callable[..., SinkRun]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Where tables are."""
    return tmp_path / "lake"


@pytest.fixture
def run(lake: Path) -> Iterator[Run]:
    """Starts a connector: `run(mode="upsert")`; of the table `orders` in the lake unless `table` says otherwise."""
    runs: list[SinkRun] = []

    def start(partitions: int = 1, **keys: str) -> SinkRun:
        config = {"name": "orders-sink", "engine": "worker", "table": str(lake / "orders")}
        config |= {key.replace("__", "."): value for key, value in keys.items()}
        made = SinkRun(sink.SparkSinkConnector, config, partitions=partitions, timeout=60)
        runs.append(made)
        return made.start()

    yield start
    for each in runs:
        each.crash()


@pytest.fixture
def rows(lake: Path) -> Callable[..., list[dict[str, Any]]]:
    """The rows of a table, ordered by what they hold."""

    def read(table: str = "orders") -> list[dict[str, Any]]:
        found = DeltaTable(lake / table).to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: [(value is not None, str(value)) for value in row.values()])

    return read


@pytest.fixture
def log(lake: Path) -> Callable[..., DeltaTable]:
    """A table, opened again."""

    def open_table(table: str = "orders") -> DeltaTable:
        return DeltaTable(lake / table)

    return open_table
