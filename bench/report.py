"""The table: what each side took, and ours as a ratio to Java's in the same round."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench.measure import Run
from bench.work import Work
from bench.workers import SIDES


@dataclass(frozen=True)
class Measure:
    """A column of figures.

    Attributes:
        of: the figure of a run.
        form: how it is written.
    """

    title: str
    of: Callable[[Run], float]
    form: str


MEASURES = [
    Measure("records/s", lambda run: run.rate, "{:,.0f}"),
    Measure("CPU-s per million, start included", lambda run: run.cpu_per_million, "{:.2f}"),
    Measure("CPU-s per million, start taken off", lambda run: run.cpu_per_million_started, "{:.2f}"),
    Measure("peak memory, MB (PSS)", lambda run: run.pss / 1e6, "{:,.0f}"),
    Measure("peak memory, MB (RSS)", lambda run: run.rss / 1e6, "{:,.0f}"),
    Measure("start to first record, s", lambda run: run.to_first, "{:.2f}"),
    Measure("broker's CPU-s per million", lambda run: run.broker_cpu_per_million, "{:.2f}"),
]


def ratios(runs: Sequence[Run], work: Work, measure: Measure) -> list[float]:
    """Ours to Java's for each round that both ended."""
    java = {run.round: run for run in runs if (run.work, run.side) == (work.name, "java")}
    ours = {run.round: run for run in runs if (run.work, run.side) == (work.name, "ours")}
    return [measure.of(ours[number]) / measure.of(java[number]) for number in sorted(java.keys() & ours.keys())]


def tables(runs: Sequence[Run], works: Sequence[Work]) -> str:
    """A table in Markdown for each work: for each side the median of its rounds, and the ratio with its spread."""
    return "\n\n".join(f"### {work.title}\n\n{_table(list(_rows(runs, work)))}" for work in works)


def as_json(runs: Sequence[Run], works: Sequence[Work], machine: dict[str, str]) -> dict[str, Any]:
    """The machine, every run, and the ratios by work and measure, each as a list over the rounds."""
    return {
        "machine": machine,
        "runs": [asdict(run) | {"records_per_second": run.rate} for run in runs],
        "ratios": {work.name: {each.title: ratios(runs, work, each) for each in MEASURES} for work in works},
    }


def _rows(runs: Sequence[Run], work: Work) -> Iterator[list[str]]:
    yield ["", "Java", "ours", "ours to Java: median", "least", "most"]
    for measure in MEASURES:
        cells = [measure.title]
        for side in SIDES:
            figures = [measure.of(run) for run in runs if (run.work, run.side) == (work.name, side)]
            cells.append(measure.form.format(median(figures)) if figures else "failed")
        found = ratios(runs, work, measure)
        cells += [f"{value:.2f}" for value in (median(found), min(found), max(found))] if found else ["", "", ""]
        yield cells


def _table(rows: list[list[str]]) -> str:
    """The first column to the left, figures to the right; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [
        [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        for row in [rows[0], rule, *rows[1:]]
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
