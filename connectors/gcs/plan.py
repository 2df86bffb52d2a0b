"""What follows from the keys of the sink."""

from __future__ import annotations

from connect import ConfigError
from connect.settings import Config
from connectors.gcs.keys import GcsSinkOptions, problems
from connectors.objects.sink.plan import SinkPlan


class GcsSinkPlan(SinkPlan, GcsSinkOptions):
    """The plan, with Google's keys."""

    reach = ("gcs.",)

    def __init__(self, config: Config) -> None:
        """Derive the plan from parsed values. Raises as `SinkPlan`."""
        super().__init__(config)
        for key, why in problems(config):
            raise ConfigError(key, why)
