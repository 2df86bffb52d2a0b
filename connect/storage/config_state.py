"""What the config topic holds: connectors, tasks, target states, session key. Pure: records in, state and events out.

A worker acts on a connector's task configurations only from their commit record on (P4). A commit covers what was
written since the previous commit, never older configurations: compaction may have removed part of the set, and a mix
of two sets was never configured. In that case the connector is inconsistent until the leader rewrites its tasks.

Keys and values are those of Kafka Connect's KafkaConfigBackingStore: schemaless JSON.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from connect.storage.offsets import to_json

log = logging.getLogger("connect.storage")

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TARGET_STATE = "target-state-"
RESTART = "restart-connector-"
LOGGER = "logger-cluster-"
FENCING = "tasks-fencing-"
SESSION_KEY = "session-key"

Target = Literal["STARTED", "PAUSED", "STOPPED"]
_DEFAULT_TARGET: Final[Target] = "STARTED"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key that signs requests between workers (KIP-507).

    Attributes:
        key: its bytes.
        algorithm: as Java names it, such as HmacSHA256.
        created_ms: milliseconds since the epoch.
    """

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class RestartRequest:
    """A user's request to restart a connector (KIP-745)."""

    connector: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class ConfigState:
    """The state after the records up to an offset. Replaced, never changed.

    Attributes:
        offset: after the last record.
        connectors: configurations by name.
        written: the offset of each connector's configuration.
        targets: the connectors' target states. May name a connector that does not exist: read it with `target`.
        task_counts: how many tasks a connector has, from its last commit record. None before the first.
        tasks: committed configurations by connector and task number.
        commits: the offset of a connector's last commit record. A new one means a new generation of tasks.
        applied: the connector configuration for which the tasks were committed.
        inconsistent: connectors some of whose committed tasks are missing.
        fencing: with exactly-once sources, how many tasks of a connector may still have producers. Kept when the
            connector is deleted, because its producers may outlive it.
        pending_fencing: connectors whose tasks must not start before they are fenced.
        session_key: see `SessionKey`.
    """

    offset: int = 0
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)
    targets: Mapping[str, Target] = field(default_factory=dict)
    task_counts: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[tuple[str, int], Mapping[str, str]] = field(default_factory=dict)
    commits: Mapping[str, int] = field(default_factory=dict)
    applied: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    inconsistent: frozenset[str] = frozenset()
    fencing: Mapping[str, int] = field(default_factory=dict)
    pending_fencing: frozenset[str] = frozenset()
    session_key: SessionKey | None = None

    def target(self, connector: str) -> Target:
        """The target state of a connector; STARTED unless a user set another."""
        return self.targets.get(connector, _DEFAULT_TARGET)

    def task_ids(self, connector: str) -> list[int]:
        """The numbers of a connector's committed tasks; none while it is inconsistent."""
        return [] if connector in self.inconsistent else list(range(self.task_counts.get(connector, 0)))

    def task_configs(self, connector: str) -> list[Mapping[str, str]]:
        """The committed configurations of a connector's tasks; none while it is inconsistent."""
        return [self.tasks[connector, number] for number in self.task_ids(connector)]

    def to_cut(self, connector: str) -> bool:
        """Whether a connector's tasks have to be rewritten, even if they are the same.

        They were committed before its configuration was written, or some of them are missing. After compaction, the
        first case looks the same as tasks of an older configuration.
        """
        outdated = self.commits.get(connector, -1) < self.written.get(connector, -1)
        return outdated or connector in self.inconsistent


# Events: what a record changed.


@dataclass(frozen=True, slots=True)
class ConnectorChanged:
    """A connector was created, or its configuration changed: by the record at this offset, at this time (ms)."""

    connector: str
    offset: int = field(default=-1, compare=False)
    at: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ConnectorRemoved:
    """A connector was deleted. Offset and time as of `ConnectorChanged`."""

    connector: str
    offset: int = field(default=-1, compare=False)
    at: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TasksCommitted:
    """A connector's tasks were committed."""

    connector: str


@dataclass(frozen=True, slots=True)
class TargetChanged:
    """A user changed a connector's target state."""

    connector: str


@dataclass(frozen=True, slots=True)
class SessionKeyChanged:
    """The leader made a new session key."""


@dataclass(frozen=True, slots=True)
class RestartAsked:
    """A user requested a restart. It happens once, when the record is read; the state does not keep it."""

    request: RestartRequest


@dataclass(frozen=True, slots=True)
class LoggerChanged:
    """All workers change the log level of a namespace (KIP-976)."""

    namespace: str
    level: str


Event = (
    ConnectorChanged
    | ConnectorRemoved
    | TasksCommitted
    | TargetChanged
    | SessionKeyChanged
    | RestartAsked
    | LoggerChanged
)


@dataclass(slots=True)
class _Draft:
    """A `ConfigState` that changes with each record, and what is needed to read the next ones.

    Attributes:
        deferred: task configurations that are written, but not committed. No worker acts on them.
        orphans: connectors that did not exist when their tasks were committed.
        at: the time of the last record, ms since the epoch.
    """

    offset: int = 0
    connectors: dict[str, Mapping[str, str]] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    task_counts: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, list[Mapping[str, str]]] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)
    applied: dict[str, Mapping[str, str]] = field(default_factory=dict)
    inconsistent: set[str] = field(default_factory=set)
    fencing: dict[str, int] = field(default_factory=dict)
    pending_fencing: set[str] = field(default_factory=set)
    session_key: SessionKey | None = None
    deferred: dict[str, dict[int, Mapping[str, str]]] = field(default_factory=dict)
    orphans: set[str] = field(default_factory=set)
    at: int | None = None

    def state(self) -> ConfigState:
        return ConfigState(
            self.offset,
            dict(self.connectors),
            dict(self.written),
            dict(self.targets),
            dict(self.task_counts),
            {(name, number): config for name, tasks in self.tasks.items() for number, config in enumerate(tasks)},
            dict(self.commits),
            dict(self.applied),
            frozenset(self.inconsistent),
            dict(self.fencing),
            frozenset(self.pending_fencing),
            self.session_key,
        )


class ConfigReader:
    """Takes the config topic's records in order, from one thread. `state` may be read from any thread."""

    def __init__(self) -> None:
        self._draft = _Draft()
        self._state: ConfigState | None = None
        self._lock = threading.Lock()

    @property
    def state(self) -> ConfigState:
        """The current state. Built when it is read, so that not each of thousands of records costs a copy."""
        with self._lock:
            if self._state is None:
                self._state = self._draft.state()
            return self._state

    def take(self, key: bytes | None, value: bytes | None, offset: int, at: int | None = None) -> Event | None:
        """Take one record. A record that cannot be read is skipped with a warning, as Java's workers do."""
        name = (key or b"").decode("utf-8", "replace")
        with self._lock:
            self._state = None
            self._draft.offset, self._draft.at = offset + 1, at
            try:
                content = None if value is None else _object(json.loads(value))
                return self._take(name, content)
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                reason = _reason(error)
        log.warning("Skipped record %d of the config topic, key %.200s: %.200s", offset, name, reason)
        return None

    def _take(self, name: str, content: dict[str, Any] | None) -> Event | None:
        if name.startswith(TARGET_STATE):
            return self._target(name.removeprefix(TARGET_STATE), content)
        if name.startswith(RESTART):
            return _restart(name.removeprefix(RESTART), content)
        if name.startswith(FENCING):
            self._fenced(name.removeprefix(FENCING), content)
            return None
        if name.startswith(LOGGER):
            return None if content is None else LoggerChanged(name.removeprefix(LOGGER), _text(content, "level"))
        if name.startswith(CONNECTOR):
            return self._connector(name.removeprefix(CONNECTOR), content)
        if name.startswith(TASK):
            self._task(name.removeprefix(TASK), content)
            return None
        if name.startswith(COMMIT):
            return self._commit(name.removeprefix(COMMIT), content)
        if name == SESSION_KEY:
            return self._session_key(content)
        raise ValueError("its key is of no known kind")

    def _connector(self, name: str, content: dict[str, Any] | None) -> Event | None:
        draft = self._draft
        if content is None:
            known = draft.connectors.pop(name, None)
            parts = (draft.written, draft.task_counts, draft.tasks, draft.commits, draft.applied, draft.deferred)
            for part in parts:
                part.pop(name, None)
            for names in (draft.inconsistent, draft.pending_fencing, draft.orphans):
                names.discard(name)
            return None if known is None else ConnectorRemoved(name, draft.offset - 1, draft.at)
        draft.connectors[name] = _strings(content["properties"])
        draft.written[name] = draft.offset - 1
        if name in draft.orphans:
            draft.orphans.remove(name)
            draft.inconsistent.add(name)
        return ConnectorChanged(name, draft.offset - 1, draft.at)

    def _target(self, name: str, content: dict[str, Any] | None) -> Event | None:
        draft = self._draft
        if content is None:
            # Follows the tombstone of the connector itself, which makes the event.
            draft.targets.pop(name, None)
            return None
        target = _text(content, "state" if content.get("state.v2") is None else "state.v2")
        if target not in get_args(Target):
            raise ValueError(f"{target} is not a target state")
        before = draft.targets.get(name, _DEFAULT_TARGET)
        draft.targets[name] = cast("Target", target)
        return TargetChanged(name) if name in draft.connectors and before != target else None

    def _task(self, name: str, content: dict[str, Any] | None) -> None:
        connector, number = _task_of(name)
        if content is None:
            self._draft.deferred.get(connector, {}).pop(number, None)
            return
        self._draft.deferred.setdefault(connector, {})[number] = _strings(content["properties"])

    def _commit(self, name: str, content: dict[str, Any] | None) -> Event | None:
        if content is None:
            return None
        draft = self._draft
        count = _count(content, "tasks")
        written = draft.deferred.pop(name, {})
        if name not in draft.connectors:
            # These are leftovers of a deleted connector, or compaction removed an older configuration of a connector
            # that comes later. The two look the same, so these tasks do not count.
            (draft.orphans.add if count else draft.orphans.discard)(name)
            return None
        if all(number in written for number in range(count)):
            draft.tasks[name] = [written[number] for number in range(count)]
            draft.inconsistent.discard(name)
        else:
            log.info("Some tasks of %s are missing from the config topic. The leader has to rewrite them", name)
            draft.tasks.pop(name, None)
            draft.inconsistent.add(name)
        draft.task_counts[name] = count
        draft.commits[name] = draft.offset - 1
        draft.applied[name] = draft.connectors[name]
        draft.pending_fencing.add(name)
        return TasksCommitted(name)

    def _fenced(self, name: str, content: dict[str, Any] | None) -> None:
        if content is None:
            return
        self._draft.fencing[name] = _count(content, "task-count")
        self._draft.pending_fencing.discard(name)

    def _session_key(self, content: dict[str, Any] | None) -> Event | None:
        if content is None:
            return None
        # The key stays out of the log: b64decode's error does not show it.
        key = base64.b64decode(_text(content, "key"), validate=True)
        created = _count(content, "creation-timestamp")
        self._draft.session_key = SessionKey(key, _text(content, "algorithm"), created)
        return SessionKeyChanged()


# Writing: the records of each change, as pairs of key and value.

Record = tuple[bytes, bytes | None]


def connector_record(name: str, config: Mapping[str, str]) -> Record:
    """Create a connector, or change its configuration."""
    return _record(CONNECTOR + name, {"properties": {**config, "name": name}})


def removal_records(name: str) -> list[Record]:
    """Delete a connector."""
    return [(f"{CONNECTOR}{name}".encode(), None), (f"{TARGET_STATE}{name}".encode(), None)]


def target_record(name: str, target: Target) -> Record:
    """Set a connector's target state. Workers before KIP-875 read `state`, which has no STOPPED."""
    return _record(TARGET_STATE + name, {"state": "PAUSED" if target == "STOPPED" else target, "state.v2": target})


def task_records(name: str, configs: list[Mapping[str, str]]) -> list[Record]:
    """A connector's tasks, and the commit record that puts them into effect."""
    tasks = [_record(f"{TASK}{name}-{number}", {"properties": dict(config)}) for number, config in enumerate(configs)]
    return [*tasks, _record(COMMIT + name, {"tasks": len(configs)})]


def restart_record(request: RestartRequest) -> Record:
    """Request a restart."""
    content = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
    return _record(RESTART + request.connector, content)


def session_key_record(key: SessionKey) -> Record:
    """Publish a new session key."""
    text = base64.b64encode(key.key).decode()
    return _record(SESSION_KEY, {"key": text, "algorithm": key.algorithm, "creation-timestamp": key.created_ms})


def logger_record(namespace: str, level: str) -> Record:
    """Have all workers log a namespace at this level."""
    return _record(LOGGER + namespace, {"level": level})


def fencing_record(name: str, tasks: int) -> Record:
    """Record that the producers of this many tasks are fenced (KIP-618)."""
    return _record(FENCING + name, {"task-count": tasks})


def _record(key: str, content: Mapping[str, Any]) -> Record:
    return key.encode(), to_json(content).encode()


# Reading: other programs may have written anything.


def _restart(name: str, content: dict[str, Any] | None) -> Event | None:
    if content is None:
        return None
    return RestartAsked(RestartRequest(name, content.get("include-tasks") is True, content.get("only-failed") is True))


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError("its value is not a JSON object")
    return content


def _text(content: Mapping[str, Any], name: str) -> str:
    found = content[name]
    if not isinstance(found, str):
        raise TypeError(f"{name} is not a string")
    return found


def _count(content: Mapping[str, Any], name: str) -> int:
    found = content[name]
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise TypeError(f"{name} is not a whole number of at least 0")
    return found


def _task_of(name: str) -> tuple[str, int]:
    connector, _, number = name.rpartition("-")
    if not connector or not (number.isascii() and number.isdigit()):
        raise ValueError("its key does not end in a task number")
    return connector, int(number)


def _strings(properties: Any) -> dict[str, str]:
    if not isinstance(properties, dict):
        raise TypeError("properties is not a JSON object")
    return {
        key: value if isinstance(value, str) else to_json(value)
        for key, value in properties.items()
        if value is not None
    }


def _reason(error: Exception) -> str:
    match error:
        case KeyError():
            return f"it has no {error.args[0]}"
        case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return "its value is not JSON"
        case _:
            return str(error)
