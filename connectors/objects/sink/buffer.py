"""The bytes of a file that are not uploaded yet: in memory, and on disk when memory is short."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path


class Buffer:
    """Bytes in order. For one thread at a time.

    Args:
        path: the file on disk that it may use; created when needed.

    Attributes:
        size: all bytes.
        held: those in memory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spilled = 0
        self._chunks: deque[bytes] = deque()
        self.size = 0
        self.held = 0

    def add(self, data: bytes) -> None:
        """Append bytes."""
        if data:
            self._chunks.append(data)
            self.size += len(data)
            self.held += len(data)

    def spill(self) -> int:
        """Move what is in memory to disk. Returns the number of bytes."""
        moved = self.held
        if moved:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            with self._path.open("ab") as file:
                file.writelines(self._chunks)
            self._chunks.clear()
            self._spilled += moved
            self.held = 0
        return moved

    def take(self, size: int) -> bytes:
        """Remove and return the first `size` bytes, or all if there are fewer."""
        found = []
        if self._spilled:
            data = self._path.read_bytes()
            self._path.unlink()
            self._chunks.appendleft(data)
            self.held += self._spilled
            self._spilled = 0
        wanted = size
        while wanted and self._chunks:
            chunk = self._chunks.popleft()
            if len(chunk) > wanted:
                self._chunks.appendleft(chunk[wanted:])
                chunk = chunk[:wanted]
            found.append(chunk)
            wanted -= len(chunk)
        taken = found[0] if len(found) == 1 else b"".join(found)
        self.size -= len(taken)
        self.held -= len(taken)
        return taken

    def clear(self) -> None:
        """Forget everything."""
        if self._spilled:
            self._path.unlink(missing_ok=True)
        self._chunks.clear()
        self._spilled = self.size = self.held = 0


class Memory:
    """A budget in bytes. Taking never waits: callers that may wait call `room` first.

    Attributes:
        limit: how much should not be exceeded.
        used: how much is taken now.
        most: the most that was ever taken.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.most = 0
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        """Take this many bytes; a negative size, when what is held turned out smaller, is released."""
        with self._changed:
            self.used += size
            self.most = max(self.most, self.used)
            if size < 0:
                self._changed.notify_all()

    def release(self, size: int) -> None:
        """Give back what was taken."""
        self.take(-size)

    def wake(self) -> None:
        """Wake waiting threads for another reason."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for a release or `wake`."""
        with self._changed:
            self._changed.wait(seconds)

    def room(self, seconds: float) -> bool:
        """Wait up to `seconds` for free memory or `wake`. Returns whether there is some."""
        with self._changed:
            if self.used < self.limit:
                return True
            self._changed.wait(seconds)
            return self.used < self.limit
