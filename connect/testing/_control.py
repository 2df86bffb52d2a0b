"""The worker that a task in a test believes to have: it wants what the test wants."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.errors import ConnectError
from connect.storage.memory_offsets import MemoryOffsetStore
from connect.worker.control import Stopping
from connect.worker.messages import Message, Paused


class MemoryControl:
    """Stands in for `connect.worker.control.Control`.

    Args:
        connector: its name.
        offsets: where source offsets are.
        pause: gives the turn to the test.

    Attributes:
        paused, stopping: what the test wants.
        alive: whether the task still holds its lease. One without stores and commits nothing any more.
    """

    def __init__(self, connector: str, offsets: MemoryOffsetStore, pause: Callable[[], None]) -> None:
        self.paused = False
        self.stopping = False
        self.alive = True
        self._pausing = False
        self._connector = connector
        self._offsets = offsets
        self._pause = pause

    def turn(self) -> None:
        """The end of the task's turn. Raises `Stopping` when the test has ended the task meanwhile."""
        self._pause()
        self.check()

    def check(self) -> None:
        if self.stopping:
            raise Stopping

    def proceed(self) -> None:
        self.check()

    def owned(self) -> bool:
        return self.alive

    def wait(self, seconds: float) -> None:
        # The loop waits when it is paused, and when a poll brought nothing: then the next poll gives the turn back.
        if self._pausing:
            self.turn()
        self.check()

    def sleep(self, seconds: float) -> None:
        # Only between the retries of a record, whose time-out is measured in real time.
        self.check()
        time.sleep(seconds)

    def send(self, message: Message) -> None:
        if isinstance(message, Paused):
            self._pausing = message.paused

    def ask_offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        found = self._offsets.get(self._connector, partitions)
        return [None if offset is None else dict(offset) for offset in found]

    def store_offsets(
        self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]], timeout: float | None = None
    ) -> None:
        if not self.alive:
            raise ConnectError("The task has lost its lease.")
        self._offsets.set(self._connector, entries)
