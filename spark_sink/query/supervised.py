"""What every task on the Spark engine does: opens a session, runs queries in it, supervises and ends them.

Derived classes define the queries. A query that ends with an error ends the task, with Spark's cause in the trace; the
worker's restart policy decides what follows.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from connect.api.engine import EngineProgress, EngineTask
from connect.errors import ConnectError, RetriableError
from spark_sink.error_translation import translate_error
from spark_sink.known_errors import SessionLost
from spark_sink.lease_file import LeaseFile, work_may_begin
from spark_sink.query.polled import PolledQuery
from spark_sink.query.progress import QueryProgress
from spark_sink.query.settings import QueryOptions
from spark_sink.query.turn import Turn
from spark_sink.session import Session, class_archive, open_session
from spark_sink.session.folders import locked_folder
from spark_sink.session.masters import Kind, master_of

log = logging.getLogger("connect.spark")


#: How often in a row a query restarts in its session after what passes, each time after a longer pause.
_TRIES: Final = 5
_LONGEST_PAUSE_S: Final = 20.0
#: How long a task that is to stop waits for a batch that is being written; all of it has a few seconds.
_FINISH_S: Final = 2.5
#: Where a Spark Connect server is on this machine.
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class GivenUp(ConnectError):
    """The task has to stop: a wait was given up."""


class Query:
    """One streaming query of a task.

    Attributes:
        name: unique within the connector, and part of its checkpoint's path.
        running: the StreamingQuery; None before it began, and after it ended.
        done: whether it has ended because everything was read (`trigger=available_now`).
        progress: see there.
        due: when it may begin, on the monotonic clock.
        tries: the number of restarts in a row, without having read more than `tried_at` rows.
    """

    def __init__(self, name: str, progress: QueryProgress) -> None:
        self.name = name
        self.running: Any = None
        self.done = False
        self.progress = progress
        self.due = 0.0
        self.tries = 0
        self.tried_at = -1


class SupervisedTask(EngineTask):
    """Runs queries of one connector. For one thread (see `EngineTask`)."""

    session: Session
    lease_file: LeaseFile

    def start(self, *, paused: bool) -> None:
        context = self.context
        self._paused = paused
        self.queries: list[Query] = []
        self._rests = QueryOptions.parse(context.connector_config).trigger != "interval"
        self._held: dict[str, Any] = {}  # queries that go on without the lease file, and their last report before that
        folder, lock = locked_folder()
        context.exit_stack.callback(lock.close)
        context.exit_stack.callback(shutil.rmtree, folder, ignore_errors=True)
        self.lease_file = LeaseFile(folder / "lease")
        context.exit_stack.callback(self.lease_file.close)
        began = time.monotonic()
        log.info("starting Spark")
        config = self._config = {**_spark_keys(context.worker_config), **context.connector_config}
        self.session = open_session(
            config,
            context.connector,
            plugin_path=context.plugin_path,
            redact=context.redact,
            stopping=context.stopping,
        )
        context.exit_stack.callback(self.session.close)
        self._classes = class_archive.Maker(config)
        context.exit_stack.callback(self._classes.stop)
        self._page = self.session.page
        log.info("Spark is there after %.1f s%s", time.monotonic() - began, self._page and f", its page {self._page}")
        self._turn = Turn(self.session.turns)
        self._open_gate()
        self._prepared = self.translated(self.prepare)

    # What heirs say.

    @abstractmethod
    def prepare(self) -> None:
        """Determine where to begin; add to `queries`. The session is open."""

    @abstractmethod
    def begin(self, query: Query) -> Any:
        """Start a query. Returns its StreamingQuery; None when it is too early, for a later try."""

    def recover(self, query: Query, error: BaseException) -> bool:
        """A query ended with an error. Whether it restarts, rather than failing the task."""
        return False

    def is_done(self, query: Query) -> bool:
        """A query ended without an error. Whether it has read everything, and did not merely lose its lease."""
        return True

    def look_around(self) -> None:
        """Called regularly between batches: report, find new topics."""

    # The engine's side.

    def watch(self, seconds: float) -> EngineProgress:
        self._open_gate()
        self.translated(self._begin_all)
        self._wait(seconds)
        self.translated(self._look_after)
        self.translated(self._hold_back)
        if any(query.progress.rows for query in self.queries):
            self._classes.start()
        return self.told()

    def pause(self) -> None:
        self._paused = True
        self._open_gate()

    def resume(self) -> None:
        self._paused = False
        self._open_gate()

    def stop(self) -> None:
        self.lease_file.hold_until(0.0)  # nothing new begins
        self._let_finish()
        interrupted = [query for query in self.queries if self._is_busy(query)]
        for query in self.queries:
            self._end(query)
        if self._prepared:
            self.last_report(interrupted)

    def _let_finish(self) -> None:
        """Wait a moment for batches that are being written: an interrupted one may be written, and not reported."""
        deadline = time.monotonic() + _FINISH_S
        while time.monotonic() < deadline and any(self._is_busy(query) for query in self.queries):
            time.sleep(0.05)
        for query in self.queries:
            if query.running is not None:
                try:
                    query.progress.take(query.running)
                except Exception as error:  # Spark may be gone
                    log.debug("%s", error)

    @staticmethod
    def _is_busy(query: Query) -> bool:
        try:
            return query.running is not None and bool(query.running.status["isTriggerActive"])
        except Exception as error:  # Spark may be gone
            log.debug("%s", error)
            return False

    def last_report(self, interrupted: Sequence[Query]) -> None:
        """Called when all queries have ended and the session is still open, if `prepare` was not given up.

        Those that were interrupted have not told the end of a batch, which may be written all the same.
        """

    def _open_gate(self) -> None:
        self.lease_file.hold_until(0.0 if self._paused else self.context.lease_until())

    def may_begin(self) -> bool:
        """Whether new work may begin: the connector is not paused, and its lease holds."""
        return work_may_begin(str(self.lease_file.path))

    @property
    def paused(self) -> bool:
        """Whether no new work may begin."""
        return self._paused

    def driver_is_here(self) -> bool:
        """Whether Spark's driver sees this machine's files."""
        master = master_of(self._config)
        return master.kind is not Kind.CONNECT or master.addresses[0][0] in _HERE

    def folder_of_this_machine(self) -> str:
        """The default folder of checkpoints, on this machine. Another machine begins at the group's offsets."""
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        return (Path(base) / "connect-runtime" / "spark" / "checkpoints" / self.context.connector).as_uri()

    def keep_going(self) -> None:
        """Called by long waits. Raises GivenUp when the task has to stop."""
        if self.context.stopping():
            raise GivenUp("The task is to stop.")
        self._open_gate()

    def translated(self, work: Callable[[], None]) -> bool:
        """Run an operation of Spark; its errors are translated into messages that a user can act on.

        Returns:
            False when it was given up, because the task has to stop.
        """
        try:
            work()
            return True
        except GivenUp:
            return False
        except ConnectError:
            raise
        except Exception as error:
            if (ended := self.session.ended()) is not None:
                raise ended from error
            raise translate_error(error) from error

    def _begin_all(self) -> None:
        if not self.may_begin():
            return
        self._turn.is_taken()  # it may be over
        for query in self.queries:
            if query.running is None and not query.done and time.monotonic() >= query.due:
                if not self._turn.comes():
                    return
                query.running = self.begin(query)
                self._turn.begun(query.running)

    def _wait(self, seconds: float) -> None:
        running = next((query.running for query in self.queries if query.running is not None), None)
        if running is None:
            time.sleep(seconds)
            return
        try:
            running.awaitTermination(seconds)
        except Exception as error:  # told when the query is looked after
            log.debug("%s", error)

    def _look_after(self) -> None:
        for query in self.queries:
            if query.running is None:
                continue
            query.progress.take(query.running)
            if not query.running.isActive:
                self._ended(query)
        self.look_around()

    def _hold_back(self) -> None:
        """While no new work may begin, end the queries that do not hear of it, each behind the batch that it writes.

        The driver of a Spark Connect server elsewhere sees no lease file.
        """
        if self.driver_is_here() or self.may_begin():
            self._held.clear()
            return
        for query in self.queries:
            if query.running is None or isinstance(query.running, PolledQuery):
                continue
            before = self._held.setdefault(query.name, query.progress.newest)
            if query.progress.newest != before or not self._is_busy(query):
                self.end_query(query)

    def _ended(self, query: Query) -> None:
        error = query.running.exception()
        query.progress.take(query.running)
        query.running = None
        if error is None and not self._rests:
            error = RetriableError(
                f'The query "{query.name}" was ended, and Spark gives no error. Somebody has stopped it, or another '
                "query uses its checkpoint: see that no other connector has the same checkpoint.location."
            )
        elif error is None:
            query.done = self.is_done(query)
        if query.done:
            log.info("all that was there when it began is written; it rests until it is restarted")
        elif error is not None and not self.recover(query, error) and not self._goes_on(query, error):
            raise error

    def _goes_on(self, query: Query, error: BaseException) -> bool:
        """Whether a query restarts in the open session, for a transient error: that takes a second or two.

        A new session costs a JVM: that is for the worker's restart, when this has not helped.
        """
        found = translate_error(error)
        if not isinstance(found, RetriableError) or isinstance(found, SessionLost) or self.session.ended() is not None:
            return False
        query.tries = query.tries + 1 if query.progress.rows == query.tried_at else 1
        query.tried_at = query.progress.rows
        if query.tries > _TRIES:
            return False
        pause = min(_LONGEST_PAUSE_S, 2.0 ** (query.tries - 1)) * random.uniform(0.5, 1)  # noqa: S311 - spreads them
        query.due = time.monotonic() + pause
        log.warning("%s The query restarts in %.1f s (%d of %d).", found, pause, query.tries, _TRIES)
        return True

    def end_query(self, query: Query) -> None:
        """Stop a query, which may restart."""
        self._end(query)
        query.running = None

    def _end(self, query: Query) -> None:
        if query.running is None:
            return
        try:
            query.running.stop()
        except Exception as error:  # the session goes in any case
            log.debug("While the query %s was stopped: %s", query.name, error)

    def told(self) -> EngineProgress:
        """The progress of the queries."""
        progress = [query.progress for query in self.queries]
        rows = sum(each.rows for each in progress)
        lags = [each.lag for each in progress]
        return EngineProgress(
            read=rows,
            written=sum(each.written for each in progress),
            lag=-1 if -1 in lags or not lags else sum(lags),
            errors=sum(each.errors for each in progress),
            topics=frozenset(topic for each in progress for topic in each.topics),
            busy=any(map(self._is_busy, self.queries)),
            failing=self.failing(),
            page=self._page,
        )

    def failing(self) -> str:
        """What keeps failing; empty when all is well."""
        return ""


def _spark_keys(worker: Any) -> dict[str, str]:
    """The worker's defaults for all its connectors on Spark."""
    return {key: value for key, value in worker.items() if key.startswith("spark.")}
