"""Documents as tables in Markdown: what each side took, ours to its peer, and the bar that it is held to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.bars import Judged, bar_of, judge


@dataclass(frozen=True)
class Figure:
    """A line of a table.

    Attributes:
        key: of the figure in a round.
        form: how it is written.
    """

    key: str
    title: str
    form: str = "{:,.0f}"


RATE = Figure("rate", "records/s")
CPU = Figure("cpu_us", "CPU a record, µs", "{:.2f}")
MEMORY = Figure("pss_mb", "memory, MB")
START = Figure("start_s", "first record after, s", "{:.2f}")


def compare(
    document: Mapping[str, Any],
    rows: Mapping[str, str],
    figures: Sequence[Figure],
    peer: tuple[str, str],
    ours: tuple[str, str] = ("ours", "ours"),
) -> str:
    """Two sides beside each other: medians, the ratio with its spread, the bar.

    Args:
        rows: by row, what the table calls it. One that was not measured is left out.
        peer: the side that ours is compared with, and what the table calls it.
        ours: the same of the other side.
    """
    judged = judge(document)
    lines = [
        line
        for row, title in rows.items()
        if row in document["rows"]
        for line in _lines(document["rows"][row], row, title, figures, peer[0], ours[0], judged)
    ]
    head = ["", "", peer[1], ours[1], "ratio", "spread", "bar"]
    # A column that has nothing to say is left out.
    keep = [
        at for at in range(len(head)) if any(line[at] for line in lines) and not (at == 0 and len({*rows.values()}) < 2)
    ]
    return markdown([[each[at] for at in keep] for each in [head, *lines]], left=sum(at < 2 for at in keep))


def _lines(
    sides: Mapping[str, Any],
    row: str,
    title: str,
    figures: Sequence[Figure],
    peer: str,
    ours: str,
    judged: Sequence[Judged],
) -> Iterator[list[str]]:
    for figure in figures:
        values = [sides.get(side, {}).get("median", {}).get(figure.key) for side in (peer, ours)]
        if values == [None, None]:
            continue
        cells = ["failed" if value is None else figure.form.format(value) for value in values]
        spread = sides.get(ours, {}).get("ratio", {}).get(peer, {}).get(figure.key, {})
        ratio = f"{spread['median']:.2f}" if spread else ""
        bar = ""
        if of_ratio := bar_of(judged, f"{row}/{ours}/ratio/{peer}/{figure.key}/median"):
            bar, ratio = str(of_ratio.bar), marked(ratio, of_ratio)
        elif absolute := bar_of(judged, f"{row}/{ours}/median/{figure.key}"):
            bar, cells[1] = f"{absolute.bar} (ours)", marked(cells[1], absolute)
        yield [title, figure.title, *cells, ratio, between(spread), bar]
        title = ""


def between(spread: Mapping[str, float]) -> str:
    """The least and the most of a ratio over the rounds; nothing where they are one."""
    if spread.get("least", 0.0) < spread.get("most", 0.0):
        return f"{spread['least']:.2f}-{spread['most']:.2f}"
    return ""


def marked(cell: str, judged: Judged | None) -> str:
    """A cell, in bold where its bar is missed."""
    return f"**{cell}**" if judged and not judged.held and cell else cell


def markdown(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A table of which the first row is the head; so many columns stand to the left, the others are figures."""
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width if at < left else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    lines = [
        [cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in [rows[0], rule, *rows[1:]])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
