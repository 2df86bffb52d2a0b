"""Processes of this machine: binding them to a parent, finding descendants, ending them by their ids."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True)
class Process:
    """A process of this machine, distinguished by its start from a later one with the same id."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        stat = _stat(self.pid)
        return stat is not None and stat[19] == self.started and stat[0] not in "ZX"

    def kill(self) -> None:
        """End it at once, if the id still is this process."""
        if self.is_alive():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it was quicker


def process(pid: int) -> Process | None:
    """The process that has this id now."""
    stat = _stat(pid)
    return Process(pid, stat[19]) if stat else None


def descendants(pid: int) -> list[Process]:
    """Children, their children and so on."""
    found = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        try:
            threads = list(Path(f"/proc/{parent}/task").iterdir())
            children = [int(each) for thread in threads for each in (thread / "children").read_text().split()]
        except OSError:
            continue  # it ended meanwhile
        waiting += children
        found += [each for child in children if (each := process(child))]
    return found


def end(processes: Iterable[Process], within: float) -> None:
    """Wait this many seconds for processes that are ending, then kill what is left."""
    left = list(processes)
    if not eventually(lambda: not any(each.is_alive() for each in left), within):
        for each in left:
            each.kill()
        eventually(lambda: not any(each.is_alive() for each in left), 1.0)


def eventually(holds: Callable[[], bool], within: float) -> bool:
    """Whether a condition becomes true within this many seconds."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


#: Becomes the program. What it sets holds across exec.
_LAUNCHER: Final = """
import ctypes, os, signal, sys
parent, program = int(sys.argv[1]), sys.argv[2:]
signal.signal(signal.SIGINT, signal.SIG_IGN)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
if os.getppid() == parent:
    os.execv(program[0], program)
"""


def dying_with_parent(command: Sequence[str]) -> list[str]:
    """The command that runs a program so that it is killed when the thread that starts it ends.

    Ctrl+C goes to this process only; the program is ended in order. On other systems than Linux programs notice by the
    end of their standard input. `preexec_fn` cannot do this: where gRPC has threads, code between fork and exec may
    abort.

    Args:
        command: of the program, with its path.
    """
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on: [0] the state, [19] when it started."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return text.rpartition(") ")[2].split()
