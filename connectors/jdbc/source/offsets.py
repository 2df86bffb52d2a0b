"""Positions in the form of Confluent's JDBC source: a Java worker can continue them, and the other way round.

A table's source partition is `{"protocol": "1", "table": "catalog.schema.table"}`; older ones are `{"table": "table"}`,
a query's is `{"query": "query"}`. Offsets are `{"incrementing": n, "timestamp": ms, "timestamp_nanos": n}`, of which
each mode has its own: milliseconds since 1970, and the nanoseconds of the whole second, as java.sql.Timestamp has them.

Snapshots, which Java's connector lacks, have `{"snapshot": "running" | "completed"}`, with `incrementing` where the key
shows the position, and `"split": "2/4"` in the partition of a part of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connectors.jdbc.database import TableName

INCREMENTING: Final = "incrementing"
TIMESTAMP: Final = "timestamp"
NANOS: Final = "timestamp_nanos"
SNAPSHOT: Final = "snapshot"
RUNNING: Final = "running"
COMPLETED: Final = "completed"
#: The cuts between the parts of a table, in the offset of each part.
CUTS: Final = "cuts"

QUERY: Final = {"query": "query"}


@dataclass(frozen=True, slots=True)
class Position:
    """The last row that was read.

    Attributes:
        time: microseconds since 1970, UTC.
        number: of the incrementing column.
    """

    time: int | None = None
    number: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Position:
        """From a stored offset of any version."""
        if not offset:
            return cls()
        ms, nanos, number = offset.get(TIMESTAMP), offset.get(NANOS), offset.get(INCREMENTING)
        time = None
        if ms is not None:
            time = int(ms) * 1000 if nanos is None else int(ms) // 1000 * 1_000_000 + int(nanos) // 1000
        return cls(time, None if number is None else int(number))

    def offset(self) -> dict[str, Any]:
        """In its stored form."""
        stored: dict[str, Any] = {}
        if self.number is not None:
            stored[INCREMENTING] = self.number
        if self.time is not None:
            stored[TIMESTAMP] = self.time // 1000
            stored[NANOS] = self.time % 1_000_000 * 1000
        return stored


def partitions(table: TableName, split: str | None = None) -> list[dict[str, Any]]:
    """The source partitions under which a table's offset may be stored: first the current form, then older ones.

    Newer drivers of Java name the catalog where older ones did not; before protocol 1 there was only the name.
    """
    if split is not None:
        return [{"protocol": "1", "table": str(table), "split": split}]
    names = [table.parts[at:] for at in range(len(table.parts))]
    return [{"protocol": "1", "table": ".".join(parts)} for parts in names] + [{"table": table.name}]


def problem(offset: Mapping[str, Any]) -> str | None:
    """The error of an offset that a user sets; None for none."""
    known = {INCREMENTING, TIMESTAMP, NANOS, SNAPSHOT, CUTS}
    if unknown := sorted(set(offset) - known):
        return f'an offset has no "{unknown[0]}". Write {{"incrementing": 12}} or {{"timestamp": 1700000000000}}'
    for key in (INCREMENTING, TIMESTAMP, NANOS):
        value = offset.get(key)
        if key in offset and value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            return f'"{key}" is a whole number'
    nanos = offset.get(NANOS)
    if nanos is not None and not 0 <= nanos < 1_000_000_000:
        return f'"{NANOS}" is the nanoseconds of a whole second, 0 to 999999999'
    if SNAPSHOT in offset and offset[SNAPSHOT] not in (RUNNING, COMPLETED):
        return f'"{SNAPSHOT}" is {RUNNING} or {COMPLETED}'
    return None
