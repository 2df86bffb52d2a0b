"""Background work of a worker that does not delay its exit."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Final

#: For all that says good-bye after the graceful time: to the group, for tasks that were killed, in the status topic.
_GOODBYES_S: Final = 1.0
_LEAST_S: Final = 0.05


class Ending:
    """How long a worker that is stopping may still take: its graceful time and a second for closing connections (P11).

    Args:
        graceful: seconds.
    """

    def __init__(self, graceful: float) -> None:
        self._until = time.monotonic() + graceful + _GOODBYES_S

    def left(self) -> float:
        """Seconds left, never quite none: where brokers answer, a moment is enough."""
        return max(_LEAST_S, self._until - time.monotonic())


class Background:
    """A few threads. The end of the process does not wait for them, as it would for a pool of `concurrent.futures`.

    Args:
        name: of the threads.
        at_once: the maximum number of threads.
    """

    def __init__(self, name: str, at_once: int) -> None:
        self._name = name
        self._at_once = at_once
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._closed = False
        self._open: set[Future[Any]] = set()

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Call this when a thread is free. Raises RuntimeError after `close`."""
        done: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name} has ended")
            self._open = {future for future in self._open if not future.done()} | {done}
            self._work.put((done, call))
            if self._threads < min(self._at_once, len(self._open)):
                self._threads += 1
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
        return done

    def close(self, within: float, *, drop: bool = False) -> None:
        """Accept nothing more, and wait for what was submitted, for at most so many seconds.

        Args:
            within: see there.
            drop: what no thread has begun is cancelled.
        """
        with self._lock:
            self._closed = True
            threads, left = self._threads, list(self._open)
        for done in left if drop else ():
            done.cancel()
        for _ in range(threads):
            self._work.put(None)
        wait(left, within)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            done, call = work
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(call())
            except BaseException as error:
                done.set_exception(error)
