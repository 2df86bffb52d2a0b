"""/connectors/{connector}/lag: how far a sink is behind its topics. Not in Kafka; after Burrow."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request, Response

from connect.herder.errors import NotFoundError
from connect.peers import PeerError
from rest.api import Api, ApiDep, ConnectorName, Forward, describe, flag
from rest.calls import json_answer
from rest.models import ConnectorLagInfo

#: The worker of the connector asks the brokers first.
_PEER_S: Final = 10.0

_decoder = msgspec.json.Decoder(ConnectorLagInfo)

router = APIRouter(prefix="/connectors/{connector}", tags=["connectors"])


@router.get("/lag", **describe(ConnectorLagInfo, errors=(400, 404)))
async def get_lag(
    connector: ConnectorName,
    request: Request,
    api: ApiDep,
    forward: Forward = None,
) -> Response:
    """How far a sink is behind its topics, by partition, and whether it keeps up."""
    api.herder.info(connector)  # there is one
    owner = _other_owner(api, connector)
    if owner is not None and flag(forward, default=True):
        answer = await _ask(api, request, owner, connector)
        if answer is not None:
            return json_answer(answer)
    return json_answer(ConnectorLagInfo.of(await api.result(api.herder.lag(connector))))


def _other_owner(api: Api, connector: str) -> str | None:
    """The worker that looks at the lag all the time, where it is another one than this."""
    try:
        worker = api.herder.status(connector).connector.worker_id
    except NotFoundError:
        return None
    return None if worker == api.herder.metrics().worker_id else worker


async def _ask(api: Api, request: Request, worker: str, connector: str) -> ConnectorLagInfo | None:
    """What the owner says. None when it does not: it is gone, or one of Java; then this worker looks itself."""
    path = f"/connectors/{quote(connector, safe='')}/lag?forward=false"
    try:
        return _decoder.decode(await api.forwarding.ask(request, worker, path, _PEER_S))
    except (PeerError, msgspec.DecodeError):
        return None
