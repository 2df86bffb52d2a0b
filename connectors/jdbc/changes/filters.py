"""Which tables and columns are selected: lists of regular expressions, as Debezium reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from connect.settings.java_regex import java_regex


class Filters:
    """Regular expressions, each of which matches a whole name, case-insensitive."""

    def __init__(self, patterns: list[re.Pattern[str]]) -> None:
        self._patterns = patterns

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, name: str) -> bool:
        return any(pattern.fullmatch(name) for pattern in self._patterns)


def filters(words: list[str]) -> Filters:
    """Raises ValueError."""
    return Filters([java_regex(f"(?i:{word})") for word in words if word])


@dataclass(frozen=True)
class Selection:
    """Which tables and columns are captured."""

    schema_include: Filters
    schema_exclude: Filters
    table_include: Filters
    table_exclude: Filters
    column_include: Filters
    column_exclude: Filters

    def table(self, schema: str, name: str) -> bool:
        if self.schema_include and not self.schema_include.match(schema):
            return False
        if self.schema_exclude.match(schema):
            return False
        full = f"{schema}.{name}"
        if self.table_include and not self.table_include.match(full):
            return False
        return not self.table_exclude.match(full)

    def column(self, schema: str, table: str, name: str) -> bool:
        full = f"{schema}.{table}.{name}"
        if self.column_include and not self.column_include.match(full):
            return False
        return not self.column_exclude.match(full)
