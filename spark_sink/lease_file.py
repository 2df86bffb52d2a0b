"""A small file with the end of a task's lease, until which its query may start new work.

A query continues in Spark while the process that is responsible for it hangs or has lost its lease (P3). So whoever
offers Spark new offsets reads this file first. Both are on one machine; where they are not, there is no such file, and
only the target's transactions keep a late writer out.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import Final

_MOMENT: Final = struct.Struct("<d")
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class LeaseFile:
    """The writing side, in the task's process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.hold_until(0.0)

    def hold_until(self, moment: float) -> None:
        """Allow new work until this moment of the boot-time clock; 0: none, for now."""
        os.pwrite(self._file, _MOMENT.pack(moment), 0)

    def close(self) -> None:
        """End the lease and remove the file."""
        self.hold_until(0.0)
        os.close(self._file)
        self.path.unlink(missing_ok=True)


def lease_is_over(path: str) -> bool:
    """Whether the lease has run out. False for a file that says 0, or cannot be read here.

    For work that has begun and may be finished: a paused connector's batch, but not one that may have another owner
    now.
    """
    until = _read(path)
    return until is not None and until != 0.0 and time.clock_gettime(_CLOCK) >= until


def work_may_begin(path: str) -> bool:
    """Whether the lease still holds. Without a file it does not."""
    until = _read(path)
    return until is not None and time.clock_gettime(_CLOCK) < until


def _read(path: str) -> float | None:
    try:
        with Path(path).open("rb", buffering=0) as file:
            read = file.read(_MOMENT.size)
    except OSError:
        return None
    return float(_MOMENT.unpack(read)[0]) if len(read) == _MOMENT.size else None
