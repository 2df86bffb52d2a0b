"""How fast a counter grows: records per second over the last seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable


class Rate:
    """Growth per second of a total that is looked at now and then.

    Args:
        window: how many seconds back the rate reaches.
        clock: monotonic, in seconds.
    """

    def __init__(self, window: float = 5, clock: Callable[[], float] = time.monotonic) -> None:
        self._window = window
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque()

    def update(self, total: float) -> None:
        """Tell the total as it is now. A smaller one than before means that counting began anew."""
        if self._seen and total < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((self._clock(), total))
        self._forget()

    def per_second(self) -> float:
        """Growth per second over the window; 0 before there is anything to compare, and when nothing moves."""
        self._forget()
        if not self._seen:
            return 0.0
        since, first = self._seen[0]
        elapsed = self._clock() - since
        return (self._seen[-1][1] - first) / elapsed if elapsed > 0 else 0.0

    def _forget(self) -> None:
        # One that is older than the window stays, as where the window began.
        while len(self._seen) > 1 and self._seen[1][0] <= self._clock() - self._window:
            self._seen.popleft()
