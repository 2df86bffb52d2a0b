"""A connector's figures over more than an hour, asked of the Prometheus that scrapes the workers.

One request to its HTTP API has all figures: each is an expression over what GET /metrics exports, summed up over the
workers, and marked with a label. https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

import msgspec

from connect.errors import one_line
from connect.http import NoAnswerError, basic, exchange, words
from connect.settings.definition import Config
from connect.settings.metrics_keys import MetricsOptions, PrometheusOptions
from connect.telemetry.catalogue import Naming, prometheus_name
from rest.errors import ApiError
from rest.forwarding import in_thread
from rest.models.figures import Series, TimeSeries

#: The seconds between two points, by the hours that are asked for: at most 400 points.
EVERY_S: Final[Mapping[int, int]] = {6: 60, 24: 300, 168: 1800, 720: 7200}
LONGEST_HOURS: Final = max(EVERY_S)

_FIGURE: Final = "figure"
#: A rate needs some scrapes in its range: four at the interval that Prometheus has by default, a minute.
_LEAST_RANGE_S: Final = 240
#: How long it may take.
_TIMEOUT_S: Final = 5.0
#: Questions under way at a time: one that hangs must not use this worker up.
_AT_ONCE: Final = 4
#: A page asks again and again; scrapes are no more frequent than this.
_FRESH_S: Final = 15
_MOST_KEPT: Final = 32
_MOST_BYTES: Final = 4 << 20
_MOST_WORDS: Final = 300


class _Found(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Found]


class _Answer(msgspec.Struct):
    data: _Data


class _Refusal(msgspec.Struct):
    error: str


_answers: Final = msgspec.json.Decoder(_Answer)
_refusals: Final = msgspec.json.Decoder(_Refusal)


class Prometheus:
    """Asks for figures. For one event loop; a question waits in a thread of its own.

    Args:
        url: of the server, without the path of its API.
        labels: by which it knows the workers of this pool.
        naming: of the metrics that the workers export.
        authorization: the header that logs in.
        wall: seconds since the epoch.
    """

    def __init__(
        self,
        url: str,
        labels: Mapping[str, str],
        naming: Naming,
        authorization: str | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._url = url.rstrip("/") + "/api/v1/query_range"
        self._labels = labels
        self._naming: Naming = naming
        self._headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if authorization is not None:
            self._headers["Authorization"] = authorization
        self._wall = wall
        place = urlsplit(url)
        self._name = f"Prometheus at {place.scheme}://{place.netloc}"  # the path may be somebody's secret
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        self._kept: dict[tuple[str, int, int], TimeSeries] = {}

    @classmethod
    def of(cls, config: Config) -> Prometheus | None:
        """As the worker's configuration names it; None where it names none."""
        options = PrometheusOptions.parse(config)
        if options.url is None:
            return None
        login = None if options.user_info is None else basic(options.user_info)
        if options.bearer_token is not None:
            login = f"Bearer {options.bearer_token}"
        return cls(options.url, options.labels, MetricsOptions.parse(config).prometheus_names, login)

    async def series(self, connector: str, hours: int) -> TimeSeries:
        """All workers together, up to now.

        Args:
            hours: a key of `EVERY_S`.

        Raises:
            ApiError: it does not answer, or not with figures; in words.
        """
        end = int(self._wall()) // _FRESH_S * _FRESH_S
        key = connector, hours, end
        if key not in self._kept:
            answer = await self._ask(connector, hours, end)
            self._kept = {one: kept for one, kept in self._kept.items() if one[2] == end}
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = _series(answer, hours, end)
        return self._kept[key]

    async def _ask(self, connector: str, hours: int, end: int) -> _Answer:
        query = {
            "query": expression(connector, EVERY_S[hours], self._labels, self._naming),
            "start": end - hours * 3600 + EVERY_S[hours],
            "end": end,
            "step": EVERY_S[hours],
            "timeout": f"{_TIMEOUT_S:g}s",
        }
        try:
            status, content = await asyncio.wait_for(in_thread(lambda: self._exchange(urlencode(query))), _TIMEOUT_S)
        except TimeoutError:
            raise ApiError(502, f"{self._name} had no answer within {_TIMEOUT_S:g} seconds.") from None
        except NoAnswerError as error:
            message = f"{self._name} cannot be reached: {words(error.reason)}. metrics.prometheus.url names it."
            raise ApiError(502, message) from None
        if status != 200:
            raise ApiError(502, self._refused(status, content))
        try:
            return _answers.decode(content)
        except msgspec.MsgspecError:
            message = "answers something else than figures. Does metrics.prometheus.url lead to its HTTP API?"
            raise ApiError(502, f"{self._name} {message}") from None

    def _exchange(self, query: str) -> tuple[int, bytes]:
        if not self._free.acquire(blocking=False):
            raise ApiError(503, f"Too many questions wait for {self._name}. Ask again in a moment.")
        try:
            status, _, content = exchange(
                "POST", self._url, query.encode(), self._headers, timeout=_TIMEOUT_S, most_bytes=_MOST_BYTES
            )
            return status, content
        finally:
            self._free.release()

    def _refused(self, status: int, content: bytes) -> str:
        if status in (401, 403):
            keys = "metrics.prometheus.bearer.auth.token or metrics.prometheus.basic.auth.user.info"
            return f"{self._name} refuses the worker's login (HTTP {status}). Set {keys}."
        try:
            reason = one_line(_refusals.decode(content).error)[:_MOST_WORDS]
        except msgspec.MsgspecError:
            reason = "Does metrics.prometheus.url lead to its HTTP API?"
        return f"{self._name} answers with HTTP {status}: {reason}"


def expression(connector: str, every_s: int, labels: Mapping[str, str], naming: Naming) -> str:
    """PromQL for all figures of a connector, each marked with the name that it has in `Series`.

    A figure of a task is a series of the worker that runs it, and another one where it runs next; both are added up,
    or the highest counts.
    """

    def metric(name: str, more: str = "") -> str:
        return f"{name}{{{selector}{more}}}"

    def kafka(group: str, name: str) -> str:
        return metric(prometheus_name(group, name, naming))

    selector = ",".join(f"{name}={text(value)}" for name, value in {**labels, "connector": connector}.items())
    span = f"[{max(every_s, _LEAST_RANGE_S)}s]"
    running = metric("connect_task_state", ',state!="failed"')
    written = kafka("source-task-metrics", "source-record-write-total")
    sent = kafka("sink-task-metrics", "sink-record-send-total")
    puts = (metric(f"connect_sink_put_seconds_{part}") for part in ("sum", "count"))
    ages = (f"max(max_over_time({metric(f'connect_{kind}_age_max_seconds')}{span}))" for kind in ("source", "sink"))
    figures = {
        "tasks": f"count(count by (task) (max_over_time({running}{span})))",
        "records_per_second": f"(sum(rate({written}{span})) or sum(rate({sent}{span})))",
        "errors_per_second": f"sum(rate({kafka('task-error-metrics', 'total-record-errors')}{span}))",
        "lag": f"max(max_over_time({metric('connect_sink_lag_total_records')}{span}))",
        "put_ms": f"1000 * max({' / '.join(f'rate({part}{span})' for part in puts)})",
        "age_ms": f"1000 * ({' or '.join(ages)})",
    }
    return " or ".join(f'label_replace({what}, "{_FIGURE}", "{name}", "", "")' for name, what in figures.items())


def text(value: str) -> str:
    """A text in PromQL, which has Go's escapes."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value) + '"'


def _series(answer: _Answer, hours: int, end: int) -> TimeSeries:
    """On a grid of all points: what Prometheus does not know is null."""
    every = EVERY_S[hours]
    count = hours * 3600 // every
    first = end - (count - 1) * every
    known: dict[str, list[float | None]] = {}
    for found in answer.data.result:
        row = known.setdefault(found.metric.get(_FIGURE, ""), [None] * count)
        for at, written in found.values:
            place = round((at - first) / every)
            if 0 <= place < count and math.isfinite(value := _number(written)):
                row[place] = round(value, 3)
    unknown: list[float | None] = [None] * count
    series = Series(
        worker_id=None,
        at=[(first + number * every) * 1000 for number in range(count)],
        tasks=[int(tasks or 0) for tasks in known.get("tasks", unknown)],
        records_per_second=known.get("records_per_second", unknown),
        errors_per_second=known.get("errors_per_second", unknown),
        lag=known.get("lag", unknown),
        put_ms=known.get("put_ms", unknown),
        age_ms=known.get("age_ms", unknown),
    )
    return TimeSeries(every * 1000, [series] if known else [], [], LONGEST_HOURS)


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return math.nan
