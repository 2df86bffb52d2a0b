"""The worker of a task in a test: its commands are the test's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.errors import ConnectError
from connect.storage.offsets import MemoryOffsetStore
from connect.worker.control import Stopping
from connect.worker.messages import Message


class MemoryControl:
    """Replaces `connect.worker.control.Control`.

    Args:
        connector: its name.
        offsets: of sources.
        pause: gives the turn to the test.

    Attributes:
        paused, stopping: the test's commands.
        polled: whether the loop has polled since its last wait.
        alive: whether the task still holds its lease. Without it nothing is stored or committed any more.
    """

    def __init__(self, connector: str, offsets: MemoryOffsetStore, pause: Callable[[], None]) -> None:
        self.paused = False
        self.stopping = False
        self.alive = True
        self.polled = False
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

    def await_lease(self) -> None:
        self.check()

    def holds_lease(self) -> bool:
        return self.alive

    def wait(self, seconds: float) -> None:
        # A loop that polls gives the turn back there. One that only waits (paused, or for the broker) does so here.
        if not self.polled:
            self.turn()
        self.polled = False
        self.check()

    def sleep(self, seconds: float) -> None:
        # Only between the retries of a record, whose time-out is measured in real time.
        self.check()
        time.sleep(seconds)

    def set_activity(self, what: str) -> None:
        """Nothing supervises a stuck task here but the test itself."""

    def send(self, message: Message) -> None:
        """Progress and the like are not needed here."""

    def ask_offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        found = self._offsets.get(self._connector, partitions)
        return [None if offset is None else dict(offset) for offset in found]

    def store_offsets(
        self, entries: Sequence[tuple[dict[str, Any], dict[str, Any] | None]], timeout: float | None = None
    ) -> None:
        if not self.alive:
            raise ConnectError("The task has lost its lease.")
        self._offsets.set(self._connector, entries)
