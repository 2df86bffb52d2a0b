"""/ and /health: which worker this is, and whether it works."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from connect import __version__
from rest.api import Answer, Api, describe
from rest.calls import json_answer
from rest.models import HealthInfo, ServerInfo

#: The release of Kafka Connect whose interface this is: clients look at it to know what they may ask.
CONNECT_VERSION = "4.3.1"
_STATUS = {"healthy": 200, "starting": 503, "unhealthy": 500}
_NO_HEALTH = {503: Answer("It starts.", HealthInfo), 500: Answer("It does not work.", HealthInfo)}


def routes(api: Api) -> APIRouter:
    """The resources."""
    router = APIRouter(tags=["worker"])

    @router.get("/", **describe(ServerInfo))
    async def server_info() -> Response:
        """Which worker this is."""
        cluster_id = await asyncio.to_thread(api.herder.kafka_cluster_id)
        return json_answer(ServerInfo(CONNECT_VERSION, f"connect-runtime-{__version__}", cluster_id))

    @router.get("/health", **describe(HealthInfo, said="It works.", also=_NO_HEALTH))
    async def health() -> Response:
        """Whether the worker works (KIP-1017)."""
        found = api.herder.health()
        # What it is busy with may name connectors.
        message = found.message if api.access.sees_all() else f"The worker is {found.status}."
        return json_answer(HealthInfo(found.status, message), _STATUS[found.status])

    return router
