"""Heartbeats: they advance the stored offset while nothing changes that is captured."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

from connect import ConnectError, RetriableError

log = logging.getLogger(__name__)


class Beating(Protocol):
    """A stream of changes: `transaction` is the current one, None between two."""

    @property
    def transaction(self) -> object | None: ...

    def heartbeat(self) -> None:
        """Add a heartbeat, whose offset says that everything before is done."""


class Heartbeats:
    """When the next one is due.

    Args:
        every: so many seconds after the last one; 0 for never.
        action: a statement to run in the database with each; None for none.
    """

    def __init__(self, every: float, action: str | None) -> None:
        self._every = every
        self._action = action
        self._due = time.monotonic() + every

    def beat(self, changes: Beating, run: Callable[[str], object]) -> None:
        """Add a heartbeat if it is due, and no transaction is half done.

        Args:
            run: runs a statement in the database.

        Raises:
            RetriableError: the database did not answer.
        """
        now = time.monotonic()
        if not self._every or now < self._due or changes.transaction is not None:
            return
        self._due = now + self._every
        changes.heartbeat()
        if self._action:
            try:
                run(self._action)
            except RetriableError:
                raise
            except ConnectError as error:
                log.warning("heartbeat.action.query failed: %s", error)
