"""A field of every record of a batch, wherever it is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect import Values


def field_of(values: Values, name: str) -> Sequence[Any]:
    """The field's value in each row; None where there is none. A name with dots leads into structs and maps.

    A field whose own name has the dots is found first.
    """
    columns = values.struct_columns
    if columns is not None:
        if columns.struct.field(name) is not None:
            return columns.field(name).items
        first, dot, rest = name.partition(".")
        if dot and columns.struct.field(first) is not None:
            return [_within(item, rest) for item in columns.field(first).items]
        return [None] * len(values)
    return [_within(item, name) for item in values]


def _within(item: Any, name: str) -> Any:
    if not isinstance(item, Mapping):
        return None
    if name in item:
        return item[name]
    first, dot, rest = name.partition(".")
    return _within(item.get(first), rest) if dot else None
