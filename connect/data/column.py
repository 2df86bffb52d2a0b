"""Columns: one attribute of n records, constant, dictionary-encoded, plain, or computed on first use.

A column is an immutable sequence. A value that is equal for a whole batch (a topic, a missing key) is one object, not
n.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class NoArrowForm(Exception):
    """A column cannot be an Arrow array: its schema has no Arrow type, or a value does not fit."""


class Column(Sequence[T]):
    """n values. Subclasses define their storage."""

    __slots__ = ()

    @abstractmethod
    def take(self, rows: Sequence[int]) -> Column[T]:
        """The values at these rows, in this order."""

    @abstractmethod
    def between(self, start: int, stop: int) -> Column[T]:
        """The values from row `start` up to, not including, row `stop`. 0 <= start <= stop <= len."""

    @abstractmethod
    def to_list(self) -> list[T]:
        """All values. The list may be the column's own: do not change it."""

    @property
    def constant(self) -> bool:
        """Whether the column is known to have one value in every row, without comparing them."""
        return False

    @overload
    def __getitem__(self, row: int) -> T: ...
    @overload
    def __getitem__(self, row: slice) -> Column[T]: ...
    def __getitem__(self, row: int | slice) -> T | Column[T]:
        if isinstance(row, slice):
            start, stop, step = row.indices(len(self))
            return self.between(start, max(start, stop)) if step == 1 else self.take(range(start, stop, step))
        return self.to_list()[row]

    def __iter__(self) -> Iterator[T]:
        return iter(self.to_list())

    def __eq__(self, other: object) -> bool:
        return self.to_list() == other.to_list() if isinstance(other, Column) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows)"


class Constant(Column[T], Generic[T]):
    """One value in every row."""

    __slots__ = ("length", "value")

    def __init__(self, value: T, length: int) -> None:
        self.value = value
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[T]:
        return repeat(self.value, self.length)

    def take(self, rows: Sequence[int]) -> Column[T]:
        return Constant(self.value, len(rows))

    def between(self, start: int, stop: int) -> Column[T]:
        return Constant(self.value, stop - start)

    def to_list(self) -> list[T]:
        return [self.value] * self.length

    @property
    def constant(self) -> bool:
        return True


class Plain(Column[T], Generic[T]):
    """A list of values."""

    __slots__ = ("items",)

    def __init__(self, items: list[T]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def take(self, rows: Sequence[int]) -> Column[T]:
        items = self.items
        return Plain([items[row] for row in rows])

    def between(self, start: int, stop: int) -> Column[T]:
        return Plain(self.items[start:stop])

    def to_list(self) -> list[T]:
        return self.items


class Dictionary(Column[T], Generic[T]):
    """A few distinct values, and for each row the index of its value."""

    __slots__ = ("codes", "distinct")

    def __init__(self, codes: list[int], distinct: list[T]) -> None:
        self.codes = codes
        self.distinct = distinct

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Sequence[int]) -> Column[T]:
        codes = self.codes
        return Dictionary([codes[row] for row in rows], self.distinct)

    def between(self, start: int, stop: int) -> Column[T]:
        return Dictionary(self.codes[start:stop], self.distinct)

    def to_list(self) -> list[T]:
        return list(map(self.distinct.__getitem__, self.codes))

    @property
    def constant(self) -> bool:
        return len(self.distinct) == 1


class Deferred(Column[T], Generic[T]):
    """Values that are computed on first use: positions, for example, that only a crash needs.

    Args:
        length: their number.
        compute: returns all values; called at most once.
        row: returns one value without computing the others, where that is cheaper.
    """

    __slots__ = ("_compute", "_items", "_row", "length")

    def __init__(self, length: int, compute: Callable[[], list[T]], row: Callable[[int], T] | None = None) -> None:
        self.length = length
        self._compute = compute
        self._row = row
        self._items: list[T] | None = None

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, row: int) -> T: ...
    @overload
    def __getitem__(self, row: slice) -> Column[T]: ...
    def __getitem__(self, row: int | slice) -> T | Column[T]:
        if isinstance(row, int) and self._row is not None and self._items is None:
            if not -self.length <= row < self.length:
                raise IndexError(row)
            return self._row(row % self.length)
        return super().__getitem__(row)

    def take(self, rows: Sequence[int]) -> Column[T]:
        def compute() -> list[T]:
            # Of a few rows not all are computed.
            few = self._items is None and self._row is not None and len(rows) < self.length // 4
            items: Sequence[T] = self if few else self.to_list()
            return [items[row] for row in rows]

        return Deferred(len(rows), compute, lambda row: self[rows[row]])

    def between(self, start: int, stop: int) -> Column[T]:
        return Deferred(stop - start, lambda: self.to_list()[start:stop], lambda row: self[start + row])

    def to_list(self) -> list[T]:
        if self._items is None:
            self._items = self._compute()
        return self._items


def column(values: Column[T] | Sequence[T]) -> Column[T]:
    """Make a column of a sequence; a column is returned as it is."""
    if isinstance(values, Column):
        return values
    return Plain(values if isinstance(values, list) else list(values))


def concat(columns: Sequence[Column[Any]]) -> Column[Any]:
    """The rows of several columns, one after another. Constants of the same value stay one."""
    if len(columns) == 1:
        return columns[0]
    first = columns[0]
    if isinstance(first, Constant) and all(isinstance(c, Constant) and c.value == first.value for c in columns):
        return Constant(first.value, sum(map(len, columns)))
    return Plain([item for c in columns for item in c])


def interleave(columns: Sequence[tuple[Sequence[int], Column[Any]]]) -> Column[Any]:
    """The rows of several columns, each at its position. Constants of the same value stay one."""
    length = sum(len(c) for _, c in columns)
    first = columns[0][1]
    if isinstance(first, Constant) and all(isinstance(c, Constant) and c.value == first.value for _, c in columns):
        return Constant(first.value, length)
    items: list[Any] = [None] * length
    for places, c in columns:
        for place, item in zip(places, c, strict=True):
            items[place] = item
    return Plain(items)
