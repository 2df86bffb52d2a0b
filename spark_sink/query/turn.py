"""Starts queries one after another: Spark gives the Python processes of each 10 s to answer, and no key changes that.

Many that start at once do not make it on a busy machine, end, and start at once again (SPARK-45245).
"""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO, Any, Final

#: What Spark says of a query whose source's Python process is not there yet.
_BEGINNING: Final = ("Initializing", "Getting offsets")
#: A query that needs longer holds up no other.
_LONGEST_S: Final = 30.0


class Turn:
    """The order of starts among the queries of a task, or of all tasks that share a Spark.

    Args:
        lock: a file that the tasks of a shared Spark have in common; None where a task has its own Spark.
    """

    def __init__(self, lock: Path | None) -> None:
        self._lock = lock
        self._held: IO[str] | None = None
        self._running: Any = None
        self._until = 0.0

    def comes(self) -> bool:
        """Whether a query may start now. If it does, call `begun`."""
        if self.is_taken():
            return False
        if self._lock is not None and self._held is None:
            held = self._lock.open("a")
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.close()
                return False
            self._held = held
        return True

    def begun(self, running: Any) -> None:
        """A query of this task is starting; None when it is not after all."""
        self._running, self._until = running, time.monotonic() + _LONGEST_S
        self.is_taken()

    def is_taken(self) -> bool:
        """Whether a query of this task is starting. Once it has started the next one may."""
        if self._running is not None and time.monotonic() < self._until and _is_beginning(self._running):
            return True
        self._running = None
        if self._held is not None:
            self._held.close()
            self._held = None
        return False


def _is_beginning(running: Any) -> bool:
    return bool(running.isActive and str(running.status.get("message", "")).startswith(_BEGINNING))
