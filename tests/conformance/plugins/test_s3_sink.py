"""The S3 sink keeps the conformance suite for sinks, on a real server."""

import json
import uuid
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from connect.testing.conformance import SinkConformance
from connectors.s3.sink import S3SinkConnector

if TYPE_CHECKING:
    from tests.servers.s3 import S3Server

pytestmark = pytest.mark.slow


class TestS3Sink(SinkConformance):
    connector = S3SinkConnector
    repeats: ClassVar[Literal["harmless", "duplicates"]] = "harmless"

    @pytest.fixture(autouse=True)
    def _server(self, s3: "S3Server") -> None:
        self.bucket = s3.bucket(f"c-{uuid.uuid4().hex[:10]}")

    def config(self) -> dict[str, str]:
        return {"name": "numbers", **self.bucket.config}

    def value(self, number: int) -> Any:
        return {"number": number}

    def written(self) -> list[Any]:
        return [json.loads(line) for key in self.bucket.keys() for line in self.bucket.get(key).splitlines()]  # noqa: SIM118
