"""How much CPU a task takes, for placement: measured over minutes, so that a moment's work moves nothing."""

from __future__ import annotations

import math

#: Of what was measured so long ago still a third counts.
_MEMORY_S = 300.0
#: A start says nothing of what comes: imports, catching up.
_FIRST_S = 30.0


class CpuShare:
    """Cores of CPU that one process takes. Not for several threads at once."""

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._share: float | None = None

    @property
    def cores(self) -> float | None:
        """1.0 for a core all of the time; None until it was measured."""
        return self._share

    def take(self, moment: float, cpu: float) -> None:
        """At this moment (seconds) it had used so many seconds of CPU in all."""
        if self._last is None:
            self._last = moment, cpu
            return
        seconds, used = moment - self._last[0], cpu - self._last[1]
        if self._share is None and seconds < _FIRST_S:
            return
        if seconds <= 0 or used < 0:
            return
        self._last = moment, cpu
        kept = 0.0 if self._share is None else math.exp(-seconds / _MEMORY_S)
        self._share = kept * (self._share or 0.0) + (1 - kept) * used / seconds
