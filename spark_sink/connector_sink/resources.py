"""What a Python worker of Spark keeps from one write of a connector to the next, and whether it may still write."""

from __future__ import annotations

import logging
import os
import time
from typing import Final

from connect.delivery.error_outputs import ErrorOutputs, TaskConfigs
from connect.errors import ConnectError
from connect.kafka.clients.settings import task_client_settings
from connect.kafka.reading.consume import ROWS_PER_BATCH
from connect.pipeline import Chain
from connect.plugins import Plugins
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.lease_file import lease_is_over

log = logging.getLogger(__name__)

#: What was not used for so long is closed: a connector may be gone, while others keep this process busy.
_IDLE_S: Final = 300.0
_LOOK_S: Final = 0.2
_LEASE_S: Final = 0.05


class Orphaned(ConnectError):
    """Spark's processes have ended, so nobody would learn what is written."""


class Alive:
    """Checks that this Python worker still works for a task that holds the connector's lease.

    Spark kills the Python worker of a task that it ends, which also ends a wait. Only a worker whose Spark was killed
    has to notice that itself: its parent process changes then.

    Args:
        lease_file: see `WritePlan`.
    """

    def __init__(self, lease_file: str = "") -> None:
        self._parent = os.getppid()
        self._lease_file = lease_file

    def check(self) -> None:
        """Wait until the lease is held, then return (P3). Raises Orphaned."""
        self._look()
        while self._lease_file and lease_is_over(self._lease_file):
            time.sleep(_LEASE_S)
            self._look()

    def _look(self) -> None:
        if os.getppid() != self._parent:
            raise Orphaned("The Spark process that this Python worker belonged to is gone: it writes nothing more.")

    def pause(self, seconds: float) -> None:
        """Wait this long, then as `check`. Raises Orphaned."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
            self._look()
        self.check()


class Resources:
    """A connector's converters and transformations, and the producer of its dead letters.

    Not its sink task: Spark alternates between processes for the writes of one task (seen in practice), and only one
    instance of a task may exist at a time (P3).

    Args:
        plan: see there.
        number: of the sink task.

    Attributes:
        chain: bytes -> values -> transformations.
        error_outputs: writes dead letters, where there are any.
        most: the most records of one put.
        alive: checked by everything that waits.

    Raises:
        ConfigError: a class or a setting is wrong.
    """

    def __init__(self, plan: WritePlan, number: int) -> None:
        plugins = Plugins.discover(plan.plugin_path)
        self.alive = Alive(plan.lease_file)
        self.chain: Chain = plan.rows.chain(plugins, plan.worker_config, plan.connector_config, self.alive.pause)
        task = TaskConfigs(plan.connector, number, plan.worker_config, plan.connector_config)
        self.error_outputs = ErrorOutputs(task, self.chain.policy, plugins, self.alive.check)
        clients = task_client_settings("consumer", plan.worker_config, plan.connector_config)
        self.most: int = clients.runtime.get("max.poll.records", ROWS_PER_BATCH)
        self.used = time.monotonic()

    def close(self) -> None:
        """Release everything; errors are logged."""
        for close in (self.chain.close, self.error_outputs.close):
            try:
                close()
            except Exception as error:  # plug-ins raise anything
                log.error("While closing: %s: %s", type(error).__name__, error, exc_info=error)


_kept: dict[tuple[str, int], Resources] = {}


def take(plan: WritePlan, number: int) -> Resources:
    """The resources of a write: kept ones, or new ones. The caller gives them back or closes them."""
    now = time.monotonic()
    for key in [key for key, resources in _kept.items() if now - resources.used > _IDLE_S]:
        _kept.pop(key).close()
    return _kept.pop((plan.key(), number), None) or Resources(plan, number)


def give_back(plan: WritePlan, number: int, resources: Resources) -> None:
    """Keep the resources of a successful write for the next one, if they can serve it."""
    if not resources.chain.keeps_nothing:  # the write may be repeated all the same
        resources.close()
        return
    resources.used = time.monotonic()
    _kept[plan.key(), number] = resources
