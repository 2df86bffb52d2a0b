"""Sparklines in the list of connectors: the last hour of a figure as a path of SVG.

There may be a thousand of them on a page, so a path is a few whole numbers, and there is none where nothing happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

#: The size of the drawing; the line stays a unit away from its edges.
WIDTH: Final = 58
HEIGHT: Final = 16
_STEP: Final = 2


class Sparklines(NamedTuple):
    """Those of a connector, as the `d` of SVG's path; empty where there is nothing to show."""

    rate: str
    lag: str


def sparklines(expanded: Mapping[str, Any]) -> Sparklines:
    """Of a connector's part of GET /connectors?expand=timeseries. Java's workers have none."""
    series = expanded.get("timeseries") or {}
    return Sparklines(path(series.get("records_per_second") or ()), path(series.get("lag") or ()))


def path(values: Sequence[float | None]) -> str:
    """Draw values, the newest at the right edge and the highest at the upper one; None is a gap."""
    highest = max((value for value in values if value is not None), default=0)
    if highest <= 0:
        return ""
    first = WIDTH - _STEP * (len(values) - 1)
    parts: list[str] = []
    piece: list[tuple[int, int]] = []
    for place, value in enumerate(values):
        if value is None:
            parts.append(_piece(piece))
            piece = []
        else:
            piece.append((first + _STEP * place, HEIGHT - 1 - round((HEIGHT - 2) * value / highest)))
    return "".join([*parts, _piece(piece)])


def _piece(points: Sequence[tuple[int, int]]) -> str:
    """A line without gaps. What lies between points of the same height is left out."""
    if not points:
        return ""
    kept = [
        point
        for number, point in enumerate(points)
        if number in (0, len(points) - 1) or not points[number - 1][1] == point[1] == points[number + 1][1]
    ]
    start, *rest = (f"{x} {y}" for x, y in kept)
    return f"M{start}L{' '.join(rest)}" if rest else f"M{start}h1"  # a line of one point is not drawn
