"""Ends a process with its parent, even while it is blocked in C with the interpreter lock held (P3).

Linux sends the signal (prctl PR_SET_PDEATHSIG): worker -> fork server -> task, so no thread of the task has to run. A
reaper process would need a guard itself. The signal is bound to the thread of the parent that created the child: the
fork server is started by a thread that lives as long as the worker.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have this process killed when `parent`, its parent process, dies.

    Ends it at once when that has already happened.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        os._exit(1)


def die_with_server() -> None:
    """In a process that a fork server created: die with that server, which dies with the worker."""
    preloaded = sys.modules.get("connect.worker.preload")
    if preloaded is not None:
        die_with(preloaded.SERVER_PID)
