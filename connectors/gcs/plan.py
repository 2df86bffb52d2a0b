"""What follows from the keys of the sink."""

from __future__ import annotations

import re

from connectors.gcs.keys import GcsSinkOptions
from connectors.objects.sink.key_limits import KeyLimits
from connectors.objects.sink.plan import SinkPlan


class GcsSinkPlan(SinkPlan, GcsSinkOptions):
    """The plan, with the store's keys."""

    reach = ("gcs.",)
    key_limits = KeyLimits(
        forbidden=re.compile(r"[\r\n]"), reserved=re.compile(r"\.\.?\Z|\.well-known/acme-challenge/")
    )

    @property
    def namespace(self) -> str:
        return f"gs://{self.bucket}"
