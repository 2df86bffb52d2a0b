"""Whether processes run, in tests."""

import contextlib
from collections.abc import Iterable

import psutil


def running(pids: Iterable[int]) -> list[psutil.Process]:
    """Those that execute anything: a dead one that nobody has waited for does not."""
    found = []
    for pid in pids:
        try:
            process = psutil.Process(pid)
            if process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                found.append(process)
        except psutil.NoSuchProcess:
            pass
    return found


def is_running(pid: int) -> bool:
    """Whether it executes anything."""
    return bool(running([pid]))


def gone(pids: Iterable[int], within: float = 30.0) -> bool:
    """Whether all of them end in time, in seconds, with their last thread and what it held open."""
    processes = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            processes.append(psutil.Process(pid))
    return not psutil.wait_procs(processes, timeout=within)[1]
