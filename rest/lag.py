"""/connectors/{connector}/lag: how far a sink is behind its topics. Not in Kafka; after Burrow."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Query, Request, Response

from connect import peers
from connect.herder.errors import NotFoundError
from rest.api import Api, ConnectorName, describe, flag
from rest.calls import json_answer
from rest.forwarding import headers_for
from rest.models import ConnectorLagInfo

#: The worker of the connector asks the brokers first.
_PEER_S: Final = 10.0

_decoder = msgspec.json.Decoder(ConnectorLagInfo)


def routes(api: Api) -> APIRouter:
    """The resource."""
    router = APIRouter(prefix="/connectors/{connector}", tags=["connectors"])

    @router.get("/lag", **describe(ConnectorLagInfo, errors=(400, 404)))
    async def get_lag(
        connector: ConnectorName,
        request: Request,
        forward: Annotated[str | None, Query(include_in_schema=False)] = None,
    ) -> Response:
        """How far a sink is behind its topics, by partition, and whether it keeps up."""
        api.herder.info(connector)  # there is one
        owner = owner_of(connector)
        if owner is not None and flag(forward, default=True):
            told = await ask(request, owner, connector)
            if told is not None:
                return json_answer(told)
        return json_answer(ConnectorLagInfo.of(await api.result(api.herder.lag(connector))))

    def owner_of(connector: str) -> str | None:
        """The worker that looks at the lag all the time, where it is another one than this."""
        try:
            worker = api.herder.status(connector).connector.worker_id
        except NotFoundError:
            return None
        return None if worker == api.herder.metrics().worker_id else worker

    async def ask(request: Request, worker: str, connector: str) -> ConnectorLagInfo | None:
        """What the owner says. None when it does not: it is gone, or one of Java; then this worker looks itself."""
        url = f"{request.url.scheme}://{worker}/connectors/{quote(connector, safe='')}/lag?forward=false"
        try:
            content = await asyncio.to_thread(
                peers.send, "GET", url, None, headers_for(request.scope, url, b""), _PEER_S
            )
            return _decoder.decode(content)
        except (peers.PeerError, msgspec.DecodeError):
            return None

    return router
