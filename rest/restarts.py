"""/connectors/{connector}/restarts: whether what FAILED is restarted by itself. Not in Kafka."""

from __future__ import annotations

from fastapi import APIRouter, Response

from rest.api import Api, ConnectorName, describe
from rest.calls import json_answer
from rest.models import Restarts


def routes(api: Api) -> APIRouter:
    """The resource."""
    router = APIRouter(prefix="/connectors/{connector}", tags=["connectors"])

    @router.get("/restarts", **describe(Restarts, errors=(404,)))
    async def restarts(connector: ConnectorName) -> Response:
        """Whether what FAILED is restarted by itself, and when."""
        return json_answer(Restarts.of(api.herder.status(connector)))

    return router
