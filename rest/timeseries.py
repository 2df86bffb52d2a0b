"""Figures of connectors over time, for charts.

/connectors/{connector}/timeseries has the last hour of one, from the workers that run its tasks, or more from a
Prometheus; GET /connectors?expand=timeseries the last hour of all in few points. Not in Kafka.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Query, Request, Response

from connect.errors import one_line
from connect.herder.last_hour import EVERY_S, SPARKLINE_EVERY_S, SPARKLINE_POINTS, Point
from connect.peers import PeerError
from rest.api import Api, ApiDep, ConnectorName, Forward, describe, flag, json_answer
from rest.elsewhere import answer_of, expanded_elsewhere, others_of
from rest.errors import ApiError
from rest.models.figures import Series, Sparkline, TimeSeries
from rest.models.worker import Unreachable
from rest.prometheus import EVERY_S as LONG_EVERY_S
from rest.prometheus import LONGEST_HOURS

router = APIRouter(prefix="/connectors/{connector}/timeseries", tags=["connectors"])

#: How long another worker may take; it has all in memory.
_PEER_S: Final = 2.0
_decoder: Final = msgspec.json.Decoder(TimeSeries)

_HOURS: Final = ("1", *map(str, LONG_EVERY_S))
_Hours = Annotated[
    str | None,
    Query(
        description="How far to look back. More than 1 needs metrics.prometheus.url.",
        json_schema_extra={"type": "integer", "enum": [int(hours) for hours in _HOURS], "default": 1},
    ),
]


@router.get("", **describe(TimeSeries, errors=(400, 404, 502, 503)))
async def timeseries(
    connector: ConnectorName, request: Request, api: ApiDep, hours: _Hours = None, forward: Forward = None
) -> Response:
    """Rates, errors, lag and latencies of a connector over time.

    The last hour is of each worker that runs tasks, a point every ten seconds. More comes from Prometheus, for all
    workers together.
    """
    api.herder.info(connector)  # there is one
    if hours not in (None, *_HOURS):
        raise ApiError(400, f"hours is {', '.join(_HOURS[:-1])} or {_HOURS[-1]}.")
    if hours in (None, "1"):
        return json_answer(await _last_hour(connector, request, api, ask_others=flag(forward, default=True)))
    if api.prometheus is None:
        message = "Workers keep one hour. For more, set metrics.prometheus.url to the Prometheus that scrapes them."
        raise ApiError(400, message)
    return json_answer(await api.prometheus.series(connector, int(hours)))


async def _last_hour(connector: str, request: Request, api: Api, *, ask_others: bool) -> TimeSeries:
    found = TimeSeries(int(EVERY_S * 1000), [], [], 1 if api.prometheus is None else LONGEST_HOURS)
    if points := api.herder.metrics().hour.of(connector):
        found.series.append(_series(api.herder.metrics().worker_id, points))
    if ask_others:
        for one in await asyncio.gather(*(_ask(api, request, connector, w) for w in others_of(api.herder, connector))):
            found.series += one.series
            found.unreachable += one.unreachable
    return found


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


async def of_all(api: Api, request: Request, names: Iterable[str], *, ask_others: bool) -> dict[str, Sparkline]:
    """The last hour of connectors, by name, up to now: of this worker, and of the others that run parts of them.

    Without `ask_others` only this worker's own.
    """
    newest = int(time.time() // SPARKLINE_EVERY_S)
    found = {name: _Sum(newest) for name in names}
    for name, line in api.herder.metrics().hour.sparklines().items():
        if name in found:
            found[name].add(line.newest, line.records, line.lag)
    for other in await expanded_elsewhere(api, request, found, "timeseries") if ask_others else ():
        for name in other.connectors:
            theirs = other.answer if isinstance(other.answer, str) else other.answer.get(name)
            if isinstance(theirs, str):
                found[name].unreachable.append(Unreachable(other.worker, theirs))
            elif theirs is not None and theirs.timeseries is not msgspec.UNSET:
                found[name].add_answer(theirs.timeseries)
    return {name: summed.sparkline() for name, summed in found.items()}


class _Sum:
    """A connector's sparkline, added up over workers.

    Args:
        newest: the number of the interval of now. What a clock that is ahead calls a later one is left out.
    """

    def __init__(self, newest: int) -> None:
        self._newest = newest
        self._records: list[float] = []
        self._lag: list[float] = []
        self.unreachable: list[Unreachable] = []

    def add(self, newest: int, records: Sequence[float | None], lag: Sequence[float | None]) -> None:
        """Add what one worker knows, up to the interval of this number."""
        behind = self._newest - newest
        self._records = _added(self._records, records, behind)
        self._lag = _added(self._lag, lag, behind)

    def add_answer(self, line: Sparkline) -> None:
        """Add another worker's."""
        if line.every_ms == int(SPARKLINE_EVERY_S * 1000):  # else it is of another version
            self.add(line.until // line.every_ms - 1, line.records_per_second, line.lag)

    def sparkline(self) -> Sparkline:
        """As REST shows it."""
        every = int(SPARKLINE_EVERY_S * 1000)
        until = (self._newest + 1) * every
        return Sparkline(every, until, _shown(self._records), _shown(self._lag), self.unreachable)


def _added(total: list[float], values: Sequence[float | None], behind: int) -> list[float]:
    if not values:
        return total
    if not total and not behind and len(values) == SPARKLINE_POINTS:  # nearly always, for a thousand connectors
        return [math.nan if value is None else value for value in values]
    total = total or [math.nan] * SPARKLINE_POINTS
    for place, value in enumerate(values, SPARKLINE_POINTS - len(values) - behind):
        if value is not None and value == value and 0 <= place < SPARKLINE_POINTS:
            total[place] = value if math.isnan(total[place]) else total[place] + value
    return total


def _shown(values: list[float]) -> list[float | None]:
    if not any(value > 0 for value in values):  # none is negative, and NaN is not greater either
        return []
    return [None if value != value else round(value) if value >= 100 else round(value, 2) for value in values]
