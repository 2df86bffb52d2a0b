"""Versions of plug-ins and ranges of them: `1.2`, `[1.0,2.0)`, `(,1.3],[1.5,)` (KIP-891, Maven's notation)."""

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

_SPAN = re.compile(r"([\[(])([^\[\]()]*)([\])])")
_SPANS = re.compile(rf"{_SPAN.pattern}(?:\s*,\s*{_SPAN.pattern})*")

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
class _Span:
    """Versions between two ends; an end that is empty is open."""

    low: str
    high: str
    with_low: bool
    with_high: bool

    def __contains__(self, at: Key) -> bool:
        if self.low and (at < order(self.low) or (at == order(self.low) and not self.with_low)):
            return False
        return not self.high or at < order(self.high) or (at == order(self.high) and self.with_high)


@dataclass(frozen=True)
class VersionRange:
    """Versions in one of several spans."""

    spans: tuple[_Span, ...]

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
        if text and not set(text) & set("[](),"):
            return cls((_Span(text, text, True, True),))
        if not _SPANS.fullmatch(text):
            raise wrong
        spans = []
        for opened, inside, closed in _SPAN.findall(text):
            ends = [end.strip() for end in inside.split(",")]
            low, high = ends[0], ends[-1]
            if len(ends) == 1 and not (low and opened + closed == "[]"):
                raise wrong
            if len(ends) > 2 or (low and high and order(low) > order(high)):
                raise wrong
            spans.append(_Span(low, high, opened == "[", closed == "]"))
        return cls(tuple(spans))

    def __contains__(self, version: str | None) -> bool:
        return version is not None and any(order(version) in span for span in self.spans)
