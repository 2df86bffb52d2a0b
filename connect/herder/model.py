"""What a herder returns about connectors, their tasks and offsets, and its worker."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from connect.storage import ConnectorStatus, TaskStatus

#: What a connector does. "unknown" when its plug-in is not here.
ConnectorType = Literal["source", "sink", "unknown"]


class TargetState(enum.Enum):
    """What a user wants a connector to do."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector as its user created it.

    Attributes:
        name: unique.
        config: as written, variables of providers in place.
        tasks: the numbers of its tasks.
        type: "source", "sink", or "unknown" when its plug-in is not installed.
    """

    name: str
    config: Mapping[str, str]
    tasks: Sequence[int]
    type: ConnectorType


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The status of a connector and its tasks."""

    name: str
    connector: ConnectorStatus
    tasks: Sequence[TaskStatus]
    type: ConnectorType


@dataclass(frozen=True, slots=True)
class Change:
    """The result of putting a configuration. `created` distinguishes a new connector from a changed one."""

    created: bool
    info: ConnectorInfo


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a worker works (KIP-1017), or whether it is ready: then it may be waiting for something."""

    status: Literal["healthy", "starting", "waiting", "unhealthy"]
    message: str


@dataclass(frozen=True, slots=True)
class OffsetEntry:
    """One stored offset. For a sink, partition and offset are Kafka's in the form of KIP-875."""

    partition: Mapping[str, Any]
    offset: Mapping[str, Any] | None
