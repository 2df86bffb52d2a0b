"""Python imports this at its start. A file, shared with the suite, says how wrong the clock is and if disks are full.

What jumps: `time.time` and `time.time_ns`, wherever they are called from now on. What does not, because it asks the
kernel itself: `datetime.now`, and clients in C. Clocks that count from the machine's start jump nowhere.

What a full disk refuses: `os.write` into a regular file, or half of what it was given, as a disk that fills up does.
What the suite itself needs is on another disk: notes of writes (`writes-NAME-TASK`).
"""

import errno
import mmap
import os
import stat
import struct
import time

_path = os.environ.get("CHAOS_CLOCK")
if _path:
    with open(_path, "rb") as _file:  # noqa: PTH123  pathlib would slow every start
        _shared = mmap.mmap(_file.fileno(), 16, access=mmap.ACCESS_READ)
    _time, _time_ns, _read = time.time, time.time_ns, struct.Struct("dd").unpack_from
    _write = os.write

    def _jumped() -> float:
        return _time() + _read(_shared)[0]

    def _jumped_ns() -> int:
        return _time_ns() + int(_read(_shared)[0] * 1_000_000_000)

    time.time, time.time_ns = _jumped, _jumped_ns

    def _is_on_disk(descriptor: int) -> bool:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return is_file and "/writes-" not in os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  pathlib would slow every start

    def _written(descriptor: int, data: bytes) -> int:
        if _read(_shared)[1] and descriptor > 2 and _is_on_disk(descriptor):
            if (half := len(data) // 2) and _time_ns() % 2:
                return _write(descriptor, memoryview(data)[:half])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return _write(descriptor, data)

    os.write = _written
