"""What it says of the pool of workers: rebalances, and the audit log."""

from __future__ import annotations

from typing import Any

import msgspec

from connect.herder.rebalance_history import Moved
from rest.models.connectors import TaskId
from rest.models.worker import Unreachable


class MovedInfo(msgspec.Struct):
    """Connectors and tasks that moved: how many, and the first names of both together, at most twenty."""

    connectors: int = 0
    tasks: int = 0
    first_connectors: list[str] = []
    first_tasks: list[TaskId] = []

    @classmethod
    def of(cls, moved: Moved | None) -> MovedInfo:
        """None: nothing."""
        if moved is None:
            return cls()
        tasks = [TaskId(*task) for task in moved.first_tasks]
        return cls(moved.connectors, moved.tasks, list(moved.first_connectors), tasks)


class RebalanceShare(msgspec.Struct):
    """One worker's part of a rebalance.

    `cause` is what the worker itself knows, "member" for another worker. Where only the leader tells of it, it is
    empty, and `began` and `ended` (ms) are null.
    """

    worker_id: str
    cause: str = ""
    reason: str = ""
    began: int | None = None
    ended: int | None = None
    assigned: MovedInfo = msgspec.field(default_factory=MovedInfo)
    revoked: MovedInfo = msgspec.field(default_factory=MovedInfo)


class WaitingWork(msgspec.Struct):
    """Work of a worker that left, held back for it until a moment (ms)."""

    worker_id: str
    until: int
    work: MovedInfo


class RebalanceInfo(msgspec.Struct):
    """A rebalance of the group.

    `generation` and `leader_member`, the leader's id in the group, tell it from all others. `began` and `ended` (ms)
    are the leader's where it answers. `cause`: a worker's start, its loss of the group ("lost"), "configuration", work
    that was "given_back", the end of a "delay", "catching_up" with the config topic, a worker that "joined" or "left",
    or another "member". `members` is null, and `left` empty, where the leader of that time does not answer. A worker
    that was restarted is in `joined` and in `left`.
    """

    generation: int
    leader: str
    leader_member: str
    began: int
    ended: int
    cause: str
    reason: str
    members: list[str] | None = None
    joined: list[str] | None = None
    left: list[str] = []
    waiting: list[WaitingWork] = []
    shares: list[RebalanceShare] = []


class RebalanceList(msgspec.Struct):
    """GET /cluster/rebalances."""

    rebalances: list[RebalanceInfo]
    unreachable: list[Unreachable]


class AuditEntry(msgspec.Struct, omit_defaults=True):
    """A line of a worker's audit log. See docs/security.md for its fields.

    `left_out`: a line for so many that were not written, from so many `addresses`.
    """

    time: str
    worker_id: str = ""
    user: str | None = None
    method: str | None = None
    address: str | None = None
    http: str | None = None
    path: str | None = None
    connector: str | None = None
    status: int | None = None
    changed: dict[str, Any] = {}
    reason: str | None = None
    request: str | None = None
    forwarded_by: str | None = None
    left_out: int | None = None
    addresses: int | None = None


class AuditEntries(msgspec.Struct):
    """GET /cluster/audit."""

    lines: list[AuditEntry]
    unreachable: list[Unreachable]
