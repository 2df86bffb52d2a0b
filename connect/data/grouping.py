"""Merging of value columns: one after another, or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from connect.data.column import column
from connect.data.struct_columns import concat_columns
from connect.data.values import GroupedValues, Values


def concat_values(parts: Iterable[Values]) -> Values:
    """The rows of several value columns, one after another."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    columns = [part.struct_columns for part in parts if part.struct_columns is not None]
    if len(columns) == len(parts) and all(column.struct is columns[0].struct for column in columns):
        return concat_columns(columns)
    schemas = [schema for part in parts for schema in part.schemas]
    same = all(schema is schemas[0] for schema in schemas)
    return Values([v for part in parts for v in part], schemas[0] if same else column(schemas))


def interleave_values(columns: Sequence[tuple[Sequence[int], Values]]) -> Values:
    """The rows of several value columns, each at its position; each keeps its storage."""
    groups: list[tuple[Sequence[int], Values]] = [
        ([places[row] for row in rows], values) for places, part in columns for rows, values in part.groups()
    ]
    return GroupedValues(sum(len(part) for _, part in columns), groups)
