"""One process at a time: a lock on a file that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

# A process does not exclude itself with this kind of lock, and would lose it by closing a second one.
_held: set[Path] = set()


class Locked(Exception):
    """Another process, or this one, holds the lock. `pid` is None when it could not be found out."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"locked by process {pid}")
        self.pid = pid


class FileLock:
    """Takes the lock, or raises `Locked`; OSError when the file cannot be made.

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
        """Let others have it. The file stays: to remove it would race with who opens it now."""
        if self._path in _held:
            _held.discard(self._path)
            os.close(self._file)
