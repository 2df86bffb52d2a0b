"""The state of every connector and task, and listeners for changes."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from connect.telemetry.outages import Wait
from connect.telemetry.redaction import Redactor, redactor


class State(enum.Enum):
    """The state of a connector or task, by the names that the REST API shows."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"


@dataclass(frozen=True, slots=True)
class RestartNote:
    """What happens to a FAILED connector or task where restarts are automatic. An addition to the state.

    Attributes:
        kind: of the error, see `connect.pipeline.error_kinds`.
        restarts: number of restarts within the policy's window.
        at_ms: when it will be restarted, in milliseconds since the epoch; None when it will not.
        why: what failed, or why there is no restart.
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
    """The status of a connector.

    Attributes:
        connector: its name.
        state: its state.
        worker_id: the worker that runs it, ``host:port``.
        trace: why it FAILED, else None.
        generation: of the group when this was written; 0 in standalone mode.
        version: of the plug-in, None when it has none.
        restart: when it FAILED, whether it is restarted automatically.
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
    """The status of a task. The attributes are those of `ConnectorStatus`, and these.

    Attributes:
        task: its number.
        stalled: why it moves nothing although it is RUNNING and there is work, else None.
        waiting: what it waits for, such as a database or brokers that do not answer, else None.
        page: the address of a page about its work, such as Spark's, else None.
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
    page: str | None = None


Status = ConnectorStatus | TaskStatus


class MemoryStatusStore:
    """Statuses that last as long as the worker. Safe to use from many threads. Secrets in traces are masked."""

    def __init__(self, secrets: Redactor = redactor) -> None:
        self._secrets = secrets
        self._connectors: dict[str, ConnectorStatus] = {}
        self._tasks: dict[str, dict[int, TaskStatus]] = {}
        self._used: dict[str, dict[str, None]] = {}
        self._listeners: list[Callable[[Status], None]] = []
        self._lock = threading.RLock()

    def put(self, status: Status) -> None:
        """Replace the status. Calls the listeners, in this thread."""
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
        """Read the stored statuses. Raises ConnectError."""

    def close(self, within: float) -> None:
        """Finish writes that are under way, within this many seconds."""

    @property
    def deaf(self) -> Wait | None:
        """The wait for brokers, during which statuses of other workers do not arrive; None while there is none."""
        return None

    def put_safe(self, status: Status) -> None:
        """Put it unless another worker has written since. In memory there is only this worker."""
        self.put(status)

    def connector(self, name: str) -> ConnectorStatus | None:
        """The status of a connector, None when it is unknown."""
        with self._lock:
            return self._connectors.get(name)

    def connectors(self) -> list[str]:
        """The names of all connectors that have a status, or whose tasks have one."""
        with self._lock:
            return sorted(self._connectors.keys() | self._tasks.keys())

    def tasks(self, connector: str) -> list[TaskStatus]:
        """The statuses of a connector's tasks, in order of their numbers."""
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
        """Note that a task used a topic (KIP-558)."""
        with self._lock:
            self._used.setdefault(connector, {})[topic] = None

    def topics(self, connector: str) -> list[str]:
        """The topics that a connector used, sorted."""
        with self._lock:
            return sorted(self._used.get(connector, {}))

    def forget_topics(self, connector: str) -> None:
        """Forget the topics that a connector used."""
        with self._lock:
            self._used.pop(connector, None)

    def listen(self, listener: Callable[[Status], None]) -> Callable[[], None]:
        """Call `listener` with each status from now on; it must be quick and not raise. Returns what ends it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end

    def listen_to_removals(self, listener: Callable[[str, int | None], None]) -> None:
        """Call `listener` with what another worker removes: a connector, and the number of a task or None.

        It must be quick and not raise. In memory there is no other worker.
        """
