"""The processes of executors on this machine: found, and made to hang."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil

#: What the command line of an executor's JVM has.
EXECUTOR: Final = "CoarseGrainedExecutorBackend"


def below(parent: psutil.Process, what: str) -> list[psutil.Process]:
    """This process and all below it, as far as their command line has this."""
    found = []
    for process in (parent, *parent.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if what in " ".join(process.cmdline()):
                found.append(process)
    return found


@contextmanager
def stopped(parent: psutil.Process, what: str = "") -> Iterator[None]:
    """Within, those of `below` hang."""
    hanging = below(parent, what)
    for process in hanging:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in hanging:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
