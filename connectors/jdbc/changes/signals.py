"""Signals: what a user asks of a running capture, by rows of a table or otherwise, in Debezium's form.

https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from connectors.jdbc.changes.filters import Filters, filters

#: The columns of a signal's table, in their order.
COLUMNS: Final = ("id", "type", "data")


@dataclass(frozen=True, slots=True)
class Execute:
    """Read tables again, part by part, beside the stream.

    Attributes:
        tables: which of the captured ones.
        conditions: of those that match the first: only rows for which the second holds, in SQL.
    """

    tables: Filters
    conditions: Sequence[tuple[Filters, str]] = ()

    def condition(self, table: str) -> str | None:
        """What holds for the rows of a table; None for all."""
        return next((condition for tables, condition in self.conditions if tables.match(table)), None)


@dataclass(frozen=True, slots=True)
class Stop:
    """Read no more of these tables; None: of any."""

    tables: Filters | None


@dataclass(frozen=True, slots=True)
class Pause:
    """Go on where it is when that is asked for."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on."""


@dataclass(frozen=True, slots=True)
class Log:
    """Write a message into the log: shows how far the stream is."""

    message: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Nothing: Debezium marks so where it reads a part of its own snapshots."""


Signal: TypeAlias = Execute | Stop | Pause | Continue | Log | Mark


def signal(kind: str, data: str | None) -> Signal:
    """What is asked for.

    Args:
        kind: Debezium's word for it.
        data: JSON.

    Raises:
        ValueError: it is not understood; says why and what to write.
    """
    if kind in ("snapshot-window-open", "snapshot-window-close"):
        return Mark()
    told = _read(data)
    if kind == "log":
        return Log(str(told.get("message", "")))
    if kind not in ("execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot"):
        raise ValueError(
            f'"{kind}" is no type of a signal. Write execute-snapshot, stop-snapshot, pause-snapshot, resume-snapshot '
            "or log."
        )
    if str(told.get("type", "incremental")).lower() != "incremental":
        raise ValueError(f'snapshots of the type "{told["type"]}" are not taken. Write incremental.')
    if kind == "pause-snapshot":
        return Pause()
    if kind == "resume-snapshot":
        return Continue()
    tables = told.get("data-collections")
    if kind == "stop-snapshot" and not tables:
        return Stop(None)
    if not isinstance(tables, list) or not tables:
        raise ValueError('it names no tables. Write {"data-collections": ["schema.table"]}.')
    chosen = _filters(tables)
    if kind == "stop-snapshot":
        return Stop(chosen)
    if told.get("surrogate-key"):
        raise ValueError("surrogate-key is not supported: tables are read in the order of their primary key.")
    return Execute(chosen, _conditions(told))


def _read(data: str | None) -> Mapping[str, Any]:
    try:
        told = json.loads(data or "{}")
    except ValueError as error:
        raise ValueError(f"its data is no JSON: {error}") from None
    if not isinstance(told, dict):
        raise ValueError("its data is no JSON object.")
    return told


def _filters(tables: Sequence[Any]) -> Filters:
    try:
        # Debezium's users also write names in the quotes of SQL.
        return filters([re.sub(r'"|\\"', "", str(each)) for each in tables])
    except ValueError as error:
        raise ValueError(f"data-collections: {error}") from None


def _conditions(told: Mapping[str, Any]) -> list[tuple[Filters, str]]:
    one, several = told.get("additional-condition"), told.get("additional-conditions", [])
    found = [(filters([".*"]), str(one))] if one else []
    if not isinstance(several, list):
        raise ValueError("additional-conditions is no list.")
    for each in several:
        if not isinstance(each, dict) or not each.get("data-collection") or not each.get("filter"):
            raise ValueError('write additional-conditions as [{"data-collection": "schema.table", "filter": "a > 1"}].')
        found.append((_filters([each["data-collection"]]), str(each["filter"])))
    return found
