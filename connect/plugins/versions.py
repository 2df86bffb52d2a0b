"""Versions of plug-ins and ranges of them: `1.2`, `[1.0,2.0)`, `[1.5,)` (KIP-891, Maven's notation)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PARTS = re.compile(r"\d+|[A-Za-z]+")
# What stands before a release: 1.0rc1 < 1.0 < 1.0.1.
_BEFORE = {
    "dev": 0,
    "snapshot": 0,
    "a": 1,
    "alpha": 1,
    "b": 2,
    "beta": 2,
    "m": 3,
    "milestone": 3,
    "c": 4,
    "cr": 4,
    "rc": 4,
}
_END = (5, 0, "")
_RELEASE = {"final", "ga", "release", "v"}

Key = tuple[tuple[int, int, str], ...]


def order(version: str | None) -> Key:
    """A key that sorts versions by age; a plug-in without one is older than all."""
    if version is None:
        return ()
    parts: list[tuple[int, int, str]] = []
    for part in _PARTS.findall(version.lower()):
        if part.isdigit():
            parts.append((7, int(part), ""))
        elif part not in _RELEASE:
            _cut_zeros(parts)
            parts.append((_BEFORE[part], 0, "") if part in _BEFORE else (6, 0, part))
    _cut_zeros(parts)
    return (*parts, _END)


def _cut_zeros(parts: list[tuple[int, int, str]]) -> None:
    """1.0 is 1, and 1.0rc1 is 1rc1."""
    while parts and parts[-1] == (7, 0, ""):
        parts.pop()


@dataclass(frozen=True)
class VersionRange:
    """Versions between two ends; an end that is None is open."""

    low: str | None
    high: str | None
    with_low: bool
    with_high: bool

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read a range. A bare version means exactly that one.

        Raises:
            ValueError: it is not a range.
        """
        text = text.strip()
        wrong = ValueError(
            f'"{text}" is not a version range. Write 1.2 for exactly that, or a range such as [1.0,2.0).'
        )
        if text[:1] not in ("[", "("):
            if not text or set(text) & set("[](),"):
                raise wrong
            return cls(text, text, True, True)
        if text[-1:] not in ("]", ")"):
            raise wrong
        ends = [end.strip() for end in text[1:-1].split(",")]
        if ends == [""] or len(ends) > 2:
            raise wrong
        low, high = ends[0], ends[-1]
        if len(ends) == 1 and text[0] + text[-1] != "[]":
            raise wrong
        if low and high and order(low) > order(high):
            raise wrong
        return cls(low or None, high or None, text[0] == "[", text[-1] == "]")

    def __contains__(self, version: str | None) -> bool:
        if version is None:
            return False
        at = order(version)
        if self.low is not None and (at < order(self.low) or (at == order(self.low) and not self.with_low)):
            return False
        return self.high is None or at < order(self.high) or (at == order(self.high) and self.with_high)
