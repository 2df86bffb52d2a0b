"""The number of records that are due."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

#: How many seconds of records are caught up on after a halt.
CAUGHT_UP_S = 1.0


class Unbounded:
    """As many as there is room for."""

    def due(self, most: int) -> tuple[int, float]:
        """The number that is due now, at most this many, and if none: in how many seconds one will be."""
        return most, 0.0


class Steady:
    """This many a second, evenly.

    Args:
        rate: records a second, above 0.
        clock: seconds.
        caught_up: after a halt, records of at most so many seconds are caught up on.
    """

    def __init__(
        self, rate: float, clock: Callable[[], float] = time.monotonic, caught_up: float = CAUGHT_UP_S
    ) -> None:
        self._each = 1 / rate
        self._clock = clock
        self._caught_up = caught_up
        self._next = clock()

    def due(self, most: int) -> tuple[int, float]:
        """See `Unbounded.due`."""
        now = self._clock()
        self._next = max(self._next, now - max(self._caught_up, self._each))
        if now < self._next:
            return 0, self._next - now
        count = min(most, int((now - self._next) / self._each) + 1)
        self._next += count * self._each
        return count, 0.0


class Pauses:
    """A pause of any length up to the longest before each.

    Args:
        longest: seconds.
        clock: seconds.
        caught_up: after a halt, records of at most so many seconds are caught up on.
    """

    def __init__(
        self, longest: float, clock: Callable[[], float] = time.monotonic, caught_up: float = CAUGHT_UP_S
    ) -> None:
        self._longest = longest
        self._clock = clock
        self._caught_up = caught_up
        self._next = clock() + self._pause()

    def due(self, most: int) -> tuple[int, float]:
        """See `Unbounded.due`."""
        now = self._clock()
        self._next = max(self._next, now - self._caught_up)
        count = 0
        while count < most and self._next <= now:
            count += 1
            self._next += self._pause()
        return count, 0.0 if count else self._next - now

    def _pause(self) -> float:
        return random.random() * self._longest  # noqa: S311 - a pause, no secret


Pace = Unbounded | Steady | Pauses
