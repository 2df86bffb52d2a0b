"""Starts processes from a fork server that has loaded the runtime (16-55 ms each, most memory shared).

The server is multiprocessing's. Its `Process` is not used: that would run the worker's main module again in every
child. The fork server is started by the worker's main thread and dies with it; so do its children (see `guard`).
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver, reduction, resource_tracker
from typing import Final

from connect.worker.channel import Channel

Target = Callable[[bytes, socket.socket], None]

#: How long a fork server that was just killed may refuse connections before it is seen to be dead and replaced.
_SERVER_GONE_S = 10.0

_starter = ThreadPoolExecutor(1, thread_name_prefix="fork-server")


def start_server() -> None:
    """Start the fork server, if it does not run."""
    multiprocessing.set_forkserver_preload(["connect.worker.preload"])
    _starter.submit(_ensure_running).result()


def _ensure_running() -> None:
    resource_tracker.ensure_running()  # the fork server's, which takes the mask of this thread away
    # The terminal's Ctrl-C goes to all processes, and the server would show where Python was just then. It inherits the
    # mask, until it has a handler: see `connect.worker.preload`.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    forkserver.ensure_running()


class ChildProcess:
    """A process that was started, and this end of its control pipe.

    Args:
        target: what it runs, a module's function; called with `spec` and the other end of the pipe.
        spec: its argument.

    Attributes:
        channel: to it.
        pid: its id.
        sentinel: a file descriptor that becomes readable when it has ended, or when the fork server has, which ends it.
        gone: a file descriptor that becomes readable when the process executes nothing any more.
    """

    def __init__(self, target: Target, spec: bytes) -> None:
        self.channel, theirs = Channel.pair()
        start = io.BytesIO()
        reduction.dump({}, start)  # nothing to prepare: no main module, no search path
        reduction.dump(_Begin(target, spec), start)
        with theirs:
            self.pid, self.sentinel, self.gone = _fork(start.getvalue(), theirs.fileno())

    @property
    def alive(self) -> bool:
        """Whether it still runs. Not after `reap`."""
        return not _readable(self.gone, 0)

    def kill(self) -> None:
        """End it at once. Does nothing when it has ended. Not after `reap`."""
        try:
            signal.pidfd_send_signal(self.gone, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def reap(self) -> int:
        """Wait for its end, and release its resources here.

        Returns:
            the exit code; -n after signal n; 255 when the fork server is gone and the code is unknown.
        """
        try:
            code: int = forkserver.read_signed(self.sentinel)
        except (EOFError, OSError):
            code = 255
            self.kill()  # as the kernel does now: nobody may take it for dead before
        _readable(self.gone, None)
        os.close(self.sentinel)
        os.close(self.gone)
        self.channel.close()
        return code


def _readable(fd: int, milliseconds: int | None) -> bool:
    poll = select.poll()  # select() itself knows no file descriptor above 1023
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(milliseconds))


def _fork(start: bytes, end: int) -> tuple[int, int, int]:
    """Have the fork server create a process. Returns its id, its sentinel and the descriptor that signals its end.

    The process waits for `start`, so it cannot run anything, or end, before its id is known here.
    """
    deadline = time.monotonic() + _SERVER_GONE_S
    while True:
        # The fork server has closed its standard input; a task may be there to read the worker's.
        asked = _starter.submit(forkserver.connect_to_new_process, [end, _standard_input()])
        try:
            sentinel, write = asked.result()
        except OSError:
            # It was killed a moment ago, and is not yet seen to be dead. The next try starts another one.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        with os.fdopen(write, "wb", buffering=0) as pipe:
            try:
                pid: int = forkserver.read_signed(sentinel)
                gone = os.pidfd_open(pid)
            except (EOFError, ProcessLookupError):
                os.close(sentinel)
                if time.monotonic() > deadline:
                    raise
                continue
            with contextlib.suppress(BrokenPipeError):  # it has ended already, as will be noticed
                pipe.write(start)
        return pid, sentinel, gone


class _Begin:
    """What the fork server unpickles and runs in the child."""

    def __init__(self, target: Target, spec: bytes) -> None:
        self._target = target
        self._spec = spec

    def _bootstrap(self, parent_sentinel: int) -> int:
        os.close(parent_sentinel)
        end, standard_input = forkserver.get_inherited_fds() or (-1, -1)
        os.dup2(standard_input, 0)
        os.close(standard_input)
        try:
            self._target(self._spec, socket.socket(fileno=end))
        except BaseException:
            traceback.print_exc()
            return 1
        finally:
            sys.stdout.flush()
        return 0


def _standard_input() -> int:
    try:
        os.fstat(0)
    except OSError:  # the worker was started without one
        return os.open(os.devnull, os.O_RDONLY)
    return 0


#: Of a JVM with -XX:+ExitOnOutOfMemoryError.
_JVM_OUT_OF_MEMORY: Final = 3


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.Signals._value2member_map_ else str(-code)
        hint = " The kernel does this when memory runs out." if name == "SIGKILL" else ""
        return f"The task's process was ended by {name}.{hint}"
    hint = " A JVM does this when its heap is full: see -Xmx in java.options." if code == _JVM_OUT_OF_MEMORY else ""
    return f"The task's process ended by itself with exit code {code}.{hint}"
