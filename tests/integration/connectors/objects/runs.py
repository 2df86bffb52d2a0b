"""What the tests share: a run of the sink over a bucket, and waiting for what is durable."""

import json
from collections.abc import Mapping
from typing import Any

from connect.testing import SinkRun
from connectors.azure import AzureBlobSinkConnector
from connectors.gcs import GcsSinkConnector
from connectors.objects.sink.connector import ObjectSinkConnector
from tests.integration.connectors.s3.sink_runs import PLACE, await_committed
from tests.servers.object_stores import AzureContainer, Objects

__all__ = ["PLACE", "await_committed", "numbers", "of", "rows", "sink_run"]


def of(bucket: Objects) -> type[ObjectSinkConnector]:
    """The connector that writes to a bucket."""
    return AzureBlobSinkConnector if isinstance(bucket, AzureContainer) else GcsSinkConnector


def sink_run(bucket: Objects, config: Mapping[str, str] | None = None, **more: Any) -> SinkRun:
    """A run of the sink into a bucket."""
    return SinkRun(of(bucket), {**bucket.config, **bucket.retries, "retry.backoff.ms": "0", **(config or {})}, **more)


def rows(count: int, start: int = 0) -> list[dict[str, int]]:
    return [{"n": n} for n in range(start, start + count)]


def numbers(bucket: Objects) -> list[int]:
    """The field n of all records in all objects, sorted."""
    return sorted(json.loads(line)["n"] for key in bucket.keys() for line in bucket.get(key).splitlines())  # noqa: SIM118
