"""/connectors/{connector}/offsets: read, and of stopped connectors changed and reset (KIP-875)."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rest import bodies
from rest.api import FORWARD, Api, ConnectorName, describe
from rest.calls import json_answer
from rest.models import AlterOffsets, Offset, Offsets, Said


def routes(api: Api) -> APIRouter:
    """The resource."""
    router = APIRouter(prefix="/connectors/{connector}/offsets", tags=["offsets"])
    herder = api.herder

    @router.get("", **describe(Offsets, errors=(404,)))
    async def get_offsets(connector: ConnectorName) -> Response:
        """The offsets that a source stored, or that a sink's consumer group committed."""
        found = await api.result(herder.offsets(connector))
        return json_answer(Offsets([Offset.of(entry) for entry in found]))

    @router.patch("", dependencies=[FORWARD], **describe(Said, body=AlterOffsets, errors=(400, 404, 409)))
    async def alter_offsets(connector: ConnectorName, request: Request) -> Response:
        """Change offsets of a stopped connector; null forgets one."""
        entries = await bodies.offsets(request)
        api.access.changes(connector, offsets=len(entries))
        return json_answer(Said(await api.result(herder.alter_offsets(connector, entries))))

    @router.delete("", dependencies=[FORWARD], **describe(Said, errors=(400, 404, 409)))
    async def reset_offsets(connector: ConnectorName) -> Response:
        """Forget all offsets of a stopped connector."""
        return json_answer(Said(await api.result(herder.reset_offsets(connector))))

    return router
