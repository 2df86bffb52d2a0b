"""Schemaless maps, held as a column for each key: transformed without a dict a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.data.arrow_column import ArrowColumn
from connect.data.column import Column, Constant
from connect.data.columns_text import map_column_texts
from connect.data.schema import Schema
from connect.data.values import Values

#: With fewer rows dicts are as fast.
_WORTH_COLUMNS: Final = 16


_ABSENT: Final = object()


class MapColumns(Values):
    """Maps with string keys in the same order, and no schema. All have the same keys, but for `ArrowColumn.absent`.

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
    def in_arrow(self) -> bool:
        """Whether some of the columns are in Arrow."""
        return any(isinstance(items, ArrowColumn) for items in self.columns.values())

    @property
    def constant(self) -> bool:
        return False

    def __len__(self) -> int:
        return self._length

    def take(self, rows: Sequence[int]) -> Values:
        if not rows:
            return Values([])
        taken = {name: _taken(items, rows) for name, items in self.columns.items()}
        return MapColumns(taken)

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
            self._made = self._maps()
        return self._made

    def __iter__(self) -> Any:
        return iter(self.to_list())

    def _maps(self) -> list[Any]:
        names = tuple(self.columns)
        partial = [name for name, items in self.columns.items() if may_be_absent(items)]
        columns = {**self.columns, **{name: _marked(self.columns[name]) for name in partial}}
        maps = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if partial:
            return [{name: item for name, item in each.items() if item is not _ABSENT} for each in maps]
        return maps

    def texts(self) -> list[str]:
        if any(map(may_be_absent, self.columns.values())):
            return super().texts()
        return map_column_texts(self.columns)

    def encoded_lines(self) -> bytes:
        if self.in_arrow:
            from connect.data import arrow_text

            found = arrow_text.encoded_map_lines(self.columns)
            if found is not None:
                return found
        return super().encoded_lines()


class Maps(Values):
    """Schemaless values that may be maps with the same keys: who asks for `maps` makes them look for it."""

    __slots__ = ()

    @property
    def maps(self) -> MapColumns | None:
        return MapColumns.of(self.to_list())


def may_be_absent(items: Sequence[Any]) -> bool:
    """Whether some maps lack the key whose values these are."""
    return isinstance(items, ArrowColumn) and items.absent


def _marked(items: Sequence[Any]) -> list[Any]:
    return [_ABSENT if item is None else item for item in items]


def _taken(items: Sequence[Any], rows: Sequence[int]) -> Sequence[Any]:
    return items.take(rows) if isinstance(items, Column) else [items[row] for row in rows]


def columns_of(items: Sequence[Any]) -> dict[Any, Sequence[Any]] | None:
    """The values of each key of maps that all have the same keys in the same order; None where they have not."""
    if set(map(type, items)) != {dict}:
        return None
    names = tuple(items[0])
    if tuple(items[-1]) != names or tuple(items[len(items) // 2]) != names:  # most differ here already
        return None
    if list(map(tuple, items)).count(names) != len(items):
        return None
    return dict(zip(names, zip(*map(dict.values, items), strict=True), strict=True)) if names else {}
