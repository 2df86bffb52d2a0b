"""Java's text of a value: `String.valueOf(value)`, which the file sink writes and StringConverter sends.

Differs from Python's `str` for null, booleans, floats, bytes, structs, maps, arrays and logical types.
"""

from __future__ import annotations

import codecs
import datetime as dt
import struct
import sys
from decimal import Decimal
from typing import Any

from connect.data.schema import Schema, Type
from connect.data.time_texts import moment_text


def java_text(schema: Schema | None, value: Any) -> str:
    """A value as Java's `String.valueOf` prints it.

    Structs read ``Struct{a=1,b=x}`` and leave out null fields, whatever their defaults; maps ``{a=1, b=x}``; lists
    ``[1, 2]``; Date, Time and Timestamp as `java.util.Date` prints them in UTC.
    """
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return java_float32(value) if schema is not None and schema.type is Type.FLOAT32 else java_double(value)
    if isinstance(value, dict):
        return (
            _struct_text(schema, value)
            if schema is not None and schema.type is Type.STRUCT
            else _map_text(schema, value)
        )
    if isinstance(value, list | tuple):
        element = schema.value_schema if schema is not None else None
        return "[" + ", ".join(java_text(element, item) for item in value) + "]"
    if isinstance(value, Decimal):
        return java_decimal(value)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return moment_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        # Java prints the array's identity ("[B@1b6d3586"), which says nothing; a ByteBuffer's is no better.
        # We say the size.
        return f"bytes[{len(value)}]"
    return str(value)


def utf8_text(data: bytes) -> str:
    """The text of UTF-8 bytes, malformed ones replaced by U+FFFD as Java's `new String(bytes, UTF_8)` does."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", _MALFORMED)


_MALFORMED = "connect.malformed"


def _replace_malformed(error: UnicodeError) -> tuple[str | bytes, int]:
    assert isinstance(error, UnicodeDecodeError)
    start, end = error.start, error.end
    found = error.object[start : start + 3]
    # Half a surrogate pair in three bytes is one error for Java and three for Python.
    if found[0] == 0xED and len(found) > 1 and 0xA0 <= found[1] <= 0xBF:
        end = start + (3 if len(found) > 2 and 0x80 <= found[2] <= 0xBF else 2)
    return "\N{REPLACEMENT CHARACTER}", end


codecs.register_error(_MALFORMED, _replace_malformed)


def java_double(value: float) -> str:
    """A double as `Double.toString` writes it (the shortest digits, as JDK 19 and later do)."""
    if value - value != 0:
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    if 0 < abs(value) < sys.float_info.min:
        text = f"{value:.1e}" if float(f"{value:.1e}") == value else text  # at least two digits: 4.9E-324
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return text
    return with_exponent(text)


def with_exponent(text: str) -> str:
    """A number below a thousandth or from ten million on, as Python or JSON write it, with Java's exponent."""
    sign = "-" if text[0] == "-" else ""
    digits, _, exponent = text.removeprefix("-").partition("e")
    whole, _, fraction = digits.partition(".")
    if exponent:
        return f"{sign}{whole}.{fraction or '0'}E{int(exponent)}"
    if whole != "0":
        rest = (whole[1:] + fraction).rstrip("0")
        return f"{sign}{whole[0]}.{rest or '0'}E{len(whole) - 1}"
    rest = fraction.lstrip("0")
    return f"{sign}{rest[0]}.{rest[1:] or '0'}E{len(rest) - len(fraction) - 1}"


def java_float32(value: float) -> str:
    """A float as `Float.toString` writes it: the fewest digits that give the same 32-bit float."""
    single = float32(value)
    if single - single != 0:
        return java_double(single)
    # Of a normal float, fewer than six digits show as zeros at the end.
    for digits in range(5 if abs(single) > _SMALLEST_NORMAL_SINGLE or not single else 1, 9):
        near = float(f"{single:.{digits}e}")
        if float32(near) == single:
            return java_double(near)
    raise AssertionError(f"nine digits are enough for any float, {single!r}")


def float32(value: float) -> float:
    """The nearest 32-bit float; infinity beyond its range."""
    try:
        nearest: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return nearest


_SINGLE = struct.Struct("f")
_SMALLEST_NORMAL_SINGLE = 2.0**-126


def java_decimal(value: Decimal) -> str:
    """A decimal as `BigDecimal.toString` writes it: an exponent has its sign, as in 1E+3."""
    return str(value.copy_abs()) if value.is_zero() else str(value)  # BigDecimal has no negative zero


def _struct_text(schema: Schema, value: dict[str, Any]) -> str:
    parts = []
    for field in schema.fields:
        item = value.get(field.name)
        if item is not None:
            parts.append(f"{field.name}={java_text(field.schema, item)}")
    return "Struct{" + ",".join(parts) + "}"


def _map_text(schema: Schema | None, value: dict[Any, Any]) -> str:
    keys, values = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
    return "{" + ", ".join(f"{java_text(keys, k)}={java_text(values, v)}" for k, v in value.items()) + "}"
