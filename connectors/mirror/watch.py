"""A thread of a connector that does its chores at their times, and says when something has become different."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from connect import ConnectError, RetriableError, Waiter
from connect.api.connector import ConnectorContext

_STOP_S: Final = 2.0
#: The shortest and the longest time that it sleeps.
_LEAST_S: Final = 0.05
_MOST_S: Final = 3600.0
#: How long until a look that failed is tried again.
_AGAIN_S: Final = 5.0
#: After so many in a row that do not pass by themselves the connector fails.
_REFUSALS: Final = 3


class Chore(NamedTuple):
    """What is done again and again.

    Attributes:
        run: raises ConnectError where it cannot be done; it is tried again.
        seconds: from one time to the next; None: once, until it is done.
    """

    run: Callable[[], Any]
    seconds: float | None


class Watch(threading.Thread):
    """Looks for the connector's work, and does its chores after each first look.

    Args:
        name: of the thread.
        look: tells what there is to do, in a form that can be compared; first and every `seconds`.
        seconds: None: once.
        chores: what else is to be done.
        context: asked for other tasks when `look` tells something else, and told when it cannot be told for good.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[], Any],
        seconds: float | None,
        chores: Sequence[Chore],
        context: ConnectorContext,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._look = look
        self._seconds = seconds
        self._chores = dict.fromkeys(chores, 0.0)
        self._connector = context
        self._stopped = threading.Event()
        self._looked = threading.Event()
        self._found: Any = None
        self._error: Exception | None = None
        self._waiter = Waiter(name)
        self._waiters = {chore: Waiter(name) for chore in chores}
        self._wanted = False  # somebody went without an answer

    def found(self, seconds: float) -> Any:
        """What there is to do, as soon as it is known.

        Raises:
            RetriableError: not in time.
            ConnectError: a cluster refuses.
        """
        self._looked.wait(seconds)
        if self._found is not None:
            return self._found
        self._wanted = True
        if self._error is not None and not isinstance(self._error, RetriableError):
            raise ConnectError(str(self._error)) from self._error
        raise RetriableError(str(self._error) if self._error else f"The clusters did not answer in {seconds:g} s.")

    def run(self) -> None:
        """Look, and do the chores, until the connector stops."""
        due, refusals = 0.0, 0
        while not self._stopped.is_set():
            if time.monotonic() >= due:
                try:
                    found = self._look()
                except ConnectError as error:
                    self._error = error
                    self._waiter.waits(str(error))
                    refusals = 0 if isinstance(error, RetriableError) else refusals + 1
                    if refusals == _REFUSALS:
                        self._connector.raise_error(error)
                    due = time.monotonic() + _AGAIN_S
                else:
                    changed = self._wanted or (self._found is not None and found != self._found)
                    self._error, self._found, self._wanted, refusals = None, found, False, 0
                    self._waiter.goes_on()
                    if changed:
                        self._connector.request_task_reconfiguration()
                    due = float("inf") if self._seconds is None else time.monotonic() + self._seconds
                self._looked.set()
            if self._found is not None:
                self._do_chores()
            pause = min([due, *self._chores.values()]) - time.monotonic()
            self._stopped.wait(min(max(_LEAST_S, pause), _MOST_S))

    def _do_chores(self) -> None:
        for chore, due in self._chores.items():
            if time.monotonic() < due or self._stopped.is_set():
                continue
            try:
                chore.run()
                self._waiters[chore].goes_on()
                pause = float("inf") if chore.seconds is None else chore.seconds
            except ConnectError as error:
                self._waiters[chore].waits(str(error))
                pause = min(_AGAIN_S, chore.seconds or _AGAIN_S)
            self._chores[chore] = time.monotonic() + pause

    def stop(self) -> None:
        """Let the thread end."""
        self._stopped.set()
        if self.is_alive():
            self.join(_STOP_S)
        for waiter in (self._waiter, *self._waiters.values()):
            waiter.leaves()
