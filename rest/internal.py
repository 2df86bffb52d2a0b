"""What workers ask of each other, in distributed mode."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rest.api import FORWARD, Api, ConnectorName, describe


def routes(api: Api) -> APIRouter:
    """The two operations."""
    router = APIRouter(prefix="/connectors/{connector}", tags=["between workers"], dependencies=[FORWARD])
    internal = api.internal
    if internal is None:
        return router

    @router.post("/tasks", **describe(body=list[dict[str, str]], errors=(400, 403, 404, 409)))
    async def put_task_configs(connector: ConnectorName, request: Request) -> Response:
        """A follower's connector cut its work. Signed with the group's key."""
        await api.result(internal.put_task_configs(connector, await request.body(), request.headers))
        return Response(status_code=204)

    @router.put("/fence", **describe(errors=(400, 403, 404, 409)))
    async def fence(connector: ConnectorName, request: Request) -> Response:
        """A follower is about to start tasks that deliver exactly once. Signed with the group's key."""
        await api.result(internal.fence_zombies(connector, await request.body(), request.headers))
        return Response(status_code=204)

    return router
