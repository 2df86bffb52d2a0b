"""What the config topic says: connectors, tasks, target states, session key. Pure: records in, state and events out.

A worker acts on a connector's task configurations only from their commit record on (P4). A commit counts for what was
written since the one before it, and never for older configurations: compaction may have taken a part of the set, and
half of one set with half of another is what nobody asked for. Then the connector is inconsistent until the leader
writes its tasks anew.

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
_UNSAID: Final[Target] = "STARTED"


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key that signs requests between workers (KIP-507).

    Attributes:
        key: its bytes.
        algorithm: as Java names it, such as HmacSHA256.
        created_ms: when.
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
    """What holds after the records up to an offset. Replaced, never changed.

    Attributes:
        offset: after the last record.
        connectors: configurations by name.
        written: the offset of each connector's configuration.
        targets: what users want the connectors to do. May name one that is not there: read it with `target`.
        task_counts: how many tasks a connector has, from its last commit record. None before the first.
        tasks: committed configurations by connector and number.
        commits: the offset of a connector's last commit record: another one, another generation of its tasks.
        applied: the configuration that a connector had when its tasks were committed: they were cut for that one.
        inconsistent: connectors whose committed tasks are not all here.
        fencing: with exactly-once sources, for how many tasks a connector's producers may live. Outlives the connector:
            so may they.
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
        """What a user wants a connector to do; STARTED unless it was said."""
        return self.targets.get(connector, _UNSAID)

    def task_ids(self, connector: str) -> list[int]:
        """The numbers of a connector's committed tasks; none while it is inconsistent."""
        return [] if connector in self.inconsistent else list(range(self.task_counts.get(connector, 0)))

    def task_configs(self, connector: str) -> list[Mapping[str, str]]:
        """The committed configurations of a connector's tasks; none while it is inconsistent."""
        return [self.tasks[connector, number] for number in self.task_ids(connector)]

    def to_cut(self, connector: str) -> bool:
        """Whether a connector's tasks have to be written anew, even if they are the same.

        They were committed before its configuration was, or not all of them are here. Once compaction has gone over
        it, nobody could tell the first from tasks of an older configuration.
        """
        outdated = self.commits.get(connector, -1) < self.written.get(connector, -1)
        return outdated or connector in self.inconsistent


# Events: what a record changed.


@dataclass(frozen=True, slots=True)
class ConnectorChanged:
    """A connector was created or has another configuration."""

    connector: str


@dataclass(frozen=True, slots=True)
class ConnectorRemoved:
    """A connector was deleted."""

    connector: str


@dataclass(frozen=True, slots=True)
class TasksCommitted:
    """A connector's tasks are what its last commit record says."""

    connector: str


@dataclass(frozen=True, slots=True)
class TargetChanged:
    """A user wants a connector to do something else."""

    connector: str


@dataclass(frozen=True, slots=True)
class SessionKeyChanged:
    """The leader made a new session key."""


@dataclass(frozen=True, slots=True)
class RestartAsked:
    """A user wants a restart. Happens once, with its record; there is nothing to remember."""

    request: RestartRequest


@dataclass(frozen=True, slots=True)
class LoggerChanged:
    """All workers are to log a namespace at another level (KIP-976)."""

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
    """A `ConfigState` that changes with each record, and what only its next records need.

    Attributes:
        deferred: task configurations that are written, but not committed: no one acts on these.
        orphans: connectors that were not there when tasks of theirs were committed.
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
    """Takes the config topic's records in order. Not for several threads; `state` may be read from any."""

    def __init__(self) -> None:
        self._draft = _Draft()
        self._state: ConfigState | None = None
        self._lock = threading.Lock()

    @property
    def state(self) -> ConfigState:
        """What holds now. Made when it is asked for: thousands of records are read without a copy for each."""
        with self._lock:
            if self._state is None:
                self._state = self._draft.state()
            return self._state

    def take(self, key: bytes | None, value: bytes | None, offset: int) -> Event | None:
        """One record. What cannot be read is passed over with a warning, as Java's workers do."""
        name = (key or b"").decode("utf-8", "replace")
        with self._lock:
            self._state = None
            self._draft.offset = offset + 1
            try:
                content = None if value is None else _object(json.loads(value))
                return self._take(name, content)
            except (KeyError, TypeError, ValueError, RecursionError) as error:
                reason = _reason(error)
        log.warning("Record %d of the config topic, %.200s, is passed over: %.200s", offset, name, reason)
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
        raise ValueError("it is of no known kind")

    def _connector(self, name: str, content: dict[str, Any] | None) -> Event | None:
        draft = self._draft
        if content is None:
            known = draft.connectors.pop(name, None)
            parts = (draft.written, draft.task_counts, draft.tasks, draft.commits, draft.applied, draft.deferred)
            for part in parts:
                part.pop(name, None)
            for names in (draft.inconsistent, draft.pending_fencing, draft.orphans):
                names.discard(name)
            return None if known is None else ConnectorRemoved(name)
        draft.connectors[name] = _strings(content["properties"])
        draft.written[name] = draft.offset - 1
        if name in draft.orphans:
            draft.orphans.remove(name)
            draft.inconsistent.add(name)
        return ConnectorChanged(name)

    def _target(self, name: str, content: dict[str, Any] | None) -> Event | None:
        draft = self._draft
        if content is None:
            # The tombstone that goes with a connector's; its own brings the event.
            draft.targets.pop(name, None)
            return None
        target = _text(content, "state" if content.get("state.v2") is None else "state.v2")
        if target not in get_args(Target):
            raise ValueError(f"{target} is no target state")
        before = draft.targets.get(name, _UNSAID)
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
            # What is left of a deleted connector; or compaction took an older configuration of one that comes later.
            # Which of both cannot be known, so these tasks count for neither.
            (draft.orphans.add if count else draft.orphans.discard)(name)
            return None
        if all(number in written for number in range(count)):
            draft.tasks[name] = [written[number] for number in range(count)]
            draft.inconsistent.discard(name)
        else:
            log.info("The tasks of %s are not all in the config topic; they have to be written anew", name)
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
        # Its bytes stay out of the log: an error of b64decode says nothing about them.
        key = base64.b64decode(_text(content, "key"), validate=True)
        created = _count(content, "creation-timestamp")
        self._draft.session_key = SessionKey(key, _text(content, "algorithm"), created)
        return SessionKeyChanged()


# Writing: the records of each change, as pairs of key and value.

Record = tuple[bytes, bytes | None]


def connector_record(name: str, config: Mapping[str, str]) -> Record:
    """Create a connector, or give it another configuration."""
    return _record(CONNECTOR + name, {"properties": {**config, "name": name}})


def removal_records(name: str) -> list[Record]:
    """Delete a connector."""
    return [(f"{CONNECTOR}{name}".encode(), None), (f"{TARGET_STATE}{name}".encode(), None)]


def target_record(name: str, target: Target) -> Record:
    """Say what a connector is to do. Workers before KIP-875 read `state`, which knows no STOPPED."""
    return _record(TARGET_STATE + name, {"state": "PAUSED" if target == "STOPPED" else target, "state.v2": target})


def task_records(name: str, configs: list[Mapping[str, str]]) -> list[Record]:
    """A connector's tasks, with the commit record that makes them count."""
    tasks = [_record(f"{TASK}{name}-{number}", {"properties": dict(config)}) for number, config in enumerate(configs)]
    return [*tasks, _record(COMMIT + name, {"tasks": len(configs)})]


def restart_record(request: RestartRequest) -> Record:
    """Ask for a restart."""
    content = {"include-tasks": request.include_tasks, "only-failed": request.only_failed}
    return _record(RESTART + request.connector, content)


def session_key_record(key: SessionKey) -> Record:
    """Hand out a new session key."""
    text = base64.b64encode(key.key).decode()
    return _record(SESSION_KEY, {"key": text, "algorithm": key.algorithm, "creation-timestamp": key.created_ms})


def logger_record(namespace: str, level: str) -> Record:
    """Have all workers log a namespace at this level."""
    return _record(LOGGER + namespace, {"level": level})


def fencing_record(name: str, tasks: int) -> Record:
    """Say that the producers of so many tasks are fenced (KIP-618)."""
    return _record(FENCING + name, {"task-count": tasks})


def _record(key: str, content: Mapping[str, Any]) -> Record:
    return key.encode(), to_json(content).encode()


# Reading what others wrote, which may be anything.


def _restart(name: str, content: dict[str, Any] | None) -> Event | None:
    if content is None:
        return None
    return RestartAsked(RestartRequest(name, content.get("include-tasks") is True, content.get("only-failed") is True))


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError("its value is no JSON object")
    return content


def _text(content: Mapping[str, Any], name: str) -> str:
    found = content[name]
    if not isinstance(found, str):
        raise TypeError(f"{name} is no text")
    return found


def _count(content: Mapping[str, Any], name: str) -> int:
    found = content[name]
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise TypeError(f"{name} is no whole number from 0 on")
    return found


def _task_of(name: str) -> tuple[str, int]:
    connector, _, number = name.rpartition("-")
    if not connector or not (number.isascii() and number.isdigit()):
        raise ValueError("it does not end in a task's number")
    return connector, int(number)


def _strings(properties: Any) -> dict[str, str]:
    if not isinstance(properties, dict):
        raise TypeError("properties is no JSON object")
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
            return "its value is no JSON"
        case _:
            return str(error)
