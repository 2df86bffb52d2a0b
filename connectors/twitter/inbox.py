"""Passes what the stream's thread reads to the task, bounded in bytes (P7)."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from connectors.twitter.failures import ApiError


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection was made.

    Attributes:
        at: in milliseconds since 1970, by X's clock.
        backfill: how many minutes X sends again.
    """

    at: int
    backfill: int


@dataclass(frozen=True, slots=True)
class Closed:
    """A connection ended, or could not be opened.

    Attributes:
        error: why; None for a normal end.
        opened: whether there was a connection.
        pause: seconds until the next try.
        fatal: there is no next try.
    """

    error: Exception | None
    opened: bool
    pause: float = 0.0
    fatal: bool = False

    @property
    def no_rules(self) -> bool:
        """Whether X says that there are no rules."""
        return isinstance(self.error, ApiError) and self.error.status == 409


Item = bytes | Opened | Closed


class Inbox:
    """A queue from one thread to another. When it is full the producer waits."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.bytes = 0

    def put(self, item: Item) -> bool:
        """Add something, as soon as there is room. False after `close`."""
        size = len(item) if isinstance(item, bytes) else 0
        with self._changed:
            while size and self.bytes and self.bytes + size > self._most and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._items.append(item)
            self.bytes += size
            self._changed.notify_all()
            return True

    def take(self, most: int, most_bytes: int, timeout: float) -> list[Item]:
        """The next items, waiting for the first; at most this many and this many bytes, but at least one."""
        deadline = time.monotonic() + timeout
        taken: list[Item] = []
        size = 0
        with self._changed:
            while not self._items and not self._closed and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            while self._items and len(taken) < most:
                item = self._items[0]
                length = len(item) if isinstance(item, bytes) else 0
                if taken and size + length > most_bytes:
                    break
                taken.append(self._items.popleft())
                size += length
            self.bytes -= size
            if size:
                self._changed.notify_all()
        return taken

    def put_back(self, item: Item) -> None:
        """Return an item to the front."""
        with self._changed:
            self._items.appendleft(item)

    def close(self) -> None:
        """From now on nothing is added, and waiting calls return."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
