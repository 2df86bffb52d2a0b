"""The time that a worker which stops may still take."""

from __future__ import annotations

import time
from typing import Final

#: For all that says good-bye after the graceful time: to the group, for tasks that were killed, in the status topic.
_GOODBYES_S: Final = 1.0
_LEAST_S: Final = 0.05


class Ending:
    """How long a worker that is stopping may still take: its graceful time and a second for closing connections (P11).

    Args:
        graceful: seconds.
    """

    def __init__(self, graceful: float) -> None:
        self._until = time.monotonic() + graceful + _GOODBYES_S

    def left(self) -> float:
        """Seconds left, never quite none: where brokers answer, a moment is enough."""
        return max(_LEAST_S, self._until - time.monotonic())
