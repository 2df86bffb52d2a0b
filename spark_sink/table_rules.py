"""Rules for tables with Spark and without: the table of a record, names of columns, when maintenance is due."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Final

from spark_sink.layout_keys import FIELD, TOPIC, is_path

#: What part of a table's address or name a record may choose: nothing that leads into another folder.
PART_OF_A_NAME: Final = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
#: Why a record that chooses another one has no table, behind what chooses it.
NO_PART_OF_A_NAME: Final = "cannot be part of a table's name: that takes letters, digits, dots, dashes and underscores."

_ODD_CHARACTERS: Final = frozenset(" ,;{}()\n\t=")


def is_one_table(template: str) -> bool:
    """Whether all records go to the same table."""
    return TOPIC not in template and FIELD not in template


def table_for(template: str, topic: str | None, field: str | None) -> str:
    """The table of a record. In the name of a table all characters except letters and digits become underscores."""
    name = template
    for variable, value in ((TOPIC, topic), (FIELD, field)):
        if variable in name:
            text = value or ""
            name = name.replace(variable, text if is_path(template) else re.sub(r"[^A-Za-z0-9_]", "_", text))
    return name


def odd_name(names: Iterable[str]) -> str | None:
    """The first name that a column can have only with column mapping."""
    return next((name for name in names if not name or _ODD_CHARACTERS & set(name)), None)


#: Fewer hours than this, and VACUUM may delete files that somebody is still writing.
SAFE_HOURS: Final = 168


class Schedule:
    """When each table was maintained. The first time is one interval after the first rows.

    Args:
        every: the interval in seconds of each operation; 0 for never.
    """

    def __init__(self, every: Mapping[str, float]) -> None:
        self._every = {work: seconds for work, seconds in every.items() if seconds}
        self._last: dict[tuple[str, str], float] = {}

    def due(self, table: str) -> list[str]:
        """What is due now, after rows were written. Call `done` after doing it."""
        now = time.monotonic()
        return [work for work, s in self._every.items() if now - self._last.setdefault((table, work), now) >= s]

    def done(self, table: str, works: Iterable[str]) -> None:
        """These were done, or begun, now."""
        self._last.update(dict.fromkeys([(table, work) for work in works], time.monotonic()))
