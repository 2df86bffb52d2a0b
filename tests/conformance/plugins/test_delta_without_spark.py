"""The Delta sink of engine=worker keeps the conformance suite for sinks."""

from typing import Any

import pytest
from deltalake import DeltaTable

from connect.testing.conformance import SinkConformance
from spark_sink.sink.connector import SparkSinkConnector

pytestmark = pytest.mark.quick  # no server, some seconds


class TestDeltaSink(SinkConformance):
    connector = SparkSinkConnector

    def config(self) -> dict[str, str]:
        return {"name": "delta", "engine": "worker", "table": str(self.tmp_path / "lake" / "numbers")}

    def value(self, number: int) -> Any:
        return {"number": number}

    def written(self) -> list[Any]:
        table = self.tmp_path / "lake" / "numbers"
        return DeltaTable(table).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(str(table)) else []


class TestDeltaTables(TestDeltaSink):
    def config(self) -> dict[str, str]:
        return {**super().config(), "table": str(self.tmp_path / "lake" / "${topic}")}

    def written(self) -> list[Any]:
        table = self.tmp_path / "lake" / "test"
        return DeltaTable(table).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(str(table)) else []


class TestDeltaUpserts(TestDeltaSink):
    def config(self) -> dict[str, str]:
        return {**super().config(), "mode": "upsert", "pk.mode": "record_value", "pk.fields": "number"}
