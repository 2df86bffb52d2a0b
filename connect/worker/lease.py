"""The lease that a task holds while its worker owns it (P3).

The worker renews it over the control pipe only while its membership of the group is live. No poll, put or commit starts
without it. Both sides read the same clock of this machine, which nobody can set back and which continues while the
machine sleeps.
"""

from __future__ import annotations

import threading
import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> float:
    """Seconds since this machine started, sleep included. The same in all its processes."""
    return time.clock_gettime(_CLOCK)


class Lease:
    """The task's side. The thread that reads the control pipe calls `renew`, the task's own thread the rest."""

    def __init__(self, until: float) -> None:
        self._until = until
        self._renewed = threading.Condition()

    def renew(self, until: float) -> None:
        """The worker extends the lease to this moment of `now()`."""
        with self._renewed:
            self._until = max(self._until, until)
            self._renewed.notify_all()

    @property
    def until(self) -> float:
        """The moment of `now()` until which work may start."""
        return self._until

    def valid(self) -> bool:
        """Whether work may start."""
        return now() < self._until

    def wait(self, seconds: float) -> bool:
        """Wait until the lease is valid, for at most this long. Returns whether it is."""
        with self._renewed:
            return self._renewed.wait_for(self.valid, seconds)
