"""/connectors/{connector}/timeseries: its last hour, for charts, from the workers that run its tasks. Not in Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request, Response

from connect.errors import one_line
from connect.herder.last_hour import EVERY_S, Point
from connect.peers import PeerError
from rest.api import Api, ApiDep, ConnectorName, Forward, describe, flag, json_answer
from rest.elsewhere import answer_of, others_of
from rest.models import Series, TimeSeries, Unreachable

router = APIRouter(prefix="/connectors/{connector}/timeseries", tags=["connectors"])

#: How long another worker may take; it has all in memory.
_PEER_S: Final = 2.0
_decoder: Final = msgspec.json.Decoder(TimeSeries)


@router.get("", **describe(TimeSeries, errors=(400, 404)))
async def timeseries(connector: ConnectorName, request: Request, api: ApiDep, forward: Forward = None) -> Response:
    """Rates, errors, lag and latencies of the last hour, a point every ten seconds, of each worker that runs tasks."""
    api.herder.info(connector)  # there is one
    found = TimeSeries(int(EVERY_S * 1000), [], [])
    if points := api.herder.metrics().hour.of(connector):
        found.series.append(_series(api.herder.metrics().worker_id, points))
    if flag(forward, default=True):
        for one in await asyncio.gather(*(_ask(api, request, connector, w) for w in others_of(api.herder, connector))):
            found.series += one.series
            found.unreachable += one.unreachable
    return json_answer(found)


async def _ask(api: Api, request: Request, connector: str, worker: str) -> TimeSeries:
    path = f"/connectors/{quote(connector, safe='')}/timeseries?forward=false"
    try:
        return await answer_of(api, request, worker, path, _PEER_S, _decoder)
    except PeerError as error:
        return TimeSeries(0, [], [Unreachable(worker, one_line(error))])


def _series(worker: str, points: Sequence[Point]) -> Series:
    return Series(
        worker_id=worker,
        at=[int(point.at) for point in points],
        tasks=[int(point.tasks) for point in points],
        records_per_second=[round(point.records, 3) for point in points],
        errors_per_second=[round(point.errors, 3) for point in points],
        lag=[_known(point.lag) for point in points],
        put_ms=[_known(point.put_s * 1000) for point in points],
        age_ms=[_known(point.age_s * 1000) for point in points],
    )


def _known(value: float) -> float | None:
    return None if value != value else round(value, 3)
