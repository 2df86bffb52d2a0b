"""Background work of a worker that does not delay its exit."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """A few threads. The end of the process does not wait for them, as it would for a pool of `concurrent.futures`.

    Args:
        name: of the threads.
        at_once: the maximum number of threads.
        long: a call that has taken this many seconds counts no longer: another thread takes its place, so that calls
            that hang hold up nobody for longer than that.
    """

    def __init__(self, name: str, at_once: int, long: float = math.inf) -> None:
        self._name = name
        self._at_once = at_once
        self._long = long
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._closed = False
        self._open: set[Future[Any]] = set()
        #: Of the calls that run, when each began, and whether somebody looks again once they are long.
        self._running: dict[Future[Any], float] = {}
        self._looks_again = False

    def submit(self, call: Callable[[], Any]) -> Future[Any]:
        """Call this when a thread is free. Raises RuntimeError after `close`."""
        done: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name} has ended")
            self._open = {future for future in self._open if not future.done()} | {done}
            self._work.put((done, call))
            self._begin_threads()
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

    def _begin_threads(self) -> None:
        """As many as may run for what waits. Call it with the lock."""
        long = self._long_ones()
        for _ in range(min(self._at_once, len(self._open) - long) - (self._threads - long)):
            self._threads += 1
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        if len(self._open) > self._threads and self._long < math.inf and not self._looks_again:
            self._looks_again = True
            timer = threading.Timer(self._long, self._look_again)
            timer.daemon = True
            timer.start()

    def _look_again(self) -> None:
        with self._lock:
            self._looks_again = False
            if not self._closed:
                self._open = {future for future in self._open if not future.done()}
                self._begin_threads()

    def _long_ones(self) -> int:
        if self._long == math.inf:
            return 0
        began = time.monotonic() - self._long
        return sum(since <= began for since in self._running.values())

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            done, call = work
            if not done.set_running_or_notify_cancel():
                continue
            with self._lock:
                self._running[done] = time.monotonic()
            try:
                done.set_result(call())
            except BaseException as error:
                done.set_exception(error)
            with self._lock:
                del self._running[done]
                if self._threads - self._long_ones() > self._at_once and self._work.empty():
                    self._threads -= 1
                    return


class KeyedQueues:
    """Queues by name: work of one name runs in order, that of different names in parallel. For many threads.

    Work that hangs blocks one thread and its own queue; nobody else waits for it longer than `long` says (P6).

    Args:
        at_once: for how many names at the same time.
        long: see `Background`.
    """

    def __init__(self, at_once: int, long: float = math.inf) -> None:
        self._threads = Background("queues", at_once, long)
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._idle: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, name: str, work: Callable[[], T]) -> Future[T]:
        """Run this after everything that was submitted for this name before. Cancelled after `close`.

        It runs in the context of who submits it: in the trace of a request, perhaps.
        """
        done: Future[T] = Future()
        context = copy_context()

        def run() -> None:
            if self._closed or not done.set_running_or_notify_cancel():
                done.cancel()
                return
            try:
                result = context.run(work)
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
        self._go_on(name)
        return done

    def idle(self, name: str) -> Future[None]:
        """Done when nothing is left to do for this name, including what is submitted until then."""
        with self._lock:
            if name in self._waiting:
                return self._idle.setdefault(name, Future())
        return finished(None)

    def close(self, within: float = 0.0) -> None:
        """Begin nothing more, and wait this many seconds for what runs."""
        with self._lock:
            self._closed = True
        self._threads.close(within)

    def _go_on(self, name: str) -> None:
        try:
            self._threads.submit(partial(self._run, name))
        except RuntimeError:  # closed in between
            with self._lock:
                left, idle = self._waiting.pop(name), self._idle.pop(name, None)
            for work in left:
                work()  # cancels it
            if idle is not None:
                idle.set_result(None)

    def _run(self, name: str) -> None:
        """Run one piece of work, then give the thread to other names."""
        with self._lock:
            work = self._waiting[name][0]
        work()
        with self._lock:
            queue = self._waiting[name]
            queue.popleft()
            if queue:
                idle = None
            else:
                del self._waiting[name]
                idle = self._idle.pop(name, None)
        if queue:
            self._go_on(name)
        elif idle is not None:
            idle.set_result(None)


def finished(result: T) -> Future[T]:
    """A future that is already done."""
    done: Future[T] = Future()
    done.set_result(result)
    return done
