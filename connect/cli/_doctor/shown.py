"""Findings for people: a table, with what to do below each finding."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from connect.cli._doctor.finding import Finding, Level
from connect.cli._table import plain, table

_HEAD: Final = ("LEVEL", "AREA", "LOOKED AT", "FOUND, AND WHAT TO DO")
#: Of the first two columns, and of the spaces between all of them.
_LEVEL_AND_AREA: Final = 25
#: The most characters of what was looked at, where so many are left for what was found. Else it gets a third.
_LOOKED_AT: Final = 44
_ENOUGH: Final = 60
_NARROWEST: Final = 20, 30


def shown(findings: Sequence[Finding]) -> str:
    """The table, and the number of each level."""
    room = shutil.get_terminal_size((140, 24)).columns - _LEVEL_AND_AREA
    looked_at = _LOOKED_AT if room >= _LOOKED_AT + _ENOUGH else max(_NARROWEST[0], room // 3)
    width = max(_NARROWEST[1], room - looked_at)
    rows = [row for finding in findings for row in _rows(finding, looked_at, width)]
    return f"{table(_HEAD, rows)}\n\n{summary(findings)}"


def summary(findings: Sequence[Finding]) -> str:
    """2 errors, 1 warning, 12 ok."""
    counts = Counter(finding.level for finding in findings)
    words = []
    for level in sorted(Level, reverse=True):
        many = "s" if counts[level] != 1 and level is not Level.OK else ""
        if counts[level] or level is Level.ERROR:
            words.append(f"{counts[level]} {level.word}{many}")
    return ", ".join(words)


def _rows(finding: Finding, looked_at: int, width: int) -> Iterator[tuple[str, str, str, str]]:
    what = textwrap.wrap(plain(finding.what), looked_at) or [""]
    text = textwrap.wrap(plain(finding.found), width, break_on_hyphens=False) or [""]
    if finding.next_step:
        text += textwrap.wrap(
            plain(finding.next_step), width, initial_indent="-> ", subsequent_indent="   ", break_on_hyphens=False
        )
    for number in range(max(len(what), len(text))):
        first = (finding.level.word, finding.area) if number == 0 else ("", "")
        yield (*first, *(part[number] if number < len(part) else "" for part in (what, text)))  # type: ignore[misc]
