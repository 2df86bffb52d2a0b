"""What one task reads: tables, ranges of a table's key, or a query; and its form in a task's configuration.

`tables` lists whole tables in the form of Confluent's connector, so that a Java worker's task configuration runs here,
and the other way round. `task.parts`, a new key, is only there where there are ranges, or a name contains a comma.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connectors.jdbc.database import TableName


@dataclass(frozen=True, slots=True)
class Part:
    """A table, a range of its key, or (without a table) the query.

    Attributes:
        number: of the table's range, from 1.
        cuts: the keys at which ranges begin, except the first; empty for a whole table.
    """

    table: TableName | None = None
    number: int = 1
    cuts: tuple[int, ...] = field(default=())

    @property
    def split(self) -> str | None:
        """`2/4` for the second of four ranges; None for a whole table."""
        return f"{self.number}/{len(self.cuts) + 1}" if self.cuts else None

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """The first key of the range, and the first one after it."""
        limits = (None, *self.cuts, None)
        return limits[self.number - 1], limits[self.number]

    def __str__(self) -> str:
        if self.table is None:
            return "the query"
        return f"table {self.table}" if self.split is None else f"table {self.table} (range {self.split})"


def written(parts: Sequence[Part]) -> dict[str, str]:
    """In the form of a task's configuration."""
    names = [".".join(map(_quoted, p.table.parts)) for p in parts if p.table is not None and not p.cuts]
    config = {"tables": ",".join(names), "tables.fetched": "true"}
    tables = [part.table for part in parts if part.table is not None]
    if any(part.cuts for part in parts) or any(char in str(table) for table in tables for char in ',"'):
        config["task.parts"] = json.dumps([[p.table.parts, p.number, p.cuts] for p in parts if p.table is not None])
    return config


def _quoted(name: str) -> str:
    """A part of a table's name, in quotes only if needed: Java's connector depends on that."""
    return name if re.fullmatch(r"[\w$ -]+", name) else f'"{name}"'


def read(config: Mapping[str, Any]) -> list[Part]:
    """Of a parsed task's configuration; the query, where there are no tables."""
    if config["task.parts"]:
        return [
            Part(TableName(names[-1], *reversed(names[:-1])), number, tuple(cuts))
            for names, number, cuts in json.loads(config["task.parts"])
        ]
    return [Part(TableName.parse(name, key="tables")) for name in config["tables"]] or [Part()]
