"""SQL's try_cast of single values, as Spark does it with time zone UTC: https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html

Python's values in Connect's types: Decimal, date, time and datetime as they are, structs as dicts.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from connect.data import logical
from connect.data.schema import INT_BITS, Schema, Type
from connect.data.text import float32, java_double, java_float32
from connect.data.times import EPOCH
from connect.data.widening import precision_of

_WORDS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_REAL: Final = re.compile(rf"(?P<number>{_NUMBER.pattern})[df]?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_DATE: Final = re.compile(r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_MOMENT: Final = re.compile(
    r"""(\d{4}) (?: - (\d{1,2}) (?: - (\d{1,2})  # year, month, day
    (?: [\ T] (\d{1,2}) (?: : (\d{1,2}) (?: : (\d{1,2}) (?: \. (\d{0,9}) )? )? )?  # hour, minute, second, fraction
    \s* (Z | UTC | GMT | [+-] \d{1,2} (?: :? \d{2} )? )? )? )? )?""",
    re.ASCII | re.VERBOSE,
)
_EXACT: Final = Context(prec=400)
_SPACE: Final = "".join(map(chr, range(33)))  # what Spark trims


class CannotCastError(ValueError):
    """There is no such value of the type: SQL's try_cast gives null."""


def cast(value: Any, schema: Schema, was: Schema | None = None) -> Any:
    """A value that is not null in a type.

    Args:
        value: of the type `was`; without one a dict is a struct.
        schema: the type.

    Raises:
        CannotCastError: it cannot be had.
    """
    try:
        if schema.type in _NESTED:
            return _NESTED[schema.type](value, schema, was)
        if schema.type is Type.STRING:
            return _text(value, was)
        return (_LOGICAL.get(schema.name) or _PLAIN[schema.type])(value, schema)
    except (ValueError, ArithmeticError, KeyError) as error:
        raise CannotCastError(str(error)) from error


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    if (match := pattern.fullmatch(text.strip(_SPACE))) is None:
        raise CannotCastError(text)
    return match


def _boolean(value: Any, _: Schema) -> bool:
    if isinstance(value, str):
        return _WORDS[value.strip(_SPACE).lower()]
    if isinstance(value, bool | int | float | Decimal):
        return bool(value)
    raise CannotCastError(type(value).__name__)


def _whole(value: Any, schema: Schema) -> int:
    match value:
        case str():
            found = int(_matched(_WHOLE, value)[0])
        case bool() | int() | float() | Decimal():
            found = int(value)
        case dt.datetime():
            found = (value - EPOCH) // dt.timedelta(seconds=1)
        case _:
            raise CannotCastError(type(value).__name__)
    most = 1 << INT_BITS[schema.type] - 1
    if not -most <= found < most:
        raise CannotCastError(str(found))
    return found


def _real(value: Any, schema: Schema) -> float:
    match value:
        case str():
            match = _matched(_REAL, value)
            found = float(match["number"] or match[0])
        case bool() | int() | float() | Decimal():
            found = float(value)
        case dt.datetime():
            found = (value - EPOCH) / dt.timedelta(seconds=1)
        case _:
            raise CannotCastError(type(value).__name__)
    return float32(found) if schema.type is Type.FLOAT32 and math.isfinite(found) else found


def _decimal(value: Any, schema: Schema) -> Decimal:
    match value:
        case str():
            found = Decimal(_matched(_NUMBER, value)[0])
        case bool() | int() | Decimal():
            found = Decimal(value)
        case float():
            found = Decimal(repr(value))
        case dt.datetime():
            found = Decimal((value - EPOCH) // dt.timedelta(microseconds=1)).scaleb(-6)
        case _:
            raise CannotCastError(type(value).__name__)
    if not found.is_finite():
        raise CannotCastError(str(found))
    found = found.quantize(Decimal(1).scaleb(-logical.scale_of(schema)), ROUND_HALF_UP, _EXACT)
    found = found or abs(found)  # there is no negative zero
    if (digits := precision_of(schema)) is not None and len(found.as_tuple().digits) > digits:
        raise CannotCastError(str(found))
    return found


def _text(value: Any, was: Schema | None) -> str:
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return java_float32(value) if was is not None and was.type is Type.FLOAT32 else java_double(value)
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.decode(errors="replace")
        case dt.datetime():
            text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case dt.date():
            return value.isoformat()
        case list() | tuple():
            inner = None if was is None else was.value_schema
            return f"[{', '.join(_text(each, inner) for each in value)}]"
        case dict() if was is not None and was.type is Type.MAP:
            entries = (
                f"{_text(key, was.key_schema)} -> {_text(each, was.value_schema)}" for key, each in value.items()
            )
            return f"{{{', '.join(entries)}}}"
        case dict():
            kinds = {} if was is None else {field.name: field.schema for field in was.fields}
            return f"{{{', '.join(_text(each, kinds.get(name)) for name, each in value.items())}}}"
    raise CannotCastError(type(value).__name__)


def _binary(value: Any, _: Schema) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise CannotCastError(type(value).__name__)


def _date(value: Any, _: Schema) -> dt.date:
    match value:
        case str():
            year, month, day = _matched(_DATE, value).groups()
            return dt.date(int(year), int(month or 1), int(day or 1))
        case dt.datetime():
            return value.astimezone(dt.UTC).date()
        case dt.date():
            return value
    raise CannotCastError(type(value).__name__)


def _timestamp(value: Any, _: Schema) -> dt.datetime:
    match value:
        case str():
            return _moment(value)
        case dt.datetime():
            return value
        case dt.date():
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
        case int() | float() | Decimal() if not isinstance(value, bool):
            return EPOCH + dt.timedelta(microseconds=int(Decimal(value).scaleb(6, _EXACT)))
    raise CannotCastError(type(value).__name__)


def _moment(text: str) -> dt.datetime:
    year, month, day, hour, minute, second, fraction, zone = _matched(_MOMENT, text).groups()
    day_of = dt.date(int(year), int(month or 1), int(day or 1))
    time_of = dt.time(int(hour or 0), int(minute or 0), int(second or 0), int((fraction or "").ljust(6, "0")[:6]))
    return dt.datetime.combine(day_of, time_of, _zone(zone)).astimezone(dt.UTC)


def _zone(written: str | None) -> dt.timezone:
    if written is None or written[0] not in "+-":
        return dt.UTC
    hours, _, minutes = written[1:].partition(":")
    if not minutes and len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    offset = dt.timedelta(hours=int(hours), minutes=int(minutes or 0))
    return dt.timezone(-offset if written[0] == "-" else offset)


def _array(value: Any, schema: Schema, was: Schema | None) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise CannotCastError(type(value).__name__)
    assert schema.value_schema is not None
    inner = None if was is None else was.value_schema
    return [_inner(each, schema.value_schema, inner) for each in value]


def _map(value: Any, schema: Schema, was: Schema | None) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise CannotCastError(type(value).__name__)
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    keys, inner = (None, None) if was is None else (was.key_schema, was.value_schema)
    return {cast(key, schema.key_schema, keys): _inner(each, schema.value_schema, inner) for key, each in value.items()}


def _struct(value: Any, schema: Schema, was: Schema | None) -> dict[str, Any]:
    """By the places of fields, as SQL does it; without a schema by their names."""
    if not isinstance(value, dict) or len(value) != len(schema.fields):
        raise CannotCastError(type(value).__name__)
    if was is None:
        return {field.name: _inner(value[field.name], field.schema, None) for field in schema.fields}
    return {
        mine.name: _inner(value.get(theirs.name), mine.schema, theirs.schema)
        for mine, theirs in zip(schema.fields, was.fields, strict=True)
    }


def _inner(value: Any, schema: Schema, was: Schema | None) -> Any:
    """A part of a value: null where it cannot be cast."""
    if value is None:
        return None
    try:
        return cast(value, schema, was)
    except CannotCastError:
        return None


_LOGICAL: Final[Mapping[str | None, Callable[[Any, Schema], Any]]] = {
    logical.DECIMAL_NAME: _decimal,
    logical.DATE_NAME: _date,
    logical.TIMESTAMP_NAME: _timestamp,
}
_PLAIN: Final[Mapping[Type, Callable[[Any, Schema], Any]]] = {
    **dict.fromkeys(INT_BITS, _whole),
    **dict.fromkeys((Type.FLOAT32, Type.FLOAT64), _real),
    Type.BOOLEAN: _boolean,
    Type.BYTES: _binary,
}
_NESTED: Final[Mapping[Type, Callable[[Any, Schema, Schema | None], Any]]] = {
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}
