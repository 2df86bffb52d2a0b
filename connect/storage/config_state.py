"""What the config topic says: connectors, tasks, target states, session key. Pure: records in, state and events out.

A worker acts on a connector's task configurations only from their commit record on (P4). Compaction may have taken a
part of them; then the connector counts as inconsistent until the leader writes them anew.

Keys and values are those of Kafka Connect's KafkaConfigBackingStore: schemaless JSON.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

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
    """A user's wish to restart a connector (KIP-745)."""

    connector: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class ConfigState:
    """What holds after the records up to an offset. Replaced, never changed.

    Attributes:
        offset: after the last record.
        connectors: configurations by name.
        targets: what users want the connectors to do.
        task_counts: how many tasks a connector has, from its last commit record.
        tasks: committed configurations by connector and number.
        inconsistent: connectors whose committed tasks are not all here.
        fencing: with exactly-once sources, for how many tasks producers were fenced.
        pending_fencing: connectors whose tasks must not start before they are fenced.
        session_key: see `SessionKey`.
    """

    offset: int = 0
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    targets: Mapping[str, Target] = field(default_factory=dict)
    task_counts: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[tuple[str, int], Mapping[str, str]] = field(default_factory=dict)
    inconsistent: frozenset[str] = frozenset()
    fencing: Mapping[str, int] = field(default_factory=dict)
    pending_fencing: frozenset[str] = frozenset()
    session_key: SessionKey | None = None

    def target(self, connector: str) -> Target:
        """What a user wants a connector to do; STARTED unless it was said."""
        return self.targets.get(connector, "STARTED")

    def task_ids(self, connector: str) -> list[int]:
        """The numbers of a connector's committed tasks; none while it is inconsistent."""
        return [] if connector in self.inconsistent else list(range(self.task_counts.get(connector, 0)))

    def task_configs(self, connector: str) -> list[Mapping[str, str]]:
        """The committed configurations of a connector's tasks; none while it is inconsistent."""
        return [self.tasks[connector, number] for number in self.task_ids(connector)]


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


class ConfigReader:
    """Takes the config topic's records in order. Not for several threads; `state` may be read from any.

    Attributes:
        state: what holds now.
    """

    def __init__(self) -> None:
        self.state = ConfigState()
        #: Written, but not committed: no one acts on these.
        self._deferred: dict[str, dict[int, Mapping[str, str]]] = {}

    def take(self, key: bytes | None, value: bytes | None, offset: int) -> Event | None:
        """One record. What cannot be read is passed over with a warning, as Java's workers do."""
        self.state = replace(self.state, offset=offset + 1)
        name = (key or b"").decode("utf-8", "replace")
        try:
            content = None if value is None else orjson.loads(value)
            return self._take(name, content)
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            log.warning("Record %d of the config topic, %s, cannot be read: %r", offset, name, error)
            return None

    def _take(self, name: str, content: Any) -> Event | None:
        # The longer prefixes first: none of them may be taken for the beginning of a shorter one.
        if name.startswith(TARGET_STATE):
            return self._target(name.removeprefix(TARGET_STATE), content)
        if name.startswith(RESTART):
            return _restart(name.removeprefix(RESTART), content)
        if name.startswith(FENCING):
            self._fenced(name.removeprefix(FENCING), content)
            return None
        if name.startswith(LOGGER):
            return None if content is None else LoggerChanged(name.removeprefix(LOGGER), str(content["level"]))
        if name.startswith(CONNECTOR):
            return self._connector(name.removeprefix(CONNECTOR), content)
        if name.startswith(TASK):
            self._task(name.removeprefix(TASK), content)
            return None
        if name.startswith(COMMIT):
            return self._commit(name.removeprefix(COMMIT), content)
        if name == SESSION_KEY:
            return self._session_key(content)
        log.warning("The config topic has a record that nobody knows: %s", name)
        return None

    def _connector(self, name: str, content: Any) -> Event | None:
        state = self.state
        if content is None:
            known = name in state.connectors
            self._deferred.pop(name, None)
            self.state = replace(
                state,
                connectors=_without(state.connectors, name),
                targets=_without(state.targets, name),
                task_counts=_without(state.task_counts, name),
                tasks={key: config for key, config in state.tasks.items() if key[0] != name},
                inconsistent=state.inconsistent - {name},
                fencing=_without(state.fencing, name),
                pending_fencing=state.pending_fencing - {name},
            )
            return ConnectorRemoved(name) if known else None
        config = _strings(content["properties"])
        targets = state.targets if name in state.targets else {**state.targets, name: "STARTED"}
        self.state = replace(state, connectors={**state.connectors, name: config}, targets=targets)
        return ConnectorChanged(name)

    def _target(self, name: str, content: Any) -> Event | None:
        state = self.state
        if content is None:
            # The tombstone that goes with a connector's; its own brings the event.
            self.state = replace(state, targets=_without(state.targets, name))
            return None
        target: Target = content.get("state.v2") or content["state"]
        if target not in ("STARTED", "PAUSED", "STOPPED"):
            raise ValueError(f"unknown target state {target}")
        changed = state.targets.get(name, "STARTED") != target
        self.state = replace(state, targets={**state.targets, name: target})
        return TargetChanged(name) if changed and name in state.connectors else None

    def _task(self, name: str, content: Any) -> None:
        connector, _, number = name.rpartition("-")
        if content is None:
            self._deferred.get(connector, {}).pop(int(number), None)
            return
        self._deferred.setdefault(connector, {})[int(number)] = _strings(content["properties"])

    def _commit(self, name: str, content: Any) -> Event | None:
        if content is None:
            return None
        state = self.state
        count = int(content["tasks"])
        written = self._deferred.pop(name, {})
        known = {number: config for (connector, number), config in state.tasks.items() if connector == name}
        tasks = {number: config for number, config in (known | written).items() if number < count}
        complete = sorted(tasks) == list(range(count))
        if not complete:
            log.info("The tasks of %s are not all in the config topic; they will be written anew", name)
        others = {key: config for key, config in state.tasks.items() if key[0] != name}
        self.state = replace(
            state,
            tasks={**others, **{(name, number): config for number, config in tasks.items()}} if complete else others,
            task_counts={**state.task_counts, name: count},
            inconsistent=state.inconsistent - {name} if complete else state.inconsistent | {name},
            pending_fencing=state.pending_fencing | {name} if written else state.pending_fencing,
        )
        # After a deletion the task records and this one stay in the topic: they mean nothing by themselves.
        return TasksCommitted(name) if name in state.connectors else None

    def _fenced(self, name: str, content: Any) -> None:
        if content is None:
            return
        self.state = replace(
            self.state,
            fencing={**self.state.fencing, name: int(content["task-count"])},
            pending_fencing=self.state.pending_fencing - {name},
        )

    def _session_key(self, content: Any) -> Event | None:
        if content is None:
            return None
        key = SessionKey(base64.b64decode(content["key"]), content["algorithm"], int(content["creation-timestamp"]))
        self.state = replace(self.state, session_key=key)
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
    return key.encode(), orjson.dumps(content)


def _restart(name: str, content: Any) -> Event | None:
    if content is None:
        return None
    return RestartAsked(RestartRequest(name, bool(content["include-tasks"]), bool(content["only-failed"])))


def _strings(properties: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in properties.items() if value is not None}


def _without(mapping: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != name}
