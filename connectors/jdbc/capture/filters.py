"""Which names are meant: lists of regular expressions, as Debezium reads them."""

from __future__ import annotations

import re

from connect.settings.java_regex import java_regex


class Filters:
    """Regular expressions, each of which matches a whole name, whatever its case."""

    def __init__(self, patterns: list[re.Pattern[str]]) -> None:
        self._patterns = patterns

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, name: str) -> bool:
        return any(pattern.fullmatch(name) for pattern in self._patterns)


def filters(words: list[str]) -> Filters:
    """Raises ValueError."""
    return Filters([java_regex(f"(?i:{word})") for word in words if word])
