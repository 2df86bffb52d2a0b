"""GcsSinkConnector: writes topics to the objects of a bucket in Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from connectors.gcs.keys import GcsSinkOptions, problems
from connectors.gcs.task import GcsSinkTask
from connectors.objects.sink.connector import ObjectSinkConnector

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan


class GcsSinkConnector(ObjectSinkConnector):
    """See `ObjectSinkConnector`."""

    settings = GcsSinkOptions.definition()
    needs: ClassVar[Mapping[str, str]] = {
        "google.auth": "connect-runtime[gcs]",
        "requests": "connect-runtime[gcs]",
    }
    task = GcsSinkTask

    @classmethod
    def namespace(cls, options: SinkPlan) -> str:
        assert isinstance(options, GcsSinkOptions)
        return f"gs://{options.bucket}"

    def problems(self, parsed: Mapping[str, Any]) -> list[tuple[str, str]]:
        return problems(parsed)
