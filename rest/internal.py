"""What workers ask of each other. Not described to users."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rest.api import FORWARD, Api, ConnectorName, describe
from rest.errors import ApiError


def routes(api: Api) -> APIRouter:
    """The two operations."""
    router = APIRouter(prefix="/connectors/{connector}", include_in_schema=False, dependencies=[FORWARD])
    internal = api.internal

    @router.post("/tasks", **describe(body=list[dict[str, str]]))
    async def put_task_configs(connector: ConnectorName, request: Request) -> Response:
        """A follower's connector cut its work."""
        if internal is None:
            raise ApiError(
                500, "Kafka Connect in standalone mode does not support externally setting task configurations."
            )
        await api.result(internal.put_task_configs(connector, await request.body(), request.headers))
        return Response(status_code=200)

    @router.put("/fence", **describe(body=dict[str, str]))
    async def fence(connector: ConnectorName, request: Request) -> Response:
        """A follower is about to start tasks that deliver exactly once."""
        if internal is None:
            raise ApiError(500, "Kafka Connect in standalone mode does not support exactly-once source connectors.")
        await api.result(internal.fence_zombies(connector, await request.body(), request.headers))
        return Response(status_code=200)

    return router
