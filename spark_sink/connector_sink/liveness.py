"""Whether a Python worker of Spark may go on, and waiting in one: `Alive`."""

from __future__ import annotations

import os
import time
from typing import Final

from connect.errors import ConnectError
from spark_sink.lease_file import lease_is_over

_LOOK_S: Final = 0.2
_LEASE_S: Final = 0.05


class Orphaned(ConnectError):
    """Spark's processes are gone; nobody would learn of what is written."""


class Alive:
    """Whether this Python worker still works for somebody who holds the connector's lease.

    Spark kills the Python worker of a task that it ends, so a wait needs no other end than that. Only a worker whose
    Spark was killed itself has to notice by itself: its parent is another process then.

    Args:
        lease_file: see `WritePlan`.
    """

    def __init__(self, lease_file: str = "") -> None:
        self._parent = os.getppid()
        self._lease_file = lease_file

    def check(self) -> None:
        """Return when the next write may begin: it waits while the lease is over (P3). Raises Orphaned."""
        self._look()
        while self._lease_file and lease_is_over(self._lease_file):
            time.sleep(_LEASE_S)
            self._look()

    def _look(self) -> None:
        if os.getppid() != self._parent:
            raise Orphaned("The Spark process that this Python worker belonged to is gone: it writes nothing more.")

    def pause(self, seconds: float) -> None:
        """Wait so long, and then as `check` does. Raises Orphaned."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
            self._look()
        self.check()
