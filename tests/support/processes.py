"""Whether processes run, in tests."""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from tests.support.waiting import until


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


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Within, a process stands still. A signal stops each of its threads when that is next to run, so this waits."""
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: all(_state(thread) == "T" for thread in Path(f"/proc/{pid}/task").iterdir()))
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _state(thread: Path) -> str:
    """A letter, see proc(5)."""
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]
