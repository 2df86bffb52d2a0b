"""Starts processes from a fork server that has the runtime loaded already (16-55 ms each, most memory shared).

The fork server is started by the worker's main thread and dies with it; so do its children (see `guard`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess

from connect.worker.channel import Channel

_context = multiprocessing.get_context("forkserver")


def start_server() -> None:
    """Start the fork server. Call it from a thread that lives as long as the worker: its end ends all children."""
    _context.set_forkserver_preload(["connect.worker.preload"])
    forkserver.ensure_running()


class ChildProcess:
    """A process that was started, and this end of its control pipe.

    Attributes:
        channel: to it.
        pid: its id.
    """

    def __init__(self, name: str, target: Callable[[bytes, socket.socket], None], spec: bytes) -> None:
        self.channel, theirs = Channel.pair()
        self._process: BaseProcess = _context.Process(target=target, args=(spec, theirs), name=name, daemon=True)
        self._process.start()
        theirs.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def sentinel(self) -> int:
        """A file descriptor that becomes readable when the process has ended."""
        return self._process.sentinel

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.is_alive()

    def kill(self) -> None:
        """End it at once. Harmless when it has ended."""
        if self._process.is_alive():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def reap(self) -> int:
        """Wait for its end, and release what it held here.

        Returns:
            the exit code; -n after signal n.
        """
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        self.channel.close()
        return code if code is not None else 255


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.Signals._value2member_map_ else str(-code)
        hint = " The kernel does this when memory runs out." if name == "SIGKILL" else ""
        return f"The task's process was ended by {name}.{hint}"
    return f"The task's process ended by itself with exit code {code}."
