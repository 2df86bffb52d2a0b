"""/metrics, for Prometheus; GET /connectors?expand=metrics, of all workers; and the duration of requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect.herder.herder import Herder
from connect.telemetry.exposition import CONTENT_TYPE
from connect.telemetry.metrics import Registry
from rest.api import Api, ApiDep
from rest.elsewhere import expanded_elsewhere
from rest.models.connectors import ExpandedConnector
from rest.models.figures import ConnectorMetricsInfo, Figures, TaskMetricsInfo
from rest.models.worker import Unreachable

#: In the scope of a request: a list that gets its route.
ROUTE: Final = "connect.route"

router = APIRouter(tags=["worker"])
_PAGE: Final[dict[str, Any]] = {"description": "Prometheus's text format.", "content": {"text/plain": {}}}


@router.get("/metrics", response_class=Response, responses={200: _PAGE})
async def metrics(api: ApiDep) -> Response:
    """Metrics of this worker, for Prometheus."""
    # It reads files under /proc for each task.
    page = await asyncio.to_thread(api.herder.metrics().page)
    return Response(page, media_type=CONTENT_TYPE)


async def of_all(
    api: Api, request: Request, names: Iterable[str], *, ask_others: bool
) -> dict[str, ConnectorMetricsInfo]:
    """Metrics of connectors, by name, on this worker and on the others that run parts of them.

    The others are asked in parallel; one that does not answer within two seconds, or is a Java worker, is named.
    Without `ask_others` only this worker's own.
    """
    here = api.herder.metrics().worker_id
    found = {name: _here(api.herder, name, here) for name in names}
    for other in await expanded_elsewhere(api, request, found, "metrics") if ask_others else ():
        for name in other.connectors:
            _add(found[name], other.worker, other.answer, name)
    for info in found.values():
        info.tasks.sort(key=lambda task: task.id)
    return found


def _here(herder: Herder, name: str, worker: str) -> ConnectorMetricsInfo:
    known = herder.metrics().of(name)
    tasks = [TaskMetricsInfo(number, worker, _shown(figures)) for number, figures in known.tasks.items()]
    if known.connector is None:
        return ConnectorMetricsInfo(None, {}, tasks, [])
    return ConnectorMetricsInfo(worker, _shown(known.connector), tasks, [])


def _add(info: ConnectorMetricsInfo, worker: str, answer: dict[str, ExpandedConnector] | str, name: str) -> None:
    theirs = None if isinstance(answer, str) else answer.get(name)
    if isinstance(answer, str) or theirs is None or theirs.metrics is msgspec.UNSET:
        reason = answer if isinstance(answer, str) else "It does not report its metrics."
        info.unreachable.append(Unreachable(worker, reason))
        return
    metrics = theirs.metrics
    info.tasks += metrics.tasks
    if metrics.worker_id is not None and "connector-metrics" in metrics.metrics:
        info.worker_id, info.metrics = metrics.worker_id, {**info.metrics, **metrics.metrics}


def _shown(figures: Any) -> Figures:
    return {
        group: {name: None if value != value else value for name, value in values.items()}
        for group, values in figures.items()
    }


class TimedRequests:
    """Measures the duration of requests, by their route: an ASGI application around all others."""

    def __init__(self, app: ASGIApp, registry: Registry) -> None:
        self._app = app
        self._registry = registry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, route = time.monotonic(), 500, []  # type: float, int, list[str]
        ended: float | None = None

        async def note(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                if is_stream(message):  # it lasts as long as its reader likes
                    ended = time.monotonic()
            await send(message)

        try:
            await self._app({**scope, ROUTE: route}, receive, note)
        finally:
            self._registry.histogram(
                "connect_rest_request_seconds",
                method=scope["method"] if scope["method"] in METHODS else "other",
                route=route[-1] if route else "none",
                status=str(status),
            ).observe((ended or time.monotonic()) - began)


def is_stream(start: Message) -> bool:
    """Whether an answer that begins so has events, for as long as its reader likes."""
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in start["headers"])


#: Others are not told apart.
METHODS: Final = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class NotedRoute:
    """Notes for `TimedRequests` the route of a request: an ASGI application directly around FastAPI's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            route = scope.get("route")
            if route is not None and ROUTE in scope:
                scope[ROUTE].append(route.path)
