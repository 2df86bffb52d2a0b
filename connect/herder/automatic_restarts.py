"""Restarts what FAILED after the pause that the policy gives it, if nothing has changed until then."""

from __future__ import annotations

import heapq
import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from connect.errors import ConfigError
from connect.herder.restart_policy import Decision, History, RestartPolicy, decide
from connect.pipeline.error_kinds import ErrorKind
from connect.storage import ConnectorStatus, MemoryStatusStore, RestartNote, State, TaskStatus

log = logging.getLogger("connect.herder")

#: A connector (None), or one of its tasks.
Part = tuple[str, int | None]

_NOT_SURE_S = 1.0  # when to ask again whether we are in the group


@dataclass(slots=True, eq=False)
class _Due:
    """A scheduled restart. It counts only while it is the one that is stored for its connector or task."""

    part: Part
    wanted: Any
    delay: float


class AutomaticRestarts:
    """Restarts connectors and tasks that this worker owns. Safe to use from many threads.

    Before a restart everything is checked again: that the worker is in its group, that it still owns the connector or
    task, that the desired state is the one at the time of the failure, and that the published state is still this
    worker's FAILED. Any request of a user, and giving up the work, cancels scheduled restarts and clears their history.

    Args:
        statuses: of the cluster.
        worker_id: this worker's.
        policy: of a connector, by its name. May raise ConfigError.
        wanted: how a connector or task should run here; equal to an earlier answer as long as nothing has changed. None
            when this worker does not own it, or it should not run.
        live: whether this worker is certainly in its group at this moment.
        submit: runs an operation on a connector after those before it: name, description, operation.
        restart: restarts a connector or task, as such an operation.
    """

    def __init__(
        self,
        statuses: MemoryStatusStore,
        worker_id: str,
        policy: Callable[[str], RestartPolicy],
        wanted: Callable[[str, int | None], Any],
        live: Callable[[], bool],
        submit: Callable[[str, str, Callable[[], None]], object],
        restart: Callable[[str, int | None], None],
    ) -> None:
        self._statuses = statuses
        self._worker_id = worker_id
        self._policy = policy
        self._wanted = wanted
        self._live = live
        self._submit = submit
        self._restart = restart
        self._history: dict[Part, History] = {}
        self._due: dict[Part, _Due] = {}
        # What is told of a restart and what is to come of it change together.
        self._lock = threading.RLock()
        self._timer = _Timer(self._is_due)

    def failed(
        self, name: str, number: int | None, kind: ErrorKind, tell: Callable[[RestartNote | None], None]
    ) -> None:
        """A connector or task of this worker FAILED: decide, publish the decision, and then schedule the restart.

        `tell` gets the part of the status that describes it; None where the policy is off.
        """
        part = (name, number)
        wanted = self._wanted(name, number)
        policy = self._policy_of(name)
        chance = random.random()  # noqa: S311 - jitter, not a secret
        with self._lock:
            decision = decide(policy, kind, self._history.get(part, History()), time.monotonic(), chance)
            due = None
            self._due.pop(part, None)
            if decision.delay is not None and wanted is not None:
                due = self._due[part] = _Due(part, wanted, decision.delay)
            self._history[part] = decision.history
            tell(_note(kind, decision, due) if policy.on else None)
        about = {"about": _about(part)}
        if due is not None:
            log.info("will be restarted in %.3g s (%s)", due.delay, decision.why, extra=about)
            self._timer.after(due.delay, due)
        elif policy.on and wanted is not None:
            log.warning("will not be restarted automatically: %s", decision.why, extra=about)

    def cancel(self, name: str, number: int | None) -> None:
        """A user acts on a connector (None) or on one of its tasks."""
        part = (name, number)
        with self._lock:
            self._history.pop(part, None)
            if self._due.pop(part, None) is not None:
                log.info("will not be restarted automatically: a user acts", extra={"about": _about(part)})
                if (status := self._failed_here(part)) is not None:
                    self._statuses.put(replace(status, restart=None))

    def cancel_all(self, name: str) -> None:
        """A user acts on a connector and all its tasks."""
        with self._lock:
            for part in [part for part in {**self._history, **self._due} if part[0] == name]:
                self.cancel(*part)

    def forget(self, parts: Iterable[Part]) -> None:
        """This worker no longer owns these, or they no longer exist."""
        with self._lock:
            for part in parts:
                self._due.pop(part, None)
                self._history.pop(part, None)

    def close(self) -> None:
        """Restart nothing from now on."""
        self._timer.close()

    def _is_due(self, due: _Due) -> None:
        """Called on the timer's thread."""
        name, number = due.part
        if self._due.get(due.part) is due:
            what = f"connector {name}" if number is None else f"task {name}-{number}"
            self._submit(name, f"restarting {what}, which failed", lambda: self._now(due))

    def _now(self, due: _Due) -> None:
        """Called as an operation on the connector: earlier operations are done, and may have changed everything."""
        name, number = due.part
        with self._lock:
            if self._due.get(due.part) is not due:
                return
            if not self._live():
                self._timer.after(_NOT_SURE_S, due)
                return
            del self._due[due.part]
            if self._failed_here(due.part) is None or self._wanted(name, number) != due.wanted:
                return
            self._history[due.part] = self._history.get(due.part, History()).with_restart(time.monotonic())
        log.info("is restarted automatically", extra={"about": _about(due.part)})
        self._restart(name, number)

    def _failed_here(self, part: Part) -> ConnectorStatus | TaskStatus | None:
        """The published state, if it is a FAILED of this worker."""
        name, number = part
        found: Iterable[ConnectorStatus | TaskStatus | None] = [self._statuses.connector(name)]
        if number is not None:
            found = [status for status in self._statuses.tasks(name) if status.task == number]
        failed = (one for one in found if one is not None and one.state is State.FAILED)
        return next((one for one in failed if one.worker_id == self._worker_id), None)

    def _policy_of(self, name: str) -> RestartPolicy:
        try:
            return self._policy(name)
        except ConfigError as error:
            log.warning("%s Nothing is restarted automatically.", error, extra={"about": name})
            return RestartPolicy(on=False)


def _note(kind: ErrorKind, decision: Decision, due: _Due | None) -> RestartNote:
    at_ms = None if due is None else int((time.time() + due.delay) * 1000)
    return RestartNote(kind.value, len(decision.history.restarts), at_ms, decision.why)


def _about(part: Part) -> str:
    name, number = part
    return name if number is None else f"{name}-{number}"


class _Timer:
    """One thread that calls back at given times, earliest first; started on first use."""

    def __init__(self, call: Callable[[_Due], None]) -> None:
        self._call = call
        self._waiting: list[tuple[float, int, _Due]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def after(self, seconds: float, due: _Due) -> None:
        """Call back with this after so many seconds."""
        with self._changed:
            heapq.heappush(self._waiting, (time.monotonic() + seconds, next(self._numbers), due))
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="restarts", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(10)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._waiting or self._waiting[0][0] > time.monotonic()):
                    wait = self._waiting[0][0] - time.monotonic() if self._waiting else None
                    self._changed.wait(wait if wait is None else max(0.0, wait))
                if self._closed:
                    return
                _, _, due = heapq.heappop(self._waiting)
            self._call(due)
