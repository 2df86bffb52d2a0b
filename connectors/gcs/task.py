"""GcsSinkTask: writes records to the objects of a bucket in Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from connectors.gcs.keys import GcsSinkOptions
from connectors.objects.sink.task import ObjectSinkTask

if TYPE_CHECKING:
    from connectors.objects.sink.plan import SinkPlan
    from connectors.objects.store import Store


class GcsSinkTask(ObjectSinkTask):
    """See `ObjectSinkTask`."""

    settings = GcsSinkOptions.definition()
    kind = "gcs"

    @staticmethod
    def plan(config: Mapping[str, str]) -> SinkPlan:
        from connectors.gcs.plan import GcsSinkPlan

        return GcsSinkPlan.parse(config)

    def store(self, options: SinkPlan, config: Mapping[str, str]) -> Store:
        from connectors.gcs.plan import GcsSinkPlan
        from connectors.gcs.store import GcsStore

        assert isinstance(options, GcsSinkPlan)
        return GcsStore(options)
