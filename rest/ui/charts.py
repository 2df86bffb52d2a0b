"""Charts of a connector over an hour, or more: lines of SVG that the server draws, so that they need no script."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rest.ui.cluster import Answer
from rest.ui.rendering import count, duration

WIDTH: Final = 600
HEIGHT: Final = 100
_HOUR_MS: Final = 3_600_000
#: What can be chosen, in hours, and how it is called.
PERIODS: Final[Mapping[int, str]] = {1: "hour", 6: "6 hours", 24: "day", 168: "week", 720: "month"}
_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class _Span:
    """How far a chart looks back.

    Attributes:
        name, since: "hour", and "an hour ago".
    """

    milliseconds: int
    name: str
    since: str


_SPANS: Final = {
    hours: _Span(hours * _HOUR_MS, name, f"{name} ago" if name[0].isdigit() else f"a {name} ago")
    for hours, name in PERIODS.items()
} | {1: _Span(_HOUR_MS, "hour", "an hour ago")}
#: In place of the first hour, for what has just begun: else its line would be a dot at the edge.
_YOUNG: Final = [_Span(minutes * _MINUTE_MS, f"{minutes} minutes", f"{minutes} min ago") for minutes in (5, 20)]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Attributes:
        title: what it shows, with its unit.
        now, highest: the newest value and the highest, as text.
        top: the value at its upper edge, as text.
        period, since: how far it looks back, and what stands at its left edge.
        lines: the points of each line, as SVG's polyline has them; a gap begins another.
    """

    title: str
    now: str
    highest: str
    top: str
    period: str
    since: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Kind:
    title: str
    key: str
    together: Callable[[Sequence[float]], float]
    text: Callable[[float | None], str]
    #: Whether it is shown although all of it is zero.
    always: bool = False


_KINDS: Final = (
    _Kind("Records/s", "records_per_second", sum, count, always=True),
    _Kind("Lag", "lag", sum, count, always=True),
    _Kind("Errors/s", "errors_per_second", sum, count),
    _Kind("Duration of a put", "put_ms", max, duration),
    _Kind("Age of records", "age_ms", max, duration),
)


@dataclass(frozen=True, slots=True)
class ShownCharts:
    """What the page of a connector shows of them.

    Attributes:
        charts: none where nothing is known.
        hours: the chosen period, of `PERIODS`; 0 for one that there is not.
        periods: those among which a reader may choose; none without a choice.
        refusal: why there are no charts of more than an hour, in the worker's words; else empty.
    """

    charts: Sequence[Chart]
    hours: int
    periods: Mapping[int, str]
    refusal: str = ""


def shown_charts(answer: Answer, hours: str) -> ShownCharts:
    """Those of a response to /timeseries.

    Args:
        hours: what it was asked for.
    """
    chosen = int(hours) if hours in map(str, PERIODS) else 0
    if answer.refused and chosen == 1:  # a Java worker, say
        return ShownCharts([], chosen, {})
    if answer.refused:
        return ShownCharts([], chosen, PERIODS, answer.message)
    longest = answer.body.get("longest_hours", 1)
    periods = {number: word for number, word in PERIODS.items() if number <= longest}
    return ShownCharts(charts(answer.body, chosen), chosen, periods if len(periods) > 1 else {})


def charts(answer: Mapping[str, Any], hours: int = 1) -> list[Chart]:
    """The charts of an answer of /timeseries; without those that have nothing to show.

    Args:
        hours: how far it looks back, of `PERIODS`.
    """
    every = answer["every_ms"]
    numbers = [_number(at, every) for one in answer["series"] for at in one["at"]]
    newest = max(numbers, default=0)
    span = _span(hours, (newest - min(numbers, default=0)) * every)
    found = []
    for kind in _KINDS:
        points = _points(answer["series"], every, kind)
        if points and (kind.always or any(points.values())):
            found.append(_chart(kind, points, newest, every, span))
    return found


def _span(hours: int, known: int) -> _Span:
    """The period of a chart for which so many milliseconds are known."""
    shorter = [span for span in _YOUNG if hours == 1 and known <= span.milliseconds]
    return shorter[0] if shorter else _SPANS[hours]


def _number(at: float, every: int) -> int:
    """The number of an interval since the epoch. Clocks of workers differ a little."""
    return int(at / every + 0.5)  # round() would give two halves the same number


def _points(series: Sequence[Mapping[str, Any]], every: int, kind: _Kind) -> dict[int, float]:
    """The values of all workers together, by the number of their interval."""
    values: dict[int, list[float]] = {}
    for one in series:
        for at, value in zip(one["at"], one[kind.key], strict=True):
            if value is not None:
                values.setdefault(_number(at, every), []).append(value)
    return {number: kind.together(found) for number, found in sorted(values.items())}


def _chart(kind: _Kind, points: Mapping[int, float], newest: int, every: int, span: _Span) -> Chart:
    highest = max(points.values())
    top = _round_up(highest)
    lines: list[list[str]] = []
    before = -2
    for number, value in points.items():
        x = WIDTH * (1 - (newest - number) * every / span.milliseconds)
        if x < 0:
            continue
        if number > before + 2:  # one point may be missing where two workers look at different moments
            lines.append([])
        lines[-1].append(f"{x:.1f},{HEIGHT * (1 - value / top):.1f}")
        before = number
    for line in lines:
        if len(line) == 1:  # a line of one point is not drawn
            left, _, height = line[0].partition(",")
            line.append(f"{float(left) - 1:.1f},{height}")
    drawn = [" ".join(line) for line in lines]
    now = kind.text(points.get(newest))
    return Chart(kind.title, now, kind.text(highest), kind.text(top), span.name, span.since, drawn)


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ...: the upper edge of a chart."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= value * 0.999_999)
