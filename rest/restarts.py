"""/connectors/{connector}/restarts: whether what FAILED is restarted by itself. Not in Kafka."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Response

from connect.herder.herder import ConnectorState
from connect.storage import ConnectorStatus, State, TaskStatus
from rest.api import Api, ConnectorName, describe
from rest.calls import json_answer


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


def routes(api: Api) -> APIRouter:
    """The resource."""
    router = APIRouter(prefix="/connectors/{connector}", tags=["connectors"])

    @router.get("/restarts", **describe(Restarts, errors=(404,)))
    async def restarts(connector: ConnectorName) -> Response:
        """Whether what FAILED is restarted by itself, and when."""
        return json_answer(Restarts.of(api.herder.status(connector)))

    return router
