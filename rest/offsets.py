"""/connectors/{connector}/offsets: read, and of stopped connectors changed and reset (KIP-875)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from connect.herder.model import OffsetEntry
from rest import bodies
from rest.api import AT_LEADER, ApiDep, ConnectorName, describe, json_answer
from rest.models.connectors import AlterOffsets, Offset, Offsets, Said

router = APIRouter(prefix="/connectors/{connector}/offsets", tags=["offsets"])


@router.get("", **describe(Offsets, errors=(404,)))
async def get_offsets(connector: ConnectorName, api: ApiDep) -> Response:
    """The offsets that a source stored, or that a sink's consumer group committed."""
    found = await api.result(api.herder.offsets(connector))
    return json_answer(Offsets([Offset.of(entry) for entry in found]))


async def _entries(connector: ConnectorName, request: Request, api: ApiDep) -> list[OffsetEntry]:
    entries = await bodies.offsets(request)
    api.access.changes(connector, offsets=len(entries))
    await api.forwarding.to_leader(request)
    return entries


@router.patch("", **describe(Said, body=AlterOffsets, errors=(400, 404, 409)))
async def alter_offsets(
    connector: ConnectorName, api: ApiDep, entries: Annotated[list[OffsetEntry], Depends(_entries)]
) -> Response:
    """Change offsets of a stopped connector; null forgets one."""
    return json_answer(Said(await api.result(api.herder.alter_offsets(connector, entries))))


@router.delete("", dependencies=[AT_LEADER], **describe(Said, errors=(400, 404, 409)))
async def reset_offsets(connector: ConnectorName, api: ApiDep) -> Response:
    """Forget all offsets of a stopped connector."""
    return json_answer(Said(await api.result(api.herder.reset_offsets(connector))))
