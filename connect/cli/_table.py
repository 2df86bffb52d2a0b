"""Tables for people: columns aligned, states coloured where a terminal shows it, nothing that moves the cursor."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence

#: Of states and findings, as codes of ECMA-48.
COLOURS = {
    "RUNNING": "32",
    "FAILED": "31",
    "STALLED": "31",
    "PAUSED": "33",
    "STOPPED": "33",
    "UNASSIGNED": "33",
    "STARTING": "36",
    "RESTARTING": "36",
    "ok": "32",
    "note": "36",
    "warning": "33",
    "error": "31",
    "created": "32",
    "updated": "33",
    "+": "32",
    "-": "31",
    "~": "33",
}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lines of cells, each column as wide as its widest cell. A cell that is a state is coloured."""
    shown = [[plain(str(cell)) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(head, *shown, strict=True)]
    lines = ["  ".join(map(padded, head, widths)).rstrip()]
    for row in shown:
        cells = [coloured(cell, padded(cell, columns)) for cell, columns in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def coloured(state: str, text: str | None = None) -> str:
    """The text, which is the state unless given, in the state's colour if standard output is a terminal."""
    text = state if text is None else text
    code = COLOURS.get(state)
    if code is None or not shows_colours():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def shows_colours() -> bool:
    """Whether standard output is a terminal where colours are enabled (https://no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()


def plain(text: str) -> str:
    """On one line, without characters that a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text)


def counted(number: int, word: str) -> str:
    """1 broker, 3 brokers."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def width(text: str) -> int:
    """The columns that it takes: letters of Chinese, Japanese and Korean two each, marks above a letter none."""
    if text.isascii():
        return len(text)
    return sum(not unicodedata.combining(char) and 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def padded(text: str, columns: int, *, left: bool = True) -> str:
    """With blanks behind it, or before it, up to so many columns."""
    blanks = " " * (columns - width(text))
    return text + blanks if left else blanks + text


def shortened(text: str, columns: int) -> str:
    """Cut to so many columns."""
    if width(text) <= columns:
        return text
    taken = 0
    for at, char in enumerate(text):
        taken += width(char)
        if taken >= columns:
            return f"{text[:at]}…"
    return text


def fitted(text: str, columns: int) -> str:
    """Cut to a terminal's width. The last column stays free: writing there may break the line."""
    return shortened(text, columns - 1)
