"""What a process uses, as Linux tells it under /proc."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float | None:
    """The time that a process has spent on processors; None when it is gone."""
    try:
        # The name, in parentheses, may hold anything; utime and stime are the 12th and 13th field behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    except (OSError, ValueError, IndexError):
        return None


def pss_bytes(pid: int) -> int | None:
    """The memory of a process, what it shares with others divided among them; None when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
