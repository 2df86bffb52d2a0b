"""What it says of connectors and their tasks: configurations, states, restarts, offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from connect.herder.model import ConnectorInfo, ConnectorState, OffsetEntry
from connect.storage import ConnectorStatus, State, TaskStatus
from rest.models.figures import ConnectorMetricsInfo, Sparkline

#: A value of a configuration as it may be written. It is kept as text: 3, 1.50, true.
Written = str | int | float | bool


class TaskId(msgspec.Struct):
    """A task by its connector and number."""

    connector: str
    task: int


class Connector(msgspec.Struct):
    """A connector as its user made it. `type` is "source", "sink" or "unknown"."""

    name: str
    config: dict[str, str]
    tasks: list[TaskId]
    type: str

    @classmethod
    def of(cls, info: ConnectorInfo, config: Mapping[str, str]) -> Connector:
        """`config` is what may be shown of it."""
        return cls(info.name, dict(config), [TaskId(info.name, number) for number in info.tasks], info.type)


class Task(msgspec.Struct):
    """A task and its configuration."""

    id: TaskId
    config: dict[str, str]


class ConnectorStateInfo(msgspec.Struct, omit_defaults=True):
    """How a connector is. `trace` is there when it FAILED."""

    state: str
    worker_id: str
    trace: str | None = None
    version: str | None = None

    @classmethod
    def of(cls, status: ConnectorStatus) -> ConnectorStateInfo:
        return cls(status.state.value, status.worker_id, status.trace, status.version)


class Waiting(msgspec.Struct):
    """What a task that is RUNNING waits for, and since when, in milliseconds since the epoch."""

    reason: str
    since_ms: int


class Stalled(msgspec.Struct):
    """Why a task that is RUNNING moves nothing although there is work."""

    trace: str


class TaskStateInfo(msgspec.Struct, omit_defaults=True):
    """How a task is.

    `waiting` is there while a database, brokers or a store is away, `stalled` while it stands still, `page` if another
    server has a page about its work, as Spark does. Who asks for the
    state STALLED gets that, with its trace, in the place of RUNNING and `stalled`.
    """

    id: int
    state: str
    worker_id: str
    trace: str | None = None
    version: str | None = None
    waiting: Waiting | None = None
    stalled: Stalled | None = None
    page: str | None = None

    @classmethod
    def of(cls, status: TaskStatus, *, stalled: bool) -> TaskStateInfo:
        """`stalled`: whether the client knows that state. Kafka has none such, and some clients take no other's."""
        state, trace, stands_still = status.state.value, status.trace, None
        if status.state is State.RUNNING and status.stalled is not None:
            if stalled:
                state, trace = "STALLED", status.stalled
            else:
                stands_still = Stalled(status.stalled)
        waiting = None if status.waiting is None else Waiting(status.waiting.why, status.waiting.since_ms)
        return cls(status.task, state, status.worker_id, trace, status.version, waiting, stands_still, status.page)


class ConnectorStatusInfo(msgspec.Struct):
    """How a connector and its tasks are."""

    name: str
    connector: ConnectorStateInfo
    tasks: list[TaskStateInfo]
    type: str

    @classmethod
    def of(cls, state: ConnectorState, *, stalled: bool = False) -> ConnectorStatusInfo:
        """`stalled`: see `TaskStateInfo.of`."""
        tasks = [TaskStateInfo.of(status, stalled=stalled) for status in state.tasks]
        return cls(state.name, ConnectorStateInfo.of(state.connector), tasks, state.type)


class Restart(msgspec.Struct, omit_defaults=True):
    """A connector or task (with its number as id), and what becomes of it when it FAILED and restarts are automatic.

    `error` is the kind of the error, `restarts` how many automatic ones there were, `next_restart_ms` when the next one
    is, in milliseconds since the epoch, and `reason` which that is, or why there is none.
    """

    state: str
    worker_id: str
    id: int | None = None
    error: str | None = None
    restarts: int | None = None
    next_restart_ms: int | None = None
    reason: str | None = None

    @classmethod
    def of(cls, status: ConnectorStatus | TaskStatus) -> Restart:
        task = status.task if isinstance(status, TaskStatus) else None
        note = status.restart if status.state is State.FAILED else None
        if note is None:
            return cls(status.state.value, status.worker_id, task)
        return cls(status.state.value, status.worker_id, task, note.kind, note.restarts, note.at_ms, note.why)


class Restarts(msgspec.Struct):
    """The automatic restarts of a connector and its tasks."""

    name: str
    connector: Restart
    tasks: list[Restart]

    @classmethod
    def of(cls, state: ConnectorState) -> Restarts:
        return cls(state.name, Restart.of(state.connector), [Restart.of(task) for task in state.tasks])


class ExpandedConnector(msgspec.Struct):
    """What GET /connectors?expand= was asked to say of one."""

    info: Connector | msgspec.UnsetType = msgspec.UNSET
    status: ConnectorStatusInfo | msgspec.UnsetType = msgspec.UNSET
    metrics: ConnectorMetricsInfo | msgspec.UnsetType = msgspec.UNSET
    timeseries: Sparkline | msgspec.UnsetType = msgspec.UNSET


class CreateConnector(msgspec.Struct, forbid_unknown_fields=True):
    """POST /connectors. Without a name the configuration holds it; a number is taken for text."""

    config: dict[str, Written]
    name: str | int | float | None = None
    initial_state: Literal["RUNNING", "PAUSED", "STOPPED"] | None = None


class Offset(msgspec.Struct, forbid_unknown_fields=True):
    """One offset. Null forgets it; a sink's is of the form of KIP-875."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None = None

    @classmethod
    def of(cls, entry: OffsetEntry) -> Offset:
        return cls(dict(entry.partition), None if entry.offset is None else dict(entry.offset))


class Offsets(msgspec.Struct):
    """The offsets of a connector."""

    offsets: list[Offset]


class AlterOffsets(msgspec.Struct, forbid_unknown_fields=True):
    """PATCH /connectors/{connector}/offsets."""

    offsets: Annotated[list[Offset], msgspec.Meta(min_length=1)]


class Said(msgspec.Struct):
    """What became of a request, in words."""

    message: str


class Topics(msgspec.Struct):
    """The topics that a connector used (KIP-558)."""

    topics: list[str]
