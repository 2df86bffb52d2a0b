"""Edits fields of a JSON payload; everything else, digits of numbers included, stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from connect.errors import ConnectError

# 1.50 stays 1.50, and whole numbers of any length stay whole.
_DECODER: Final = msgspec.json.Decoder(float_hook=Decimal)
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
#: Of the number of an element, in a path; no list is that long, and Python reads no number of thousands of digits.
_MOST_DIGITS: Final = 9


class EditError(ConnectError):
    """The payload cannot be edited this way."""


def edited(payload: bytes | None, put: Mapping[str, Any], drop: Iterable[str] = ()) -> bytes:
    """Return the payload with some fields changed.

    Args:
        payload: JSON.
        put: new values by path: field.field, a number for an element of a list. Missing parents are created.
        drop: paths to remove; one that does not exist is no error.

    Raises:
        EditError: the payload is not JSON, or a path does not fit it.
    """
    if payload is None:
        raise EditError("the value is null, not JSON.")
    try:
        value = _DECODER.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise EditError("the value is not JSON.") from None
    for path, new in put.items():
        keys = _keys(path)
        parent = _parent(value, keys, path, make=True)
        _put(parent, keys[-1], new, path)
    for path in drop:
        keys = _keys(path)
        parent = _parent(value, keys, path, make=False)
        if isinstance(parent, dict):
            parent.pop(keys[-1], None)
        elif isinstance(parent, list) and (at := _index(parent, keys[-1])) is not None:
            del parent[at]
    return _ENCODER.encode(value)


def _keys(path: str) -> list[str]:
    keys = path.split(".")
    if not all(keys):
        raise EditError(f'"{path}" is not a path. Write field, or field.field.')
    return keys


def _parent(value: Any, keys: list[str], path: str, *, make: bool) -> Any:
    for key in keys[:-1]:
        if isinstance(value, dict):
            if key not in value or (make and value[key] is None):
                if not make:
                    return None
                value[key] = {}
            value = value[key]
        elif isinstance(value, list) and (at := _index(value, key)) is not None:
            value = value[at]
        elif make:
            raise EditError(f'"{path}" leads nowhere: there is no "{key}" in a {_kind(value)}.')
        else:
            return None
    return value


def _put(parent: Any, key: str, new: Any, path: str) -> None:
    if isinstance(parent, dict):
        parent[key] = new
    elif isinstance(parent, list) and (at := _index(parent, key)) is not None:
        parent[at] = new
    else:
        raise EditError(f'"{path}" leads nowhere: there is no "{key}" in a {_kind(parent)}.')


def _index(items: list[Any], key: str) -> int | None:
    """The index that a part of a path names in a list, None where there is none."""
    if not key.isdecimal() or len(key) > _MOST_DIGITS:
        return None
    return int(key) if int(key) < len(items) else None


def _kind(value: Any) -> str:
    match value:
        case list():
            return f"list of {len(value)}"
        case dict():
            return "object"
        case str():
            return "text"
        case None:
            return "null"
    return "number or boolean"
