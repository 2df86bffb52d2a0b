"""A small file by which a task's process says up to when its query may begin something new: the end of its lease.

A query runs on in Spark while the process that answers for it hangs or has lost its lease (P3). So whoever offers Spark
new offsets looks here first. Both are on one machine; where they are not, there is no such file, and the target's
transactions alone keep a late writer out.
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
        """Let work begin up to this moment of the boot-time clock; 0: not at all, for now."""
        os.pwrite(self._file, _MOMENT.pack(moment), 0)

    def close(self) -> None:
        """End the lease and remove the file."""
        self.hold_until(0.0)
        os.close(self._file)
        self.path.unlink(missing_ok=True)


def lease_is_over(path: str) -> bool:
    """Whether the lease has run out. A file that says 0, or is not to be seen from here, does not tell.

    For what is under way and may be finished: a paused connector's batch, but not one whose owner may be another now.
    """
    until = _read(path)
    return until is not None and until != 0.0 and time.clock_gettime(_CLOCK) >= until


def work_may_begin(path: str) -> bool:
    """Whether the lease still holds. Where there is no file it does not."""
    until = _read(path)
    return until is not None and time.clock_gettime(_CLOCK) < until


def _read(path: str) -> float | None:
    try:
        with Path(path).open("rb", buffering=0) as file:
            read = file.read(_MOMENT.size)
    except OSError:
        return None
    return float(_MOMENT.unpack(read)[0]) if len(read) == _MOMENT.size else None
