"""The sink of Google Cloud Storage keeps the conformance suite for sinks, on a server of its own."""

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from connect.testing.conformance import SinkConformance
from connectors.gcs import GcsSinkConnector

if TYPE_CHECKING:
    from tests.servers.object_stores import FakeGcs

pytestmark = pytest.mark.slow


class TestGcsSink(SinkConformance):
    connector = GcsSinkConnector
    repeats: ClassVar[Literal["harmless", "duplicates"]] = "harmless"

    @pytest.fixture(autouse=True)
    def _server(self, fake_gcs: "FakeGcs") -> None:
        self.bucket = fake_gcs.bucket()

    def config(self) -> dict[str, str]:
        return {"name": "numbers", **self.bucket.config}

    def value(self, number: int) -> Any:
        return {"number": number}

    def written(self) -> list[Any]:
        return [json.loads(line) for key in self.bucket.keys() for line in self.bucket.get(key).splitlines()]  # noqa: SIM118
