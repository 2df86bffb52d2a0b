"""Schemaless maps that all have the same keys, held as a column for each key: transformed without a dict a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.data.column import Constant
from connect.data.columns_text import map_column_texts
from connect.data.schema import Schema
from connect.data.values import Values

#: With fewer rows dicts are as fast.
_WORTH_COLUMNS: Final = 16


class MapColumns(Values):
    """Maps with the same string keys in the same order, and no schema.

    Args:
        columns: the values of each key, at least one, of the same length. They are not copied.
    """

    __slots__ = ("_length", "_made", "columns")

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = columns
        self._length = len(next(iter(columns.values())))
        self._made: list[Any] | None = None
        self.schemas = Constant(None, self._length)

    @classmethod
    def of(cls, items: Sequence[Any]) -> MapColumns | None:
        """These values by columns; None where they are few, or not maps with the same string keys."""
        if len(items) < _WORTH_COLUMNS:
            return None
        columns = columns_of(items)
        return cls(columns) if columns and set(map(type, columns)) == {str} else None

    @property
    def maps(self) -> MapColumns:
        return self

    @property
    def constant(self) -> bool:
        return False

    def __len__(self) -> int:
        return self._length

    def take(self, rows: Sequence[int]) -> Values:
        if not rows:
            return Values([])
        return MapColumns({name: [items[row] for row in rows] for name, items in self.columns.items()})

    def between(self, start: int, stop: int) -> Values:
        if start >= stop:
            return Values([])
        return MapColumns({name: items[start:stop] for name, items in self.columns.items()})

    def groups(self) -> list[tuple[Sequence[int], Values]]:
        return [(range(self._length), self)]

    def by_schema(self) -> list[tuple[Schema | None, list[int]]]:
        return [(None, list(range(self._length)))]

    def to_list(self) -> list[Any]:
        if self._made is None:
            names = tuple(self.columns)
            self._made = [dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]
        return self._made

    def __iter__(self) -> Any:
        return iter(self.to_list())

    def texts(self) -> list[str]:
        return map_column_texts(self.columns)


def columns_of(items: Sequence[Any]) -> dict[Any, Sequence[Any]] | None:
    """The values of each key of maps that all have the same keys in the same order; None where they have not."""
    if set(map(type, items)) != {dict}:
        return None
    names = tuple(items[0])
    if list(map(tuple, items)).count(names) != len(items):
        return None
    return dict(zip(names, zip(*map(dict.values, items), strict=True), strict=True)) if names else {}
