"""Generators of the values of one type, a column at a time.

A row's value depends on the row's number and on a generator that is seeded for its block of rows; there is no state
between columns, so that any block can be generated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from connectors.datagen import patterns
from connectors.datagen.chance import below, chosen, lengths, lots, pieces, shares


class Generator(Protocol):
    """Generates the values of one field, or of a part of it."""

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        """A value for each row. `rows` are their numbers."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """One of these values, uniformly."""

    of: Sequence[Any]

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        return chosen(chance, len(rows), self.of)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to below `high`."""

    low: int
    high: int

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        low = self.low
        return [low + more for more in below(chance, len(rows), self.high - low)]


@dataclass(frozen=True, slots=True)
class Fraction:
    """A number from `low` to below `high`."""

    low: float
    high: float

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        low, span = self.low, self.high - self.low
        return [low + share * span for share in shares(chance, len(rows))]


@dataclass(frozen=True, slots=True)
class Counted:
    """Numbers that continue from row to row, and start over after `restart`.

    Attributes:
        start: the lowest, or with a negative step the highest.
        step: from one row to the next.
        span: the distance between start and restart.
        initial: the first row's distance from start.
    """

    start: Any
    step: Any
    span: Any
    initial: Any = 0

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        start, step, span, initial = self.start, self.step, self.span, self.initial
        if step < 0:
            return [start - (initial - step * row) % span for row in rows]
        return [start + (initial + step * row) % span for row in rows]


@dataclass(frozen=True, slots=True)
class Alternating:
    """true and false alternately."""

    start: bool

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        return [bool(row & 1) != self.start for row in rows]


@dataclass(frozen=True, slots=True)
class Odds:
    """true in a share of the rows."""

    share: float

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        return list(lots(chance, len(rows), self.share))


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a pattern."""

    pattern: patterns.Pattern

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        return list(self.pattern.column(chance, len(rows)))


@dataclass(frozen=True, slots=True)
class Between:
    """Texts with a prefix and a suffix."""

    inner: Generator
    before: str
    behind: str

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        before, behind = self.before, self.behind
        return [f"{before}{text}{behind}" for text in self.inner.column(chance, rows)]


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of a length from `low` to `high`, both included."""

    low: int
    high: int

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        sizes = lengths(chance, len(rows), self.low, self.high)
        return pieces(chance.randbytes(sum(sizes)), sizes)


@dataclass(frozen=True, slots=True)
class Converted:
    """Converted values of another generator."""

    inner: Generator
    change: Callable[[Any], Any]

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        return list(map(self.change, self.inner.column(chance, rows)))


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of a length from `low` to `high`, both included."""

    element: Generator
    low: int
    high: int

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        sizes = lengths(chance, len(rows), self.low, self.high)
        return pieces(self.element.column(chance, _within(rows, sizes, self.high)), sizes)


@dataclass(frozen=True, slots=True)
class Maps:
    """Maps of a size from `low` to `high`, both included; smaller where keys are repeated."""

    key: Generator
    value: Generator
    low: int
    high: int

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        sizes = lengths(chance, len(rows), self.low, self.high)
        within = _within(rows, sizes, self.high)
        pairs = list(zip(self.key.column(chance, within), self.value.column(chance, within), strict=True))
        return list(map(dict, pieces(pairs, sizes)))


@dataclass(frozen=True, slots=True)
class Structs:
    """Structs, as dicts."""

    fields: Sequence[tuple[str, Generator]]

    def columns(self, chance: Random, rows: Sequence[int]) -> list[list[Any]]:
        """A column for each field."""
        return [generator.column(chance, rows) for _, generator in self.fields]

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        names = tuple(name for name, _ in self.fields)
        return [dict(zip(names, row, strict=True)) for row in zip(*self.columns(chance, rows), strict=True)]


@dataclass(frozen=True, slots=True)
class Nullable:
    """Null in a share of the rows."""

    inner: Generator
    share: float

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        values = self.inner.column(chance, rows)
        if not self.share:
            return values
        nulls = lots(chance, len(rows), self.share)
        return [None if null else value for null, value in zip(nulls, values, strict=True)]


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union of several types: a struct with a field for each, one of which is set."""

    members: Sequence[tuple[str, Generator]]

    def column(self, chance: Random, rows: Sequence[int]) -> list[Any]:
        which = below(chance, len(rows), len(self.members))
        empty: dict[str, Any] = {name: None for name, _ in self.members}
        made = [dict(empty) for _ in rows]
        for at, (name, generator) in enumerate(self.members):
            indexes = [index for index, chosen_at in enumerate(which) if chosen_at == at]
            values = generator.column(chance, [rows[index] for index in indexes])
            for index, value in zip(indexes, values, strict=True):
                made[index][name] = value
        return made


def _within(rows: Sequence[int], sizes: Sequence[int], most: int) -> list[int]:
    """A number for each element: those of one row are consecutive, and no two elements share one."""
    return [row * most + at for row, size in zip(rows, sizes, strict=True) for at in range(size)]
