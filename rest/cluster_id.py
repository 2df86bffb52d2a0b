"""The id of the Kafka cluster, which `GET /` tells. Brokers that are away hold up no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from rest.forwarding import in_thread

#: How long an answer waits for it. Whoever asks `GET /` again and again, as probes do, may have no more patience.
_PATIENCE_S: Final = 3.0


class ClusterId:
    """Asks for it, once at a time. For one event loop.

    Args:
        ask: asks the brokers, which may take long; None where none answers.
    """

    def __init__(self, ask: Callable[[], str | None]) -> None:
        self._ask = ask
        self._asked: asyncio.Task[str | None] | None = None

    async def get(self) -> str | None:
        """The id; None while it is not known."""
        if self._asked is None:
            self._asked = asyncio.create_task(in_thread(self._ask))
            self._asked.add_done_callback(self._answered)
        done, _ = await asyncio.wait([self._asked], timeout=_PATIENCE_S)
        return next((task.result() for task in done), None)

    def _answered(self, task: asyncio.Task[str | None]) -> None:
        if task.cancelled() or task.exception() is not None or task.result() is None:
            self._asked = None  # the next one asks again
