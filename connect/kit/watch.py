"""Work that changes: a thread of the connector finds it repeatedly, and the tasks share it.

For example:

    class TablesConnector(SourceConnector):
        def start(self, config):
            super().start(config)
            self._watch = Watch("tables", self._list_tables, 60.0, self.context)
            self._watch.start()

        def task_configs(self, max_tasks):
            shares = shared_out(self._watch.found(10.0), max_tasks)
            return [{**self.config, "tables": ",".join(share)} for share in shares]

        def stop(self):
            self._watch.stop()
"""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from connect import ConnectError, RetriableError, Waiter
from connect.api.connector import ConnectorContext

log = logging.getLogger(__name__)

T = TypeVar("T")

_STOP_S: Final = 2.0
#: The shortest and the longest time that it sleeps.
_LEAST_S: Final = 0.05
_MOST_S: Final = 3600.0
#: After so many in a row that do not pass by themselves the connector fails.
_REFUSALS: Final = 3


class Chore(NamedTuple):
    """A periodic operation, beside looking for work.

    Attributes:
        run: what it raises is an outage; it is tried again.
        seconds: the interval; None: once, until it succeeds.
    """

    run: Callable[[], Any]
    seconds: float | None


class Watch(threading.Thread, Generic[T]):
    """Finds the connector's work, requests other tasks when it changes, and runs chores.

    While looking fails, the reason is an outage, and the earlier work counts. After three refusals in a row the
    connector fails: a restarted one reads its password again.

    Args:
        what: is looked for, in the plural, for people: "tables of PostgreSQL host:5432/shop".
        look: finds the work; called on this thread, first at once. Raises RetriableError for transient failures; any
            other error counts as a refusal.
        seconds: the interval; None: once, until it succeeds.
        context: the connector's.
        retry_seconds: the pause after a failed look or chore.
        chores: run after each first look.
        changed: compares earlier and current work: whether that requires other tasks. What it raises is a refusal, too.
        names: of work, to log changes; None logs nothing. Likewise.
        closing: called on this thread at its end.
    """

    def __init__(
        self,
        what: str,
        look: Callable[[], T],
        seconds: float | None,
        context: ConnectorContext,
        *,
        retry_seconds: float = 5.0,
        chores: Sequence[Chore] = (),
        changed: Callable[[T, T], bool] = operator.ne,
        names: Callable[[T], Iterable[object]] | None = None,
        closing: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(name=f"watch {what}", daemon=True)
        self._what = what
        self._look = look
        self._seconds = float("inf") if seconds is None else seconds
        self._connector = context
        self._retry_seconds = retry_seconds
        self._chores = dict.fromkeys(chores, 0.0)
        self._changed = changed
        self._names = names
        self._closing = closing
        self._stopped = threading.Event()
        self._looked = threading.Event()
        self._found: T | None = None
        self._error: Exception | None = None
        self._refusals = 0
        self._wanted = False  # somebody went without an answer
        self._lock = threading.Lock()  # of the work, and whether it is wanted
        self._waiter = Waiter(what)
        self._waiters = {chore: Waiter(what) for chore in chores}

    def found(self, seconds: float) -> T:
        """The work, as soon as it is known. For `task_configs`, which is called again once it is known.

        Raises:
            RetriableError: it is not known in time, or the first look failed and is repeated.
            ConnectError: the first look was refused.
        """
        self._looked.wait(seconds)
        with self._lock:
            if self._found is not None:
                return self._found
            self._wanted = True
            error = self._error
        if error is None:
            raise RetriableError(
                f"The {self._what} were not found in {seconds:g} s, and are still looked for. Check that their server "
                "can be reached."
            )
        raise (RetriableError if isinstance(error, RetriableError) else ConnectError)(str(error)) from error

    def run(self) -> None:
        """Look, and run the chores, until the connector stops."""
        due = 0.0
        while not self._stopped.is_set():
            if time.monotonic() >= due:
                due = self._find() + time.monotonic()
                self._looked.set()
            if self._found is not None:
                self._do_chores()
            pause = min([due, *self._chores.values()]) - time.monotonic()
            self._stopped.wait(min(max(_LEAST_S, pause), _MOST_S))
        self._closing()

    def stop(self) -> None:
        """Let the thread end, and wait for up to two seconds."""
        self._stopped.set()
        if self.is_alive():
            self.join(_STOP_S)
        for waiter in (self._waiter, *self._waiters.values()):
            waiter.leaves()

    def _find(self) -> float:
        """Look once. Returns the seconds until the next time."""
        try:
            found = self._look()
            differs = self._found is not None and self._changed(self._found, found)
            names = [] if self._names is None else list(map(str, self._names(found)))
        except Exception as error:
            self._error = error
            self._waiter.waits(str(error) or type(error).__name__, what=getattr(error, "waits_for", None))
            self._refusals = 0 if isinstance(error, RetriableError) else self._refusals + 1
            if self._refusals == _REFUSALS:
                self._connector.raise_error(error)
            return self._retry_seconds
        with self._lock:  # who asks meanwhile either gets it, or is asked again
            changed = self._wanted or differs
            self._error, self._found, self._wanted, self._refusals = None, found, False, 0
        self._waiter.goes_on()
        if changed:
            if self._names is not None:
                log.info("The %s are now: %s.", self._what, ", ".join(names) or "none")
            self._connector.request_task_reconfiguration()
        return self._seconds

    def _do_chores(self) -> None:
        for chore, due in self._chores.items():
            if time.monotonic() < due or self._stopped.is_set():
                continue
            try:
                chore.run()
                self._waiters[chore].goes_on()
                pause = float("inf") if chore.seconds is None else chore.seconds
            except Exception as error:  # without this thread no work would be found any more
                self._waiters[chore].waits(str(error) or type(error).__name__)
                pause = min(self._retry_seconds, chore.seconds or self._retry_seconds)
            self._chores[chore] = time.monotonic() + pause


def shared_out(work: Sequence[T], tasks: int) -> list[list[T]]:
    """Work for each task, for at most this many: dealt one by one, so that neighbours go to different tasks."""
    count = min(tasks, len(work))
    return [list(work[task::count]) for task in range(count)]
