"""What a Python worker of Spark keeps from one write of a connector to the next: `Resources`."""

from __future__ import annotations

import logging
import time
from typing import Final

from connect.delivery.error_outputs import ErrorOutputs, TaskConfigs
from connect.kafka.client_settings import task_client_settings
from connect.kafka.consume import ROWS_PER_BATCH
from connect.pipeline import Chain, sink_chain
from connect.plugins import Plugins
from spark_sink.connector_sink.liveness import Alive
from spark_sink.connector_sink.plan import WritePlan

log = logging.getLogger(__name__)

#: What was not used for so long is closed: a connector may be gone, while others keep this process busy.
_IDLE_S: Final = 300.0


class Resources:
    """A connector's converters and transformations, and the producer of its dead letters.

    Not its sink task: Spark hands the writes of one task now to this process and now to that (tried: they alternate
    strictly), and there is one instance of a task at a time (P3).

    Args:
        plan: see there.
        number: of the sink task.

    Attributes:
        chain: bytes -> values -> transformations.
        error_outputs: writes dead letters, where there are any.
        most: at most so many records are put at once.
        alive: for whatever waits.

    Raises:
        ConfigError: a class or a setting is wrong.
    """

    def __init__(self, plan: WritePlan, number: int) -> None:
        plugins = Plugins.discover(plan.plugin_path)
        self.alive = Alive(plan.lease_file)
        self.chain: Chain = sink_chain(plugins, plan.worker_config, plan.connector_config, self.alive.pause)
        task = TaskConfigs(plan.connector, number, plan.worker_config, plan.connector_config)
        self.error_outputs = ErrorOutputs(task, self.chain.policy, plugins, self.alive.check)
        clients = task_client_settings("consumer", plan.worker_config, plan.connector_config)
        self.most: int = clients.runtime.get("max.poll.records", ROWS_PER_BATCH)
        self.used = time.monotonic()

    @property
    def keeps_nothing(self) -> bool:
        """Whether the chain remembers nothing of the records that it has seen: then it serves the next write as well.

        A write that fails is repeated, and a transformation that remembers (Deduplicate) would drop its records then.
        """
        return all(step.apply_one is None for step in self.chain.steps)

    def close(self) -> None:
        """Release what they hold; what goes wrong is logged."""
        for close in (self.chain.close, self.error_outputs.close):
            try:
                close()
            except Exception as error:  # plug-ins raise anything
                log.error("While closing: %s: %s", type(error).__name__, error, exc_info=error)


_kept: dict[tuple[str, int], Resources] = {}


def take(plan: WritePlan, number: int) -> Resources:
    """What a write needs: kept or made anew. The caller gives it back or closes it."""
    now = time.monotonic()
    for key in [key for key, resources in _kept.items() if now - resources.used > _IDLE_S]:
        _kept.pop(key).close()
    return _kept.pop((plan.key(), number), None) or Resources(plan, number)


def give_back(plan: WritePlan, number: int, resources: Resources) -> None:
    """Keep what a write that went well needed for the next one, if it can serve that."""
    if not resources.keeps_nothing:
        resources.close()
        return
    resources.used = time.monotonic()
    _kept[plan.key(), number] = resources
