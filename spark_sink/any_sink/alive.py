"""Waiting in a Python worker of Spark: `Alive`."""

from __future__ import annotations

import os
import time
from typing import Final

from connect.errors import ConnectError

_LOOK_S: Final = 0.2


class Orphaned(ConnectError):
    """Spark's processes are gone; nobody would learn of what is written."""


class Alive:
    """Whether this Python worker still works for somebody.

    Spark kills the Python worker of a task that it ends, so a wait needs no other end than that. Only a worker whose
    Spark was killed itself has to notice by itself: its parent is another process then.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()

    def check(self) -> None:
        """Raises Orphaned when nobody is there any more."""
        if os.getppid() != self._parent:
            raise Orphaned("The Spark process that this Python worker belonged to is gone: it writes nothing more.")

    def pause(self, seconds: float) -> None:
        """Wait so long, and notice when nobody is there any more. Raises as `check` does."""
        until = time.monotonic() + seconds
        self.check()
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
            self.check()
