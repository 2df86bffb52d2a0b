"""Work on connectors for which nobody waits: what goes wrong in it makes the connector FAILED."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from connect.errors import ConnectError
from connect.herder.current_operations import CurrentOperations
from connect.herder.keyed_queues import KeyedQueues
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.worker.hosts import ConnectorCallError

log = logging.getLogger("connect.herder")

T = TypeVar("T")


class ConnectorWork:
    """One piece of work after another for each connector, side by side for different ones. For many threads.

    Args:
        at_once: for how many connectors at the same time.
        operations: told of what is being done.
        failed: told that a connector FAILED, its trace, and the kind of the error.
    """

    def __init__(
        self, at_once: int, operations: CurrentOperations, failed: Callable[[str, str, ErrorKind], None]
    ) -> None:
        self._queues = KeyedQueues(at_once)
        self._operations = operations
        self._failed = failed
        self._ending = False

    def turn(self, name: str, work: Callable[[], T]) -> Future[T]:
        """Do something for a connector when its turn comes; what goes wrong is for whoever holds the future."""
        return self._queues.submit(name, work)

    def submit(self, name: str, what: str, work: Callable[[], None]) -> Future[None]:
        """Do something for a connector when its turn comes, unless the worker is ending by then."""

        def run() -> None:
            if not self._ending:
                self.or_fail(name, what, work)

        return self._queues.submit(name, run)

    def or_fail(self, name: str, what: str, work: Callable[[], None]) -> None:
        """Do it now. While the worker is ending nothing is said of what goes wrong."""
        try:
            with self._operations.enter(what):
                work()
        except Exception as error:
            if self._ending:
                return
            log.error("%s", error, extra={"about": name}, exc_info=not isinstance(error, ConnectError))
            if isinstance(error, ConnectorCallError):
                self._failed(name, error.trace, error.kind)
            else:
                self._failed(name, traceback.format_exc(), kind_of(error))

    def idle(self, name: str) -> Future[None]:
        """See `KeyedQueues.idle`."""
        return self._queues.idle(name)

    @property
    def is_ending(self) -> bool:
        """Whether the worker is."""
        return self._ending

    def ending(self) -> None:
        """The worker is ending: what was submitted and has not begun is left out."""
        self._ending = True

    def close(self) -> None:
        """Begin nothing more, and wait for what is being done."""
        self._queues.close()
