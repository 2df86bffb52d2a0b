"""The other workers that run parts of a connector: which, and what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec
from fastapi import Request

from connect.errors import one_line
from connect.herder.errors import NotFoundError
from connect.herder.herder import Herder
from connect.peers import PeerError
from rest.api import Api
from rest.models.connectors import ExpandedConnector

T = TypeVar("T")

#: How long another worker may take to tell what it measures; it has all in memory.
_PEER_S: Final = 2.0
_decoder: Final = msgspec.json.Decoder(dict[str, ExpandedConnector])


class Elsewhere(NamedTuple):
    """What another worker says of the connectors of which it runs parts.

    Attributes:
        worker: its id.
        connectors: their names.
        answer: by connector; or why there is none.
    """

    worker: str
    connectors: list[str]
    answer: dict[str, ExpandedConnector] | str


def others_of(herder: Herder, connector: str) -> set[str]:
    """The ids of the other workers that run the connector or a task of it, by its states."""
    try:
        state = herder.status(connector)
    except NotFoundError:
        return set()
    workers = {state.connector.worker_id, *(task.worker_id for task in state.tasks)}
    return workers - {"", herder.metrics().worker_id}


async def answer_of(
    api: Api, request: Request, worker: str, path: str, seconds: float, decoder: msgspec.json.Decoder[T]
) -> T:
    """Another worker's answer to the caller of this one. See `Forwarding.ask`.

    Raises:
        PeerError: it does not answer, refuses, or answers something else, as a Java worker does.
    """
    try:
        return decoder.decode(await api.forwarding.ask(request, worker, path, seconds))
    except msgspec.MsgspecError as error:
        raise PeerError(f"Worker {worker} answers something else: {error}") from error


async def expanded_elsewhere(api: Api, request: Request, connectors: Iterable[str], what: str) -> list[Elsewhere]:
    """What GET /connectors?expand= shows on the other workers: one request to each that runs a part of these.

    They are asked in parallel. One that does not answer within two seconds says why.
    """
    names: dict[str, list[str]] = {}
    for name in connectors:
        for worker in others_of(api.herder, name):
            names.setdefault(worker, []).append(name)
    path = f"/connectors?expand={what}&forward=false"
    if only := request.query_params.getlist("connector"):
        path = f"{path}&{urlencode({'connector': only}, doseq=True)}"
    answers = await asyncio.gather(*(_ask(api, request, worker, path) for worker in names))
    return [Elsewhere(worker, asked, answer) for (worker, asked), answer in zip(names.items(), answers, strict=True)]


async def _ask(api: Api, request: Request, worker: str, path: str) -> dict[str, ExpandedConnector] | str:
    try:
        return await asyncio.wait_for(answer_of(api, request, worker, path, _PEER_S, _decoder), _PEER_S + 0.5)
    except TimeoutError:
        return f"It had no answer within {_PEER_S:g} seconds."
    except PeerError as error:
        return one_line(error)
