"""Charts of a connector's last hour: lines of SVG that the server draws, so that they need no script."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rest.ui.rendering import count, duration

WIDTH: Final = 600
HEIGHT: Final = 100
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Attributes:
        title: what it shows, with its unit.
        now, highest: the newest value and the highest, as text.
        top: the value at its upper edge, as text.
        lines: the points of each line, as SVG's polyline has them; a gap begins another.
    """

    title: str
    now: str
    highest: str
    top: str
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


def charts(answer: Mapping[str, Any]) -> list[Chart]:
    """The charts of an answer of /timeseries; without those that have nothing to show."""
    every = answer["every_ms"]
    found = []
    for kind in _KINDS:
        points = _points(answer["series"], every, kind)
        if points and (kind.always or any(points.values())):
            found.append(_chart(kind, points, every))
    return found


def _points(series: Sequence[Mapping[str, Any]], every: int, kind: _Kind) -> dict[int, float]:
    """The values of all workers together, by the number of their interval. Clocks of workers differ a little."""
    values: dict[int, list[float]] = {}
    for one in series:
        for at, value in zip(one["at"], one[kind.key], strict=True):
            if value is not None:
                values.setdefault(round(at / every), []).append(value)
    return {number: kind.together(found) for number, found in sorted(values.items())}


def _chart(kind: _Kind, points: Mapping[int, float], every: int) -> Chart:
    last, highest = max(points), max(points.values())
    top = _round_up(highest)
    lines: list[list[str]] = []
    before = -2
    for number, value in points.items():
        x = WIDTH * (1 - (last - number) * every / _HOUR_MS)
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
    return Chart(kind.title, kind.text(points[last]), kind.text(highest), kind.text(top), drawn)


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ...: the upper edge of a chart."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= value * 0.999_999)
