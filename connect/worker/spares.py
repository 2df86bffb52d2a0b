"""Spare processes: they have loaded an engine before there is a task for them. A JVM takes seconds to start.

A worker has them for engines that it runs. For the first task of one, it is begun while its connector is looked at; the
tasks behind it find one that is ready.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from connect.worker import pack_process
from connect.worker.messages import Spare
from connect.worker.processes import ChildProcess

log = logging.getLogger("connect.worker")

#: The next is not started beside the task that has taken one: that one has the processors first.
QUIET_S: Final = 3.0
#: Behind the last task of an engine: who restarts it finds one.
KEPT_S: Final = 60.0


class Spares:
    """The spare processes of a worker. Methods may be called from any thread.

    Args:
        wanted: how many wait for each engine.
        worker_config: the worker's configuration.
    """

    def __init__(self, wanted: int = 0, worker_config: Mapping[str, str] | None = None) -> None:
        self._wanted = wanted
        self._config = dict(worker_config or {})
        self._waiting: dict[str, list[ChildProcess]] = {}
        self._users: Counter[str] = Counter()
        self._expected: dict[str, float] = {}  # until when, on the monotonic clock
        self._folders: dict[str, str | None] = {}
        self._timers: dict[str, threading.Timer] = {}
        self._closed = False
        self._lock = threading.Lock()
        self._tending = threading.Lock()

    def expect(self, engine: str, folder: str | None) -> None:
        """A task may come: begin a process for it now, unless one waits. It ends if none comes. See `take`."""
        with self._lock:
            self._expected[engine] = time.monotonic() + KEPT_S
            self._folders[engine] = folder
        self._tend_in(0, engine)

    def take(self, engine: str, folder: str | None) -> ChildProcess | None:
        """One that a task is to have, None where none waits. `left` is to be called when that task's process ends.

        Args:
            engine: the task's.
            folder: its plug-in's.
        """
        found = None
        with self._lock:
            self._users[engine] += 1
            self._folders[engine] = folder
            waiting = self._waiting.get(engine, [])
            while waiting and found is None:
                found = _living(waiting.pop(0))
        self._tend_in(QUIET_S, engine)
        return found

    def left(self, engine: str) -> None:
        """A process that uses an engine has ended."""
        with self._lock:
            self._users[engine] -= 1
            in_use = self._users[engine] > 0
        if not in_use:
            self._tend_in(KEPT_S, engine)

    def close(self) -> None:
        """End them all; none is started any more."""
        with self._lock:
            self._closed = True
            for timer in self._timers.values():
                timer.cancel()
        with self._tending, self._lock:
            over = [child for waiting in self._waiting.values() for child in waiting]
            self._waiting.clear()
        _end(over)

    def _tend_in(self, seconds: float, engine: str) -> None:
        with self._lock:
            self._schedule(seconds, engine)

    def _schedule(self, seconds: float, engine: str) -> None:
        """The same, with the lock."""
        if self._closed or not self._wanted:
            return
        if before := self._timers.get(engine):
            before.cancel()
        timer = self._timers[engine] = threading.Timer(seconds, self._tend, (engine,))
        timer.daemon = True
        timer.start()

    def _tend(self, engine: str) -> None:
        """Start those that are missing while the engine is in use or about to be, end them when it is not."""
        with self._tending:
            with self._lock:
                waiting = self._waiting.setdefault(engine, [])
                in_use = self._users[engine] > 0
                expected = not in_use and time.monotonic() < self._expected.get(engine, 0.0)
                wanted = self._wanted if (in_use or expected) and not self._closed else 0
                over, waiting[wanted:] = waiting[wanted:], []
                missing = wanted - len(waiting)
                spare = Spare(engine, self._config, self._folders.get(engine))
                if expected:
                    self._schedule(KEPT_S, engine)
            _end(over)
            for _ in range(missing):
                try:
                    child = ChildProcess(pack_process.main, msgspec.msgpack.encode(spare))
                except OSError as error:
                    log.info("No spare process for tasks on %s: %s", engine, error)
                    return
                with self._lock:
                    waiting.append(child)


def _living(child: ChildProcess) -> ChildProcess | None:
    """The child, None when it has ended."""
    if child.alive:
        return child
    child.reap()
    return None


def _end(children: list[ChildProcess]) -> None:
    for child in children:
        with contextlib.suppress(OSError):
            child.kill()
            child.reap()
