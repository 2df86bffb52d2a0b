"""Default expressions of columns as defaults of fields, as far as they are constants.

What is computed has, as Debezium has it, the beginning of time for a timestamp, 0 for a number out of a sequence, and a
uuid of zeros; other expressions give a field no default.
"""

from __future__ import annotations

import re
from typing import Any, Final

from connectors.jdbc.capture.types import ColumnType

_QUOTED: Final = re.compile(r"\(?[BX]?'((?:[^']|'')*)'\)?(?:::[^']+)?\)?", re.DOTALL)
_NUMBER: Final = re.compile(r"\(?(-?[\d.]+(?:[eE][+-]?\d+)?)\)?(?:::[^']+)?")
_CALL: Final = re.compile(r"(?:[\w.\"]+\(.*\)|CURRENT_\w+|LOCAL\w+)(?:.*)", re.DOTALL)


def default_of(expression: str | None, column: ColumnType) -> Any:
    """The default of a field; None for none."""
    if expression is None or expression.startswith("NULL::"):
        return None
    if expression in ("true", "false"):
        return _read(column, expression[:1])
    if found := _QUOTED.fullmatch(expression):
        return _read(column, found[1].replace("''", "'"))
    if found := _NUMBER.fullmatch(expression):
        return _read(column, found[1])
    if _CALL.fullmatch(expression):
        return column.default
    return None


def _read(column: ColumnType, literal: str) -> Any:
    if not column.literal:
        return None
    try:
        return (column.constant or column.read)(literal.encode())
    except Exception:  # a constant of another type, cast when it is used
        return None
