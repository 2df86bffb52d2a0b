"""Work on connectors: one piece after another for each connector, side by side for different ones.

A connector that hangs keeps one thread and its own queue; nobody else waits for it (P6).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class KeyedQueues:
    """Queues of work by name. Safe to use from many threads.

    Args:
        at_once: for how many names at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="herder")
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, name: str, work: Callable[[], T]) -> Future[T]:
        """Do this when everything that was submitted for this name before is done. Cancelled after `close`."""
        done: Future[T] = Future()

        def run() -> None:
            if self._closed or not done.set_running_or_notify_cancel():
                done.cancel()
                return
            try:
                result = work()
            except BaseException as error:
                done.set_exception(error)
            else:
                done.set_result(result)

        with self._lock:
            if self._closed:
                done.cancel()
                return done
            queue = self._waiting.get(name)
            if queue is not None:
                queue.append(run)
                return done
            self._waiting[name] = deque([run])
        self._threads.submit(self._run, name)
        return done

    def close(self) -> None:
        """Begin nothing more, and wait for what is being done."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(cancel_futures=True)

    def _run(self, name: str) -> None:
        """Do one piece, then let others have the thread."""
        with self._lock:
            work = self._waiting[name][0]
        work()
        with self._lock:
            queue = self._waiting[name]
            queue.popleft()
            if not queue:
                del self._waiting[name]
                return
        try:
            self._threads.submit(self._run, name)
        except RuntimeError:  # closed in between
            with self._lock:
                left = self._waiting.pop(name)
            for work in left:
                work()  # cancels it
