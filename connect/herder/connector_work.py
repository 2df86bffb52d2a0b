"""Operations on connectors that nobody waits for: an error in one makes the connector FAILED."""

from __future__ import annotations

import logging
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from connect.errors import ConnectError
from connect.herder.background import Background
from connect.herder.current_operations import CurrentOperations
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.worker.hosts import ConnectorCallError

log = logging.getLogger("connect.herder")

T = TypeVar("T")


class ConnectorWork:
    """Runs operations of one connector one after another, those of different connectors in parallel. For many threads.

    Args:
        at_once: for how many connectors at the same time.
        operations: notes what is being done.
        failed: called when a connector FAILED, with its trace and the kind of the error.
    """

    def __init__(
        self, at_once: int, operations: CurrentOperations, failed: Callable[[str, str, ErrorKind], None]
    ) -> None:
        self._queues = KeyedQueues(at_once)
        self._operations = operations
        self._failed = failed
        self._ending = False

    def turn(self, name: str, work: Callable[[], T]) -> Future[T]:
        """Run an operation on a connector after those before it; the returned future gets its error."""
        return self._queues.submit(name, work)

    def submit(self, name: str, what: str, work: Callable[[], Exception | None]) -> Future[Exception | None]:
        """Run an operation on a connector after those before it, unless the worker is stopping by then.

        The result is the error that made the connector FAILED, if one did; else what the operation returns.
        """
        return self._queues.submit(name, lambda: None if self._ending else self.or_fail(name, what, work))

    def or_fail(self, name: str, what: str, work: Callable[[], Exception | None]) -> Exception | None:
        """Run it now, with this result. While the worker is stopping, errors are not reported."""
        try:
            with self._operations.enter(what, name):
                return work()
        except Exception as error:
            if self._ending:
                return None
            log.error("%s", error, extra={"about": name}, exc_info=not isinstance(error, ConnectError))
            if isinstance(error, ConnectorCallError):
                self._failed(name, error.trace, error.kind)
            else:
                self._failed(name, traceback.format_exc(), kind_of(error))
            return error

    def idle(self, name: str) -> Future[None]:
        """See `KeyedQueues.idle`."""
        return self._queues.idle(name)

    @property
    def is_ending(self) -> bool:
        """Whether the worker is stopping."""
        return self._ending

    def ending(self) -> None:
        """The worker is stopping: operations that have not begun are dropped."""
        self._ending = True

    def close(self, within: float) -> None:
        """Begin no operation, and wait this many seconds for those that run."""
        self._queues.close(within)


class KeyedQueues:
    """Queues by name: work of one name runs in order, that of different names in parallel. For many threads.

    Work that hangs blocks one thread and its own queue; nobody else waits for it (P6).

    Args:
        at_once: for how many names at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self._threads = Background("herder", at_once)
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


def then(first: Future[Any], answer: Callable[[], T], until: Callable[[], Future[None]] | None = None) -> Future[T]:
    """A future that is done when this one has succeeded, and after it `until`; it fails as this one does."""
    done: Future[T] = Future()

    def finish(_: Future[Any]) -> None:
        try:
            first.result()
            done.set_result(answer())
        except BaseException as error:
            done.set_exception(error)

    def wait(_: Future[Any]) -> None:
        ended_well = not first.cancelled() and first.exception() is None
        (until() if until is not None and ended_well else first).add_done_callback(finish)

    first.add_done_callback(wait)
    return done
