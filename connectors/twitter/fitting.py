"""JSON of the API into structs of a schema: what a schema does not have is left out, what does not fit is null."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

from connect import Schema, Type
from connect.data import logical

#: Gives the value as the schema has it, and notes the path of what does not fit.
Fit = Callable[[Any, list[str]], Any]

_LOW: Final = -(1 << 63)
_HIGH: Final = 1 << 63


def fit(schema: Schema, path: str = "tweet") -> Fit:
    """What makes a value of this schema of JSON. X adds to its API and changes it: a post is not lost for that."""
    inner: Fit
    if schema.name == logical.TIMESTAMP_NAME:
        inner = _time
    elif schema.type is Type.STRUCT:
        inner = _struct(schema, path)
    elif schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        inner = _array(schema.value_schema, f"{path}[]")
    else:
        inner = _PLAIN[schema.type]

    def fitted(value: Any, misfits: list[str]) -> Any:
        if value is None:
            return None
        try:
            return inner(value, misfits)
        except (TypeError, ValueError, OverflowError):
            misfits.append(path)
            return None

    return fitted


def _struct(schema: Schema, path: str) -> Fit:
    fields = [(field.name, fit(field.schema, f"{path}.{field.name}")) for field in schema.fields]
    needed = [field.name for field in schema.fields if not field.schema.optional]

    def fitted(value: Any, misfits: list[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError
        get = value.get
        made = {name: make(get(name), misfits) for name, make in fields}
        if any(made[name] is None for name in needed):
            raise TypeError
        return made

    return fitted


def _array(element: Schema, path: str) -> Fit:
    make = fit(element, path)

    def fitted(value: Any, misfits: list[str]) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError
        made = [make(each, misfits) for each in value]
        return made if element.optional else [each for each in made if each is not None]

    return fitted


def _text(value: Any, _: list[str]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError


def _whole(value: Any, _: list[str]) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not _LOW <= value < _HIGH:
        raise TypeError
    return value


def _number(value: Any, _: list[str]) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    return float(value)


def _flag(value: Any, _: list[str]) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _time(value: Any, _: list[str]) -> dt.datetime:
    moment = dt.datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


_PLAIN: Final[dict[Type, Fit]] = {
    Type.STRING: _text,
    Type.INT64: _whole,
    Type.FLOAT64: _number,
    Type.BOOLEAN: _flag,
}
