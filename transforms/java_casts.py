"""Casts of single values as Java does them, for Cast.

Whole numbers that do not fit lose their upper bits. Floats that do not fit become the nearest INT32 or INT64; INT8 and
INT16 are the lower bits of that. A string must be a number in Java's syntax.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
import struct
from array import array
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from connect import DataError, Schema, Type, logical
from connect.data.columns_text import double_texts, whole_texts
from connect.data.schema import INT_BITS
from connect.data.text import float32, java_decimal, java_double, java_float32
from connect.data.times import DAY_MS
from transforms.java_dates import JavaDates

Cast = Callable[[Any], Any]

_FLOATS: Final = (Type.FLOAT32, Type.FLOAT64)
TARGETS: Final = {kind.name: kind for kind in (*INT_BITS, *_FLOATS, Type.BOOLEAN, Type.STRING)}

_WHOLE: Final = re.compile(r"[-+]?\d+")
_NUMBER: Final = re.compile(
    r"[\0- ]*([-+]?(?:NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?=[fFdD]?))|"
    r"[-+]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][-+]?\d+)[fFdD]?[\0- ]*",
    re.ASCII,
)
_DOUBLE: Final = struct.Struct("<d")

_TIME: Final = JavaDates("HH:mm:ss.SSS'Z'")
_DATE: Final = JavaDates("yyyy-MM-dd")
_MOMENT: Final = JavaDates("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def cast_list(schema: Schema | None, target: Type, items: list[Any]) -> list[Any]:
    """The values of one schema (None: schemaless) as another type; null stays null.

    Raises:
        DataError: a value's type cannot be cast, or the value does not fit the target's type.
    """
    present = None not in items
    if schema is None:
        casts = _by_type(target)
        kinds = set(map(type, items)) if present else set()
        if target is Type.STRING and kinds in ({float}, {int}):
            return double_texts(items) if kinds == {float} else whole_texts(items)
        if len(kinds) == 1:
            return list(map(casts[kinds.pop()], items))
        return [None if item is None else casts[type(item)](item) for item in items]
    if not present and items.count(None) == len(items):
        return items  # whatever the type
    if present and schema.type in _FLOATS and set(map(type, items)) == {float}:
        if target is Type.FLOAT32:
            return array("f", items).tolist()
        if target is Type.STRING and schema.type is Type.FLOAT64:
            return double_texts(items)
    if present and schema.type in INT_BITS and target is Type.STRING and set(map(type, items)) == {int}:
        return whole_texts(items)
    cast = _cast(schema, target)
    try:
        return list(map(cast, items)) if present else [None if item is None else cast(item) for item in items]
    except (TypeError, AttributeError) as error:
        raise DataError(f"A value is not what its schema says, {schema!r}: {error}.") from error


class _Casts(dict[type, Cast]):
    """The casts of schemaless values by type. As in Java, decimals and dates have none."""

    def __missing__(self, kind: type) -> Cast:
        raise DataError(f"A value of type {kind.__name__} cannot be cast without a schema.")


_schemaless: dict[Type, _Casts] = {}


def _by_type(target: Type) -> _Casts:
    found = _schemaless.get(target)
    if found is None:
        found = _schemaless[target] = _Casts(
            {
                bool: _of_bool(target),
                int: _of_int(target),
                float: _of_float(target, java_double),
                str: _of_text(target),
                bytes: _of_bytes(target),
            }
        )
    return found


_by_schema: dict[tuple[Type, str | None, Type], Cast] = {}


def _cast(schema: Schema, target: Type) -> Cast:
    """The cast for values of a schema. Depends on its type, and on its name if that is a logical type."""
    name = schema.name if logical.python_type(schema) is not None else None
    found = _by_schema.get((schema.type, name, target))
    if found is None:
        if name == logical.DECIMAL_NAME:
            found = _of_decimal(target)
        elif name is not None:
            found = _of_time(schema, target)
        else:
            match schema.type:
                case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
                    found = _of_int(target)
                case Type.FLOAT32 | Type.FLOAT64:
                    found = _of_float(target, java_float32 if schema.type is Type.FLOAT32 else java_double)
                case Type.BOOLEAN:
                    found = _of_bool(target)
                case Type.STRING:
                    found = _of_text(target)
                case Type.BYTES:
                    found = _of_bytes(target)
                case _:
                    raise DataError(f"A {schema.type.name} cannot be cast. Name fields that are strings or numbers.")
        _by_schema[schema.type, name, target] = found
    return found


# By the type of the source.


def _of_int(target: Type) -> Cast:
    if target in INT_BITS:
        return _wrapped(INT_BITS[target])
    if target is Type.FLOAT32:
        return _single_of_int
    return {Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str}[target]


def _of_bool(target: Type) -> Cast:
    if target in INT_BITS:
        return int
    if target in _FLOATS:
        return float
    return bool if target is Type.BOOLEAN else lambda value: "true" if value else "false"


def _of_float(target: Type, text: Callable[[float], str]) -> Cast:
    if target is Type.INT64:
        return _saturated(64)
    if target in INT_BITS:
        saturated = _saturated(32)
        wrapped = _wrapped(INT_BITS[target])
        return saturated if target is Type.INT32 else lambda value: wrapped(saturated(value))
    casts: dict[Type, Cast] = {
        Type.FLOAT32: float32,
        Type.FLOAT64: float,
        Type.BOOLEAN: lambda value: abs(value) >= 1,  # Java tests the whole part
        Type.STRING: text,
    }
    return casts[target]


def _of_text(target: Type) -> Cast:
    if target in INT_BITS:
        return _whole_of_text(INT_BITS[target])
    casts: dict[Type, Cast] = {
        Type.FLOAT32: _single_of_text,
        Type.FLOAT64: _double_of_text,
        Type.BOOLEAN: lambda value: value.lower() == "true",
        Type.STRING: _text,
    }
    return casts[target]


def _of_bytes(target: Type) -> Cast:
    def cast(value: Any) -> Any:
        if target is not Type.STRING:
            raise DataError(f"Bytes cannot be cast to {target.name}.")
        return base64.b64encode(value).decode()

    return cast


def _of_decimal(target: Type) -> Cast:
    if target in INT_BITS or target is Type.BOOLEAN:
        wrapped = _wrapped(INT_BITS.get(target, 64))
        of_whole = bool if target is Type.BOOLEAN else int
        # Beyond 64 digits' worth of zeros the lower bits are all 0.
        return lambda value: of_whole(wrapped(int(value)) if value.adjusted() < 2000 else 0)
    if target is Type.FLOAT32:
        return lambda value: _single_of_text(str(value))
    return float if target is Type.FLOAT64 else java_decimal


def _of_time(schema: Schema, target: Type) -> Cast:
    if target is Type.STRING:
        return lambda value: _time_text(_milliseconds(value))
    cast = _of_int(target)
    return lambda value: cast(logical.encode(schema, value))


# Whole numbers.


def _wrapped(bits: int) -> Callable[[int], int]:
    half, whole = 1 << (bits - 1), (1 << bits) - 1
    low, high = -half, half - 1

    def cast(value: int) -> int:
        return value if low <= value <= high else ((value + half) & whole) - half

    return cast


def _saturated(bits: int) -> Callable[[float], int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def cast(value: float) -> int:
        if low <= value <= high:
            return min(int(value), high)
        return 0 if value != value else high if value > 0 else low

    return cast


def _whole_of_text(bits: int) -> Callable[[str], int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def cast(value: str) -> int:
        try:
            if (not value.isdigit() and not _WHOLE.fullmatch(value)) or max(value) > "\uffff":  # two signs to Java
                raise ValueError
            number = int(value)
        except ValueError:
            raise DataError(f"A string is not a whole number: {_shown(value)}.") from None
        if not low <= number <= high:
            raise DataError(f"A string is a number outside the range {low} to {high}: {_shown(value)}.")
        return number

    return cast


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:40]}...")


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a string")
    return value


# Floats.


def _double_of_text(value: str) -> float:
    found = _NUMBER.fullmatch(value)
    if found is None:
        raise DataError(f"A string is not a number: {_shown(value)}.")
    number = found[1]
    return float.fromhex(number) if "x" in number or "X" in number else float(number)


def _single_of_text(value: str) -> float:
    double = _double_of_text(value)
    # Rounding twice may pick the wrong float of two, but only where the double lies exactly halfway.
    low_bits = int.from_bytes(_DOUBLE.pack(double)[:4], "little") & 0x1FFF_FFFF
    if (low_bits == 0x1000_0000 or abs(double) < 2.0**-126) and math.isfinite(double) and double:
        found = _NUMBER.fullmatch(value)
        assert found is not None
        if "x" not in found[1].lower():
            exact, rounded = Decimal(found[1]), Decimal(double)
            if exact != rounded:
                double = math.nextafter(double, math.inf if exact > rounded else -math.inf)
    return float32(double)


def _single_of_int(value: int) -> float:
    size = abs(value)
    if size > 1 << 53:
        # Forty bits, the last of them a sticky bit for the rest, are enough to round only once.
        shift = size.bit_length() - 40
        rest = size & ((1 << shift) - 1)
        value = (((size >> shift) | (rest != 0)) << shift) * (1 if value > 0 else -1)
    return float32(float(value))


# Dates.


def _milliseconds(value: dt.date | dt.time) -> int:
    if isinstance(value, dt.datetime):
        found: int = logical.encode(logical.TIMESTAMP, value)
    elif isinstance(value, dt.date):
        found = logical.encode(logical.DATE, value) * DAY_MS
    else:
        found = logical.encode(logical.TIME, value)
    return found


def _time_text(ms: int) -> str:
    """As Kafka Connect writes dates as text: values before the second day of the epoch are times."""
    return (_TIME if ms < DAY_MS else _DATE if ms % DAY_MS == 0 else _MOMENT).format(ms)
