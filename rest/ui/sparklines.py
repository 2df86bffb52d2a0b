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
    highest = max(filter(None, values), default=0)
    if not highest:
        return ""
    scale = (HEIGHT - 2) / highest
    heights = [None if value is None else HEIGHT - 1 - int(scale * value + 0.5) for value in values]
    first = WIDTH - _STEP * (len(values) - 1)
    drawn: list[str] = []
    before = None
    for place, (height, after) in enumerate(zip(heights, [*heights[1:], None], strict=True)):
        if height is not None and not before == height == after:  # what lies between two of its height is left out
            if before is not None:
                drawn.append(f"{first + _STEP * place} {height}")
            elif after is None:  # a line of one point is not drawn
                drawn.append(f"M{first + _STEP * place} {height}h1")
            else:
                drawn.append(f"M{first + _STEP * place} {height}L")
        before = height
    return " ".join(drawn)
