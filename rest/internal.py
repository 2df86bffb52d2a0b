"""Requests between workers, in distributed mode: each is signed with the group's key."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from rest.api import AT_LEADER, ApiDep, ConnectorName, describe
from rest.internal_requests import InternalRequests


async def _signed(request: Request, api: ApiDep) -> InternalRequests:
    assert api.internal is not None
    api.internal.check_signature(await request.body(), request.headers)
    return api.internal


_Signed = Annotated[InternalRequests, Depends(_signed)]

router = APIRouter(
    prefix="/connectors/{connector}", tags=["between workers"], dependencies=[Depends(_signed), AT_LEADER]
)


@router.post("/tasks", **describe(body=list[dict[str, str]], errors=(400, 403, 404, 409)))
async def put_task_configs(connector: ConnectorName, request: Request, api: ApiDep, workers: _Signed) -> Response:
    """A follower's connector has new task configurations. Signed with the group's key."""
    await api.result(workers.put_task_configs(connector, await request.body(), request.headers))
    return Response(status_code=204)


@router.put("/fence", **describe(errors=(400, 403, 404, 409)))
async def fence(connector: ConnectorName, api: ApiDep, workers: _Signed) -> Response:
    """A follower is about to start tasks that deliver exactly once. Signed with the group's key."""
    await api.result(workers.fence_zombies(connector))
    return Response(status_code=204)
