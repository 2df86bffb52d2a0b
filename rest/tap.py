"""/connectors/{connector}/tap: records on their way through the tasks of a connector, step by step. Not in Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Query, Request, Response

from connect.errors import one_line
from connect.herder.taps import Tapping
from connect.peers import PeerError
from rest.api import Api, ApiDep, ConnectorName, Forward, describe, flag, json_answer
from rest.elsewhere import answer_of, others_of
from rest.models.records import TapAnswer, TappedRecordInfo, Untapped
from rest.numbers import up_to, whole

router = APIRouter(prefix="/connectors/{connector}/tap", tags=["connectors"])

_MOST_RECORDS: Final = 100
_MOST_SECONDS: Final = 60
#: How long another worker may take beyond the time of the look.
_PEER_S: Final = 3.0
_decoder: Final = msgspec.json.Decoder(TapAnswer)


def _between(least: int, most: int) -> dict[str, object]:
    return {"type": "integer", "minimum": least, "maximum": most}


_Records = Annotated[
    str, Query(description="The maximum number of records.", json_schema_extra=_between(1, _MOST_RECORDS))
]
_Seconds = Annotated[str, Query(description="How long to wait for them.", json_schema_extra=_between(1, _MOST_SECONDS))]
_Task = Annotated[str | None, Query(description="Only this task.", json_schema_extra={"type": "integer", "minimum": 0})]


@router.get("", **describe(TapAnswer, errors=(400, 403, 404, 503)))
async def tap(
    connector: ConnectorName,
    request: Request,
    api: ApiDep,
    records: _Records = "5",
    seconds: _Seconds = "5",
    task: _Task = None,
    forward: Forward = None,
) -> Response:
    """The next records of a connector's tasks: each before and after every converter and transformation.

    Nothing is moved or repeated. The answer comes when there are enough records, or when the time is over.
    """
    wanted = up_to(_MOST_RECORDS, "records", records)
    patience = up_to(_MOST_SECONDS, "seconds", seconds)
    query = f"records={wanted}&seconds={patience}" + ("" if task is None else f"&task={task}")
    path = f"/connectors/{quote(connector, safe='')}/tap?{query}&forward=false"
    others = others_of(api.herder, connector) if flag(forward, default=True) else ()
    tapping = api.herder.tap(connector, whole("task", task), wanted, patience)
    here = asyncio.ensure_future(_full(tapping, patience))
    peers = [asyncio.ensure_future(_ask(api, request, worker, path, patience + _PEER_S)) for worker in others]
    try:
        pending: set[asyncio.Future[Any]] = {here, *peers}
        while pending and _count(tapping, peers) < wanted:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    finally:
        api.herder.close_tap(tapping)
        here.cancel()
    return json_answer(_answer(api, tapping, peers, wanted))


async def _full(tapping: Tapping, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(tapping.full)), seconds)


def _count(tapping: Tapping, peers: Collection[asyncio.Future[TapAnswer]]) -> int:
    return len(tapping.records) + sum(len(one.result().records) for one in peers if one.done())


def _answer(api: Api, tapping: Tapping, peers: Collection[asyncio.Future[TapAnswer]], wanted: int) -> TapAnswer:
    here = api.herder.metrics().worker_id
    found = [TappedRecordInfo(one.task, here, one.at, one.seen) for one in tapping.records]
    untapped = [Untapped(here, why, task) for task, why in sorted(tapping.refused.items())]
    for asked in peers:
        if asked.done():
            found += asked.result().records
            untapped += asked.result().untapped
        else:
            asked.cancel()  # there are enough
    found.sort(key=lambda one: one.at)
    return TapAnswer(found[:wanted], untapped)


async def _ask(api: Api, request: Request, worker: str, path: str, seconds: float) -> TapAnswer:
    """Another worker's records, or why there are none."""
    try:
        return await answer_of(api, request, worker, path, seconds, _decoder)
    except PeerError as error:
        return TapAnswer([], [Untapped(worker, f"It shows no records: {one_line(error)}")])
