"""Adopts processes whose parents end before them, and waits for their end.

Fork servers, JVMs and brokers outlive their starters by a moment. They then belong to the first process of the machine,
which in a container may reap them late or never. A program that is done only when all are gone adopts them.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Be the parent of every descendant whose own parent ends (Linux; elsewhere the system's first process is)."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def wait_for(child: subprocess.Popen[bytes]) -> int:
    """The exit code of a child; adopted processes that end before it are reaped at once, and do not stay as zombies."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)  # looks, and takes nothing
        if ended is not None and ended.si_pid == child.pid:
            return child.wait()
        if ended is not None:
            os.waitpid(ended.si_pid, 0)


def reap(within: float) -> bool:
    """Wait until no child is left; for a process that starts no more. Returns whether that was within these seconds."""
    deadline = time.monotonic() + within
    while True:
        try:
            reaped, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not reaped:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
