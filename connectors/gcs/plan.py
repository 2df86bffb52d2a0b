"""What follows from the keys of the sink."""

from __future__ import annotations

from connectors.gcs.keys import GcsSinkOptions
from connectors.objects.sink.plan import SinkPlan


class GcsSinkPlan(SinkPlan, GcsSinkOptions):
    """The plan, with the store's keys."""

    reach = ("gcs.",)

    @property
    def namespace(self) -> str:
        return f"gs://{self.bucket}"
