"""/ and /health: which worker this is, whether it works, and whether it is ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from connect import __version__
from connect.herder.model import Health
from rest.api import Answer, Api, ApiDep, describe, json_answer
from rest.errors import error_answer
from rest.models.worker import CallerRights, HealthInfo, ServerInfo
from rest.security.roles import Role

#: The release of Kafka Connect whose interface this is: clients look at it to know what they may ask.
CONNECT_VERSION = "4.3.1"
_STATUS = {"healthy": 200, "starting": 503, "waiting": 503, "unhealthy": 500}
_NO_HEALTH = {503: Answer("It starts.", HealthInfo), 500: Answer("It does not work.", HealthInfo)}
_NOT_ALIVE = {500: Answer("It does not work.", HealthInfo)}
_NOT_READY = {503: Answer("It starts, or waits.", HealthInfo), 500: Answer("It does not work.", HealthInfo)}

router = APIRouter(tags=["worker"])


@router.get("/", **describe(ServerInfo))
async def server_info(api: ApiDep) -> Response:
    """Which worker this is."""
    return json_answer(ServerInfo(CONNECT_VERSION, f"connect-runtime-{__version__}", await api.cluster_id.get()))


@router.get("/rights", **describe(CallerRights))
async def rights(
    api: ApiDep, connector: Annotated[str | None, Query(description="For this one; else for all.")] = None
) -> Response:
    """What the caller may do: the role for a connector, whether it exists or not, or for all connectors."""
    access = api.access
    return json_answer(CallerRights(access.author(), _named(access.role(connector)), _named(access.role_somewhere())))


def _named(role: Role | None) -> str | None:
    return None if role is None else str(role)


@router.get("/health", **describe(HealthInfo, success="It works.", also=_NO_HEALTH))
async def health(api: ApiDep) -> Response:
    """Whether the worker has started and works (KIP-1017), whatever is unavailable outside."""
    found = api.herder.health()
    return _answer(api, found, _STATUS[found.status])


@router.get("/health/live", **describe(HealthInfo, success="It works, or starts.", also=_NOT_ALIVE))
async def live(api: ApiDep) -> Response:
    """Whether the worker need not be restarted. Unavailable brokers and databases never make this fail."""
    found = api.herder.health()
    return _answer(api, found, 500 if found.status == "unhealthy" else 200)


@router.get("/health/ready", **describe(HealthInfo, success="It can serve requests.", also=_NOT_READY))
async def ready(api: ApiDep) -> Response:
    """Whether the worker can serve requests, and what it waits for."""
    found = api.herder.readiness()
    return _answer(api, found, _STATUS[found.status])


def _answer(api: Api, found: Health, status: int) -> Response:
    # What it waits for may name connectors and addresses.
    message = found.message if api.access.sees_all() else f"The worker is {found.status}."
    return json_answer(HealthInfo(found.status, message), status)


class StartingUp:
    """Answers 503 to all requests except health checks until the worker has started.

    Args:
        app: answers after that.
        started: whether it has.
    """

    def __init__(self, app: ASGIApp, started: Callable[[], bool]) -> None:
        self._app = app
        self._started = started

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._started() or scope["path"].startswith("/health"):
            await self._app(scope, receive, send)
        else:
            await error_answer(503, "Worker is still starting up.")(scope, receive, send)
