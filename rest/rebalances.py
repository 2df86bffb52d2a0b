"""/cluster/rebalances: when and why the group was rebalanced, and what moved, as all workers tell it. Not in Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Query, Request, Response

from connect.herder.rebalance_history import KEPT, Rebalance
from connect.herder.rebalances import CAUSES
from rest.api import ApiDep, Forward, describe, flag, json_answer
from rest.models.pool import MovedInfo, RebalanceInfo, RebalanceList, RebalanceShare, WaitingWork
from rest.numbers import up_to
from rest.pool import ask_all, others_in_pool

router = APIRouter(prefix="/cluster/rebalances", tags=["cluster"])

#: What a worker says of a rebalance that another one began.
_ANOTHER: Final = "member"
#: What a worker says that was not in the generation before.
_JOINED: Final = ("start", "lost")
_ORDER: Final = {cause: place for place, cause in enumerate(CAUSES)}
_decoder: Final = msgspec.json.Decoder(RebalanceList)

_Limit = Annotated[
    str, Query(description="The maximum number.", json_schema_extra={"type": "integer", "minimum": 1, "maximum": KEPT})
]


@router.get("", **describe(RebalanceList, errors=(400,)))
async def rebalances(request: Request, api: ApiDep, limit: _Limit = str(KEPT), forward: Forward = None) -> Response:
    """The last rebalances of the group, newest first: when, why, who joined and left, and what moved."""
    most = up_to(KEPT, "limit", limit)
    here = api.herder.metrics().worker_id
    told = [_here(here, one) for one in api.herder.rebalances()[:most]]
    if not flag(forward, default=True):
        return json_answer(RebalanceList(told, []))  # to another worker, which puts it together with others
    path = f"/cluster/rebalances?limit={most}&forward=false"
    answers, unreachable = await ask_all(api, request, await others_in_pool(api, request), path, _decoder)
    told += [one for answer in answers for one in answer.rebalances]
    return json_answer(RebalanceList(merged(told)[:most], unreachable))


def merged(told: Iterable[RebalanceInfo]) -> list[RebalanceInfo]:
    """One entry for each rebalance of which several workers tell, newest first."""
    same: dict[tuple[int, str], list[RebalanceInfo]] = {}
    for one in told:
        same.setdefault((one.generation, one.leader_member), []).append(one)
    return sorted(map(_together, same.values()), key=lambda one: (one.began, one.generation), reverse=True)


def _here(worker: str, one: Rebalance) -> RebalanceInfo:
    """What this worker knows of a rebalance: its own share and, as the leader, those of the others."""
    own = RebalanceShare(
        worker, one.cause, one.reason, one.began, one.ended, MovedInfo.of(one.assigned), MovedInfo.of(one.revoked)
    )
    found = RebalanceInfo(
        one.generation, one.leader, one.leader_member, one.began, one.ended, one.cause, one.reason, shares=[own]
    )
    if (led := one.led) is not None:
        found.members, found.left = list(led.members), list(led.left)
        found.joined = None if led.joined is None else list(led.joined)
        found.waiting = [WaitingWork(each.worker, each.until, MovedInfo.of(each.work)) for each in led.waiting]
        found.shares += [
            RebalanceShare(
                other,
                assigned=MovedInfo.of(led.assigned.get(other)),
                revoked=MovedInfo.of(led.revoked.get(other)),
            )
            for other in led.members
            if other != worker
        ]
    return found


def _together(told: Sequence[RebalanceInfo]) -> RebalanceInfo:
    """What several workers tell of one rebalance. The leader's own account comes first, where there is one."""
    leaders = [one for one in told if one.members is not None]
    # Without the leader: a worker that has just started may have waited for brokers for long.
    base = leaders[0] if leaders else max(told, key=lambda one: one.began)
    shares: dict[str, RebalanceShare] = {}
    for share in sorted((share for one in told for share in one.shares), key=lambda share: share.began is not None):
        shares[share.worker_id] = share  # a worker knows more of itself than its leader does
    found = msgspec.structs.replace(base, shares=[shares[worker] for worker in sorted(shares)])
    if found.joined is None:
        found.joined = [share.worker_id for share in found.shares if share.cause in _JOINED]
    found.cause, found.reason = _why(found, found.joined)
    return found


def _why(one: RebalanceInfo, joined: Sequence[str]) -> tuple[str, str]:
    """Why it was: what the worker says that began it, or else who joined or left."""
    began = [
        share
        for share in one.shares
        # Whoever joined in the generation before may be late, and have a part in this one alone.
        if share.cause not in ("", _ANOTHER) and (share.cause not in _JOINED or share.worker_id in joined)
    ]
    if began:
        first = min(began, key=lambda share: (_ORDER.get(share.cause, len(_ORDER)), share.worker_id != one.leader))
        return first.cause, first.reason
    return ("joined" if joined else "left" if one.left else _ANOTHER), ""
