"""Iceberg tables of a catalog in an SQLite file, filled by a sink connector that runs in memory, read by pyiceberg."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from connect.testing import SinkRun
from spark_sink.iceberg.connector import IcebergSinkConnector

Run = Callable[..., SinkRun]


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Of a connector: its catalog, and one table."""
    return {
        "name": "orders-sink",
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{tmp_path}/catalog.db",
        "iceberg.catalog.warehouse": f"file://{tmp_path}/lake",
        "iceberg.control.commit.interval-ms": "0",
    }


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """The same catalog, for others."""
    made = load_catalog(
        "iceberg", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake"
    )
    made.create_namespace_if_not_exists("shop")
    yield made
    made.engine.dispose()  # type: ignore[attr-defined]


@pytest.fixture
def run(keys: dict[str, str]) -> Iterator[Run]:
    """Starts a connector: `run(partitions=2, iceberg__tables="a.b")`. Two underscores are a dot, one is a dash."""
    runs: list[SinkRun] = []

    def start(partitions: int = 1, more: dict[str, str] | None = None, **config: str) -> SinkRun:
        written = {key.replace("__", ".").replace("_", "-"): value for key, value in config.items()}
        made = SinkRun(IcebergSinkConnector, {**keys, **written, **(more or {})}, partitions=partitions, timeout=120)
        runs.append(made)
        return made.start()

    yield start
    for each in runs:
        each.crash()


@pytest.fixture
def table(catalog: Catalog) -> Callable[..., Table]:
    """A table, opened again."""
    return lambda name="shop.orders": catalog.load_table(name)


@pytest.fixture
def rows(catalog: Catalog) -> Callable[..., list[dict[str, Any]]]:
    """The rows of a table, ordered by what they hold; none if there is no table."""

    def read(name: str = "shop.orders", branch: str | None = None) -> list[dict[str, Any]]:
        if not catalog.table_exists(name):
            return []
        scan = catalog.load_table(name).scan()
        found = (scan.use_ref(branch) if branch else scan).to_arrow().to_pylist()
        return sorted(found, key=lambda row: [(value is not None, str(value)) for value in row.values()])

    return read
