"""The state of every connector and task, and waiting for one."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from connect.telemetry.outages import Wait
from connect.telemetry.redaction import Redactor, redactor


class State(enum.Enum):
    """What a connector or task does, by the names that the REST API shows."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"


@dataclass(frozen=True, slots=True)
class RestartNote:
    """What becomes of something that FAILED, where restarts are automatic. Beside the state, for those who look for it.

    Attributes:
        kind: of the error, see `connect.pipeline.error_kinds`.
        restarts: how many there were within the policy's window.
        at_ms: when it is restarted, in milliseconds since the epoch; None when it is not.
        why: what of, or why not.
    """

    kind: str
    restarts: int
    at_ms: int | None
    why: str


@dataclass(frozen=True, slots=True)
class WaitNote:
    """What a task waits for while it is RUNNING.

    Attributes:
        since_ms: since when, in milliseconds since the epoch.
        why: a sentence.
    """

    since_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """How a connector is.

    Attributes:
        connector: its name.
        state: what it does.
        worker_id: where, ``host:port``.
        trace: why it FAILED, else None.
        generation: of the group when this was said; 0 in standalone mode.
        version: of the plug-in, None when it says none.
        restart: when it FAILED, whether it is restarted by itself.
    """

    connector: str
    state: State
    worker_id: str
    trace: str | None = None
    generation: int = 0
    version: str | None = None
    restart: RestartNote | None = None


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """How a task is. The attributes are those of `ConnectorStatus`, and these.

    Attributes:
        task: its number.
        stalled: why it moves nothing although it is RUNNING and there is work, else None.
        waiting: what it waits for, a database or brokers that are away, else None.
    """

    connector: str
    task: int
    state: State
    worker_id: str
    trace: str | None = None
    generation: int = 0
    version: str | None = None
    restart: RestartNote | None = None
    stalled: str | None = None
    waiting: WaitNote | None = None


Status = ConnectorStatus | TaskStatus


class MemoryStatusStore:
    """Statuses that last as long as the worker. Safe to use from many threads. Traces are kept without secrets."""

    def __init__(self, secrets: Redactor = redactor) -> None:
        self._secrets = secrets
        self._connectors: dict[str, ConnectorStatus] = {}
        self._tasks: dict[str, dict[int, TaskStatus]] = {}
        self._used: dict[str, dict[str, None]] = {}
        self._listeners: list[Callable[[Status], None]] = []
        self._lock = threading.RLock()

    def put(self, status: Status) -> None:
        """Replace what was known. Tells the listeners, in this thread."""
        if status.trace is not None:
            status = replace(status, trace=self._secrets.redact(status.trace))
        if isinstance(status, TaskStatus) and status.stalled is not None:
            status = replace(status, stalled=self._secrets.redact(status.stalled))
        if isinstance(status, TaskStatus) and (wait := status.waiting) is not None:
            status = replace(status, waiting=replace(wait, why=self._secrets.redact(wait.why)))
        with self._lock:
            if isinstance(status, TaskStatus):
                self._tasks.setdefault(status.connector, {})[status.task] = status
            else:
                self._connectors[status.connector] = status
            listeners = list(self._listeners)
        for listener in listeners:
            listener(status)

    def start(self) -> None:
        """Read what there is. Raises ConnectError."""

    def close(self, within: float) -> None:
        """Write what is under way, for so many seconds at most."""

    @property
    def deaf(self) -> Wait | None:
        """Since when other workers are not heard, because no broker answers; None while they are."""
        return None

    def put_safe(self, status: Status) -> None:
        """Put it unless another worker has spoken since. In memory there is only this one."""
        self.put(status)

    def connector(self, name: str) -> ConnectorStatus | None:
        """How a connector is, None when nothing is known."""
        with self._lock:
            return self._connectors.get(name)

    def connectors(self) -> list[str]:
        """The names of all connectors of which something is known."""
        with self._lock:
            return sorted(self._connectors.keys() | self._tasks.keys())

    def tasks(self, connector: str) -> list[TaskStatus]:
        """How the tasks of a connector are, in order of their numbers."""
        with self._lock:
            return [status for _, status in sorted(self._tasks.get(connector, {}).items())]

    def forget(self, connector: str, task: int | None = None) -> None:
        """Drop one task, or a connector with all its tasks."""
        with self._lock:
            if task is not None:
                tasks = self._tasks.get(connector, {})
                tasks.pop(task, None)
                if not tasks:
                    self._tasks.pop(connector, None)
            else:
                self._connectors.pop(connector, None)
                self._tasks.pop(connector, None)
                self._used.pop(connector, None)

    def forget_connector(self, connector: str) -> None:
        """Drop a connector, but not its tasks."""
        with self._lock:
            self._connectors.pop(connector, None)

    def put_topic(self, connector: str, topic: str, task: int) -> None:
        """A task used a topic (KIP-558)."""
        with self._lock:
            self._used.setdefault(connector, {})[topic] = None

    def topics(self, connector: str) -> list[str]:
        """The topics that a connector used, sorted."""
        with self._lock:
            return sorted(self._used.get(connector, {}))

    def forget_topics(self, connector: str) -> None:
        """Forget them."""
        with self._lock:
            self._used.pop(connector, None)

    def listen(self, listener: Callable[[Status], None]) -> Callable[[], None]:
        """Call with each status from now on; must be quick and not raise. Returns how to end that."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end
