"""The other workers of the pool: which, and what they answer to the caller of this one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec
from fastapi import Request

from connect.errors import one_line
from connect.peers import PeerError
from rest.api import Api
from rest.elsewhere import answer_of, others_of
from rest.models.pool import RebalanceList
from rest.models.worker import Unreachable
from rest.security.forwarded import NoSessionKeyError

T = TypeVar("T")

#: How long another worker may take for what it has in memory.
_PEER_S: Final = 2.0
_decoder: Final = msgspec.json.Decoder(RebalanceList)


async def others_in_pool(api: Api, request: Request) -> set[str]:
    """Their ids: the leader knows the members since the last rebalance.

    Where a Java worker leads, or the leader does not answer, they are the workers that run something, by the states.
    """
    here, newest = api.herder.metrics().worker_id, next(iter(api.herder.rebalances()), None)
    if newest is None:  # it has no group, or is not in it yet
        return set()
    members = None if newest.led is None else newest.led.members
    if members is None and newest.leader != here:
        path = "/cluster/rebalances?forward=false&limit=1"
        # The leader is asked once more for what the caller wants, and is named where it does not answer that.
        with contextlib.suppress(PeerError, NoSessionKeyError):
            told = await answer_of(api, request, newest.leader, path, _PEER_S, _decoder)
            members = next((one.members for one in told.rebalances), None)
    if members is None:
        members = [newest.leader, *(one for name in api.herder.connectors() for one in others_of(api.herder, name))]
    return set(members) - {here, ""}


async def ask_all(
    api: Api, request: Request, workers: Iterable[str], path: str, decoder: msgspec.json.Decoder[T]
) -> tuple[list[T], list[Unreachable]]:
    """Ask workers in parallel. Returns their answers, and who gave none, with the reason.

    Args:
        path: with `forward=false`, so that they do not ask each other.
    """

    async def ask(worker: str) -> T | Unreachable:
        try:
            return await answer_of(api, request, worker, path, _PEER_S, decoder)
        except PeerError as error:
            unknown = "It does not know this request: a Java worker, or an older version."
            return Unreachable(worker, unknown if error.status == 404 else one_line(error))
        except NoSessionKeyError as error:
            return Unreachable(worker, one_line(error))

    answers = await asyncio.gather(*map(ask, sorted(workers)))
    return (
        [one for one in answers if not isinstance(one, Unreachable)],
        [one for one in answers if isinstance(one, Unreachable)],
    )
