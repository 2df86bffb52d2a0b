"""The Iceberg sink keeps the conformance suite for sinks."""

from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from connect.testing.conformance import SinkConformance
from spark_sink.iceberg.connector import IcebergSinkConnector

pytestmark = pytest.mark.quick  # no server, some seconds


class TestIcebergSink(SinkConformance):
    connector = IcebergSinkConnector
    table = "shop.numbers"

    def config(self) -> dict[str, str]:
        return {
            "name": "iceberg",
            "iceberg.tables": "shop.numbers",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.control.commit.interval-ms": "0",
            "iceberg.catalog.type": "sql",
            "iceberg.catalog.uri": f"sqlite:///{self.tmp_path}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{self.tmp_path}/lake",
        }

    def value(self, number: int) -> Any:
        return {"number": number, "table": "shop.numbers"}

    def written(self) -> list[Any]:
        catalog = load_catalog("iceberg", type="sql", uri=f"sqlite:///{self.tmp_path}/catalog.db")
        try:
            if not catalog.table_exists(self.table):
                return []
            return catalog.load_table(self.table).scan().to_arrow().to_pylist()
        finally:
            catalog.close()


class TestIcebergTables(TestIcebergSink):
    def config(self) -> dict[str, str]:
        more = {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "table", "iceberg.tables": ""}
        return {**super().config(), **more}


class TestIcebergUpserts(TestIcebergSink):
    def config(self) -> dict[str, str]:
        more = {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "number"}
        return {**super().config(), **more}
