"""The source of made-up records passes the suite for sources: what its source holds is how far records may be made."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from connect import SourceBatch
from connect.testing.conformance import SourceConformance
from connectors.datagen import DatagenConnector, DatagenTask
from connectors.datagen.keys import DatagenOptions
from connectors.datagen.rows import Rows

pytestmark = pytest.mark.quick  # no server, some seconds

SCHEMA = {
    "type": "record",
    "name": "numbered",
    "fields": [
        {"name": "number", "type": {"type": "long", "arg.properties": {"iteration": {"start": 0}}}},
        {"name": "text", "type": {"type": "string", "arg.properties": {"length": 400}}},
    ],
}


class GrowingTask(DatagenTask):
    """Makes records up to the number that a file holds."""

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._file = Path(config["end.file"])

    def poll(self) -> SourceBatch | None:
        end = int(self._file.read_text()) if self._file.exists() else 0
        self._share = replace(self._share, end=end)
        return super().poll()


class GrowingConnector(DatagenConnector):
    task = GrowingTask


class TestDatagen(SourceConformance):
    connector = GrowingConnector

    def config(self) -> dict[str, str]:
        keys = {"kafka.topic": "made", "schema.string": json.dumps(SCHEMA), "random.seed": "1", "max.interval": "0"}
        return {**keys, "end.file": str(self.tmp_path / "end")}

    def value(self, number: int) -> Any:
        _, values = Rows(DatagenOptions.parse(self.config()), 1).made([range(number, number + 1)])
        return values.to_list()[0]

    def produce(self, first: int, count: int) -> None:
        (self.tmp_path / "end").write_text(str(first + count))


class TestDatagenAtARate(TestDatagen):
    plenty = 3000

    def config(self) -> dict[str, str]:
        return {**super().config(), "rate": "10000"}
