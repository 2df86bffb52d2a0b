"""One process at a time: a lock on a file that ends with the process, even when it is killed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

# This kind of lock does not exclude the process that holds it, which would lose it by closing the file a second time.
_held: set[Path] = set()


class Locked(Exception):
    """Another process, or this one, holds the lock. `pid` is None when it is unknown."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"locked by process {pid}")
        self.pid = pid


class FileLock:
    """Takes the lock, or raises `Locked`; OSError when the file cannot be created.

    A record lock, which a forked child does not inherit: a task that outlives its worker must not hold it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        if self._path in _held:
            raise Locked(os.getpid())
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            written = os.read(self._file, 20).strip()
            os.close(self._file)
            raise Locked(int(written) if written.isdigit() else None) from None
        except OSError:  # a file system without locks
            os.close(self._file)
            raise
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())
        _held.add(self._path)

    def release(self) -> None:
        """Release the lock. The file stays: removing it would race with another process that opens it."""
        if self._path in _held:
            _held.discard(self._path)
            os.close(self._file)
