"""How much memory open files and uploads take, all together, and waiting for some to be free."""

from __future__ import annotations

import threading


class Memory:
    """A budget in bytes. Taking never waits: whoever may wait asks for `room` before it takes.

    Attributes:
        limit: what should not be exceeded.
        used: what is taken now.
        most: the most that was ever taken.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.most = 0
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        """Take so much; a size below 0, where what is held turned out smaller, is released."""
        with self._changed:
            self.used += size
            self.most = max(self.most, self.used)
            if size < 0:
                self._changed.notify_all()

    def release(self, size: int) -> None:
        """Give back what was taken."""
        self.take(-size)

    def wake(self) -> None:
        """Let whoever waits look again, for another reason."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait so long at most for some to be given back, or for `wake`."""
        with self._changed:
            self._changed.wait(seconds)

    def room(self, seconds: float) -> bool:
        """Wait so long at most for memory to be free, or for `wake`. Whether there is some."""
        with self._changed:
            if self.used < self.limit:
                return True
            self._changed.wait(seconds)
            return self.used < self.limit
