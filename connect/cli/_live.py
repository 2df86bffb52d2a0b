"""A line for each connector at the bottom of a terminal, redrawn in place while everything else scrolls above it.

The terminal itself keeps the two apart: its scrolling region ends above our lines, so log lines, and what a sink writes
to standard output, need not know of them (DECSTBM, https://vt100.net/docs/vt510-rm/DECSTBM.html).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from connect.cli._summary import Summary

_SAVE, _RESTORE = "\x1b7", "\x1b8"
_CLEAR_LINE, _CLEAR_BELOW, _WHOLE_SCREEN = "\x1b[2K", "\x1b[J", "\x1b[r"
_COLOURS = {"RUNNING": "32", "FAILED": "31", "PAUSED": "33", "STOPPED": "33", "STARTING": "36"}
_SMALLEST = (40, 10)  # columns and lines; below that there is no room beside the log


def is_possible(stream: TextIO) -> bool:
    """Whether the stream is a terminal that understands this, and large enough."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return False
    columns, lines = os.get_terminal_size(stream.fileno())
    return columns >= _SMALLEST[0] and lines >= _SMALLEST[1]


class Live:
    """The lines. Draw them as often as they should change; close at the end, or the terminal stays divided."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colour = "NO_COLOR" not in os.environ
        self._size: os.terminal_size | None = None
        self._reserved = 0
        self._texts: list[str] = []

    def draw(self, summaries: Sequence[Summary]) -> None:
        """Show these."""
        size = os.get_terminal_size(self._stream.fileno())
        texts = lines(summaries, size.columns, size.lines // 2, colour=self._colour)
        divided = ""
        if (size, len(texts)) != (self._size, self._reserved):
            divided = self._divide(size, len(texts))
        elif texts == self._texts:
            return
        self._texts = texts
        first = size.lines - len(texts) + 1
        drawn = "".join(f"\x1b[{first + n};1H{_CLEAR_LINE}{text}" for n, text in enumerate(texts))
        self._write(f"{divided}{_SAVE}{drawn}{_RESTORE}")

    def close(self) -> None:
        """Give the whole terminal back."""
        if self._size is not None:
            first = self._size.lines - self._reserved + 1
            self._write(f"{_SAVE}\x1b[{first};1H{_CLEAR_BELOW}{_WHOLE_SCREEN}{_RESTORE}")
            self._size, self._reserved = None, 0

    def _divide(self, size: os.terminal_size, reserve: int) -> str:
        self.close()
        self._size, self._reserved = size, reserve
        # Scroll what stands where the lines go up first. Setting the region moves the cursor, hence the saving.
        return f"{chr(10) * reserve}\x1b[{reserve}A{_SAVE}\x1b[1;{size.lines - reserve}r{_RESTORE}"

    def _write(self, text: str) -> None:
        # In one piece: others write to this terminal too.
        self._stream.write(text)
        self._stream.flush()


def lines(summaries: Sequence[Summary], columns: int, most: int, *, colour: bool) -> list[str]:
    """The texts of at most so many lines, none wider than the terminal."""
    shown = summaries if len(summaries) <= most else summaries[: most - 1]
    names = max((len(summary.name) for summary in shown), default=0)
    states = max((len(summary.state_in_words) for summary in shown), default=0)
    texts = [_line(summary, names, states, columns, colour=colour) for summary in shown]
    if len(shown) < len(summaries):
        texts.append(f"... and {len(summaries) - len(shown)} more"[:columns])
    return texts


def _line(summary: Summary, names: int, states: int, columns: int, *, colour: bool) -> str:
    rate, records, lag, errors = summary.figures
    state = f"{summary.state_in_words:{states}}"
    figures = f"{rate:>20}  {records:>20}  {lag:>12}  {errors}"
    text = f"{summary.name:{names}}  {state}  {summary.reason or figures}".rstrip()
    # The last column stays free: writing there may break the line.
    text = text if len(text) < columns else f"{text[: columns - 2]}…"
    if not colour:
        return text
    start, end = names + 2, min(names + 2 + len(summary.state), len(text))
    return f"{text[:start]}\x1b[{_COLOURS.get(summary.state, '0')}m{text[start:end]}\x1b[0m{text[end:]}"
