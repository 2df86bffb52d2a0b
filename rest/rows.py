"""Logs repeated events in few lines, so that no client can fill a log by repeating a request."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

log = logging.getLogger("connect.rest")

#: So long without one more, and it is over.
_CALM_S: Final = 5.0
#: How often it is said again while it goes on.
_AGAIN_S: Final = 60.0


class Row:
    """One kind of event. Logged when it begins, once a minute while it continues, and with the count when it is over.

    Args:
        begins: the first message, with the names of details in braces.
        ends: the last message, before the count.
    """

    def __init__(self, begins: str, ends: str) -> None:
        self._begins = begins
        self._ends = ends
        self._count = 0
        self._told_at = 0.0
        self._over: asyncio.TimerHandle | None = None

    def one(self, **details: Any) -> None:
        """It happens once more. In an event loop."""
        loop = asyncio.get_running_loop()
        self._count += 1
        if self._over is None:
            log.warning("%s", self._begins.format(**details))
            self._told_at = loop.time()
        else:
            self._over.cancel()
            if loop.time() >= self._told_at + _AGAIN_S:
                log.warning("%s So far %d times.", self._begins.format(**details), self._count)
                self._told_at = loop.time()
        self._over = loop.call_later(_CALM_S, self._end)

    def _end(self) -> None:
        log.info("%s %d.", self._ends, self._count)
        self._count, self._over = 0, None
