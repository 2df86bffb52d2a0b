"""A field of each value, as text: for what a record chooses by it, such as its table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from connect.data.values import Values


class _Missing:
    pass


#: In the place of a text: the struct has no such field, or it holds no text and no number.
MISSING: Final = _Missing()


def texts_at(values: Values, path: Sequence[str]) -> list[Any]:
    """The field of each struct as text; `MISSING` where it is missing, None for a record without a value."""
    texts: list[Any] = [None] * len(values)
    for rows, group in values.groups():
        held = group.struct_columns
        if held is not None and held.struct.field(path[0]) is not None:
            items, rest = held.field(path[0]).items, path[1:]
        else:
            items, rest = [item if item is not None else _NULL for item in group.to_list()], path
        for row, item in zip(rows, items, strict=True):
            texts[row] = None if item is _NULL else _text_at(item, rest)
    return texts


_NULL: Final = _Missing()


def _text_at(item: Any, path: Sequence[str]) -> Any:
    for name in path:
        item = item.get(name) if isinstance(item, dict) else None
    if isinstance(item, bool):
        return str(item).lower()
    return str(item) if isinstance(item, str | int) else MISSING
