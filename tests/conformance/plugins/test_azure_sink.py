"""The sink of Azure Blob Storage keeps the conformance suite for sinks, on a server of its own."""

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from connect.testing.conformance import SinkConformance
from connectors.azure import AzureBlobSinkConnector

if TYPE_CHECKING:
    from tests.servers.object_stores import Azurite

pytestmark = pytest.mark.slow


class TestAzureSink(SinkConformance):
    connector = AzureBlobSinkConnector
    repeats: ClassVar[Literal["harmless", "duplicates"]] = "harmless"

    @pytest.fixture(autouse=True)
    def _server(self, azurite: "Azurite") -> None:
        self.bucket = azurite.bucket()

    def config(self) -> dict[str, str]:
        return {"name": "numbers", **self.bucket.config}

    def value(self, number: int) -> Any:
        return {"number": number}

    def written(self) -> list[Any]:
        return [json.loads(line) for key in self.bucket.keys() for line in self.bucket.get(key).splitlines()]  # noqa: SIM118
