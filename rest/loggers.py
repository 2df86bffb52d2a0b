"""/admin/loggers: levels of loggers, changed while the worker runs (KIP-495, KIP-976)."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from connect.telemetry.levels import levels
from rest import bodies
from rest.api import Answer, ApiDep, describe, json_answer
from rest.errors import ApiError
from rest.forwarding import in_thread
from rest.models.worker import Level, Logger

log = logging.getLogger("connect.rest")

LoggerName = Annotated[str, Path(description="A logger, or root.")]

router = APIRouter(prefix="/admin/loggers", tags=["loggers"])


@router.get("", **describe(dict[str, Logger]))
async def loggers() -> Response:
    """The loggers of this worker that have a level of their own."""
    return json_answer({name: Logger(*found) for name, found in levels.all().items()})


@router.get("/{logger}", **describe(Logger, errors=(404,)))
async def get_level(logger: LoggerName) -> Response:
    """The level of a logger."""
    found = levels.get(logger)
    if found is None:
        raise ApiError(404, f"Logger {logger} not found.")
    return json_answer(Logger(*found))


@router.put(
    "/{logger}",
    **describe(
        list[str],
        body=Level,
        errors=(400, 404),
        success="The loggers that were changed.",
        also={204: Answer("Done, with scope=cluster.")},
    ),
)
async def set_level(
    logger: LoggerName,
    request: Request,
    api: ApiDep,
    scope: Annotated[str | None, Query(description="worker (this one), or cluster (all).")] = None,
) -> Response:
    """Set the level of a logger and of those below it."""
    level = await bodies.level(request)
    api.access.changes(logger=logger, level=level)
    cluster = (scope or "worker").lower() == "cluster"
    if not cluster and (scope or "worker").lower() != "worker":
        log.warning("scope=%s is neither worker nor cluster; taken for worker.", scope)
    try:
        # To all workers it goes through Kafka: while no broker answers that may take a minute.
        changed = await in_thread(lambda: api.herder.set_logger_level(logger, level, cluster=cluster))
    except ValueError as error:
        raise ApiError(404, str(error)) from None
    return Response(status_code=204) if cluster else json_answer(changed)
