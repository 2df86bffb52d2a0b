"""The other workers that run parts of a connector: which, and what they answer."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from fastapi import Request

from connect.herder.errors import NotFoundError
from connect.herder.herder import Herder
from connect.peers import PeerError
from rest.api import Api

T = TypeVar("T")


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
