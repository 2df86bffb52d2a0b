"""A picture of a run: faults as bars, one row for what they disturbed, and beneath it how far each flow was behind."""

from __future__ import annotations

from html import escape
from typing import Final

from tests.chaos.suite.timeline import Event, Timeline

WIDTH: Final = 1200
LEFT: Final = 190
ROW: Final = 16
LAG: Final = 34
#: Of what was meant: dark enough for text of the same color, and told apart by those who see few colors.
COLORS: Final = {
    "worker ": "#1f5fa8",
    "all workers": "#1f5fa8",
    "broker": "#b3541e",
    "target": "#7a3e9d",
    "other": "#4d6b2f",
}


def row_of(event: Event) -> str:
    """The row of an event: what it met, without what else was said of it."""
    return event.target.partition(",")[0].partition(":")[0].partition(" with ")[0].partition(" from ")[0]


def color_of(event: Event) -> str:
    """By the row, and where that is a system's or a connector's name by what was done to it."""
    words = f"{row_of(event)} {event.kind}".replace("store", "target")
    return next((color for word, color in COLORS.items() if word in words), COLORS["other"])


def picture(timeline: Timeline, title: str) -> str:
    """SVG."""
    total = max([timeline.now(), *[event.recovered or 0 for event in timeline.events]])
    scale = (WIDTH - LEFT - 20) / max(total, 1)
    names = sorted({row_of(event) for event in timeline.events})
    top = 46
    lags = top + ROW * len(names) + 34
    height = lags + LAG * len(timeline.progress) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"',
        ' font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="18" font-size="14">Faults and what they met: {escape(title)}</text>',
    ]
    parts += [_minute(minute, scale, top, height) for minute in range(int(total // 60) + 1)]
    for number, name in enumerate(names):
        y = top + ROW * number
        parts.append(f'<text x="{LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(name)}</text>')
        parts += [_bar(event, scale, y) for event in timeline.events if row_of(event) == name]
    parts.append(
        f'<text x="8" y="{lags - 12}" font-size="14">Records behind, by flow (each on a scale of its own)</text>'
    )
    for number, (name, seen) in enumerate(timeline.progress.items()):
        parts.append(_lag(name, seen, scale, lags + LAG * number))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _minute(minute: int, scale: float, top: int, height: int) -> str:
    x = LEFT + minute * 60 * scale
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{height - 22}" stroke="#e3e3e3"/>'
        f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle" fill="#555">{minute} min</text>'
    )


def _bar(event: Event, scale: float, y: float) -> str:
    """Dark while the fault lasts, pale until all runs again."""
    color = color_of(event)
    x, ended = LEFT + event.began * scale, event.ended if event.ended is not None else event.began
    width = max(1.5, (ended - event.began) * scale)
    pale = max(0.0, ((event.recovered if event.recovered is not None else ended) - ended) * scale)
    label = f"{event.kind}: {event.target}, {ended - event.began:.1f} s"
    if event.recovery is not None:
        label += f", all ran again after {event.recovery:.1f} s"
    return (
        f"<g><title>{escape(label)}</title>"
        f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="{ROW - 4}" fill="{color}"/>'
        f'<rect x="{x + width:.1f}" y="{y + 2}" width="{pale:.1f}" height="{ROW - 4}" fill="{color}"'
        ' fill-opacity=".25"/></g>'
    )


def _lag(name: str, seen: list[tuple[float, int, int]], scale: float, y: float) -> str:
    behind = [(at, max(0, written - arrived)) for at, written, arrived in seen]
    most = max([count for _, count in behind], default=0)
    points = " ".join(
        f"{LEFT + at * scale:.1f},{y + LAG - 6 - (LAG - 10) * count / max(most, 1):.1f}" for at, count in behind
    )
    return (
        f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(name)}</text>'
        f'<text x="{LEFT - 8}" y="{y + 26}" text-anchor="end" fill="#555">at most {most:,}</text>'
        f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y + LAG - 6}" y2="{y + LAG - 6}" stroke="#bbb"/>'
        f'<polyline points="{points}" fill="none" stroke="#222" stroke-width="1.2"/>'
    )
