"""Operations on connectors that nobody waits for: an error in one makes the connector FAILED."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from connect.errors import ConnectError
from connect.herder.current_operations import CurrentOperations
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.worker.background import KeyedQueues
from connect.worker.hosts import ConnectorCallError

log = logging.getLogger("connect.herder")

#: Seconds. A connector whose target does not answer may take a minute to start. Many such must not hold up the others.
LONG_S: Final = 5.0

T = TypeVar("T")


class ConnectorWork:
    """Runs operations of one connector one after another, those of different connectors in parallel. For many threads.

    Args:
        at_once: for how many connectors at the same time, not counting those that take longer than `LONG_S`.
        operations: notes what is being done.
        failed: called when a connector FAILED, with its trace and the kind of the error.
    """

    def __init__(
        self, at_once: int, operations: CurrentOperations, failed: Callable[[str, str, ErrorKind], None]
    ) -> None:
        self._queues = KeyedQueues(at_once, LONG_S)
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
