"""A connector's status in a few words and figures, on a line that fits into a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connect.cli._table import COLOURS, fitted, padded, plain, width

#: Which of a summary's figures is left out where not all fit.
_IN_ALL = 1


@dataclass(frozen=True, slots=True)
class Summary:
    """One connector, or one of its tasks, at one moment.

    Attributes:
        name: its name.
        state: RUNNING, PAUSED, ...; STARTING until a task has reported that it runs; FAILED if it or a task is.
        tasks: their number.
        failed: how many of them failed, or are stalled if none did.
        records: acknowledged by the broker, or accepted by the target, since the start; None when unknown.
        per_second: the same over the last seconds.
        lag: records that wait in the topics of a sink; None when unknown or it is a source.
        errors: records given up since the start.
        reason: why it FAILED, or what it waits for, a line; else None.
    """

    name: str
    state: str
    tasks: int
    failed: int
    records: int | None
    per_second: float | None
    lag: int | None
    errors: int
    reason: str | None

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.state_in_words, *self.figures)))

    @property
    def state_in_words(self) -> str:
        """The state, and how many of several tasks have it."""
        if self.failed and self.tasks > 1:
            return f"{self.state} ({self.failed} of {self.tasks} tasks)"
        return self.state

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """Rate, records, lag and errors; empty without any."""
        return (
            "" if self.per_second is None else f"{self.per_second:,.0f} records/s",
            "" if self.records is None else f"{self.records:,} in all",
            "" if self.lag is None else f"lag {self.lag:,}",
            "" if not self.errors else f"{self.errors:,} {'error' if self.errors == 1 else 'errors'}",
        )


def lines(summaries: Sequence[Summary], columns: int, most: int, *, colour: bool) -> list[str]:
    """The texts of at most this many lines, none wider than the terminal."""
    shown = summaries if len(summaries) <= most else summaries[: most - 1]
    names = min(max((width(summary.name) for summary in shown), default=0), columns // 2)  # the rest says how it does
    states = max((len(summary.state_in_words) for summary in shown), default=0)
    figures = [summary.figures for summary in shown if not summary.reason]
    widths = [max(map(len, column)) for column in zip(*figures, strict=True)]
    if widths and names + 2 + states + sum(each + 2 for each in widths if each) >= columns:
        widths[_IN_ALL] = 0
    texts = [_line(summary, names, states, widths, columns, colour=colour) for summary in shown]
    if len(shown) < len(summaries):
        texts.append(f"... and {len(summaries) - len(shown)} more"[:columns])
    return texts


def _line(summary: Summary, names: int, states: int, widths: Sequence[int], columns: int, *, colour: bool) -> str:
    state = f"{summary.state_in_words:{states}}"
    figures = "  ".join(f"{text:>{each}}" for text, each in zip(summary.figures, widths, strict=False) if each)
    name = padded(fitted(plain(summary.name), names + 1), names)
    text = fitted(f"{name}  {state}  {plain(summary.reason or figures)}".rstrip(), columns)
    if not colour:
        return text
    start, end = len(name) + 2, min(len(name) + 2 + len(summary.state), len(text))
    return f"{text[:start]}\x1b[{COLOURS.get(summary.state, '0')}m{text[start:end]}\x1b[0m{text[end:]}"
