"""Casts of Arrow columns where Arrow's result equals Java's; None where it does not, or might not.

The decision is made once for the whole column: whether all numbers are in range, whether all strings are plain numbers.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect import Schema, Type, logical
from connect.data.arrow import PLAIN_TYPES
from connect.data.arrow_text import double_texts
from connect.data.schema import INT_BITS
from connect.data.times import DAY_MS

_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7
_BEHIND: Final = 64  # longer than any number
_PLAIN_WHOLE: Final = "^-?[0-9]{1,18}$"
_FIRST_MS: Final = -62_135_596_800_000  # 0001-01-01
_LAST_MS: Final = 253_402_300_799_999  # 9999-12-31
_PLAIN_NUMBER: Final = r"^-?[0-9]{1,17}(\.[0-9]{1,17})?$"


def cast_array(schema: Schema, array: pa.Array, target: Type) -> pa.Array | None:
    """A column cast to a type; None where Java's result might differ."""
    if schema.name in (logical.DATE_NAME, logical.TIME_NAME, logical.TIMESTAMP_NAME):
        if target is Type.STRING:
            return _text_of_times(array)
        return _of_int(array.view(pa.int64() if schema.type is Type.INT64 else pa.int32()), target)
    if logical.python_type(schema) is not None:
        return None
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            return _of_int(array, target)
        case Type.FLOAT32 | Type.FLOAT64:
            return _of_float(array, target)
        case Type.BOOLEAN:
            if target in (Type.FLOAT32, Type.FLOAT64):
                array = array.cast(pa.int8())
            return array.cast(PLAIN_TYPES[target])
        case Type.STRING:
            return _of_text(array, target)
    return None


def _text_of_times(array: pa.Array) -> pa.Array | None:
    """Dates and times as Kafka Connect casts them: what is before the second day of the epoch is a time of day."""
    if pa.types.is_time(array.type):
        return pc.binary_join_element_wise(array.cast(pa.string()), pa.scalar("Z"), pa.scalar(""))
    least = pc.min(array.view(pa.int32() if pa.types.is_date(array.type) else pa.int64())).as_py()
    if least is not None and least < (1 if pa.types.is_date(array.type) else DAY_MS):
        return None
    if pa.types.is_date(array.type):
        return array.cast(pa.string())
    moments = array.view(pa.timestamp("ms"))
    written = pc.binary_replace_slice(moments.cast(pa.string()), 10, 11, "T")
    text = pc.binary_replace_slice(written, _BEHIND, _BEHIND, "Z")
    dates = moments.cast(pa.date32(), safe=False)
    midnight = pc.equal(dates.cast(moments.type), moments)
    return pc.if_else(midnight, dates.cast(pa.string()), text) if pc.any(midnight).as_py() else text


def _of_int(array: pa.Array, target: Type) -> pa.Array:
    if target is Type.BOOLEAN:
        return pc.not_equal(array, 0)
    return array.cast(PLAIN_TYPES[target], safe=False)  # drops upper bits, as Java does


def _of_float(array: pa.Array, target: Type) -> pa.Array | None:
    if target in (Type.FLOAT32, Type.FLOAT64):
        return array.cast(PLAIN_TYPES[target], safe=False)
    size = pc.abs(array)
    if target is Type.BOOLEAN:
        return pc.greater_equal(size, 1.0)
    if target is Type.STRING:
        if array.type == pa.float64():
            return double_texts(array)
        if not _plain(size):
            return None
        text = array.cast(pa.string())
        whole = pc.equal(pc.trunc(array), array)
        # Replacing an empty slice past the end appends to a string, six times as fast as joining.
        return pc.if_else(whole, pc.binary_replace_slice(text, _BEHIND, _BEHIND, ".0"), text)
    wide = Type.INT64 if target is Type.INT64 else Type.INT32
    if not _all(pc.less(size, float(1 << (INT_BITS[wide] - 1)))):  # false for NaN too
        return None
    return array.cast(PLAIN_TYPES[wide], safe=False).cast(PLAIN_TYPES[target], safe=False)


def _of_text(array: pa.Array, target: Type) -> pa.Array | None:
    if target is Type.STRING:
        return array
    if target is Type.BOOLEAN:
        return pc.equal(pc.ascii_lower(array), "true")
    if target in (Type.FLOAT32, Type.FLOAT64):
        return array.cast(PLAIN_TYPES[target]) if _all(pc.match_substring_regex(array, _PLAIN_NUMBER)) else None
    if not _all(pc.match_substring_regex(array, _PLAIN_WHOLE)):
        return None
    numbers = array.cast(pa.int64())
    try:
        return numbers.cast(PLAIN_TYPES[target])
    except pa.ArrowInvalid:
        return None  # out of range: the cast of single values raises the error


def _plain(size: pa.Array) -> bool:
    """Whether Java writes floats of this size without an exponent, and as Arrow does except for whole numbers."""
    bounds = pc.min_max(size)
    if not bounds["max"].is_valid:
        return True
    if bounds["max"].as_py() >= _PLAIN_TO or pc.any(pc.is_nan(size)).as_py():  # min_max skips NaN
        return False
    if bounds["min"].as_py() >= _PLAIN_FROM:
        return True
    zeros, small = pc.sum(pc.equal(size, 0.0)), pc.sum(pc.less(size, _PLAIN_FROM))
    return bool(zeros.as_py() == small.as_py())


def _all(conditions: Any) -> bool:
    return pc.all(conditions).as_py() is not False


# Conversions between representations of time, all by way of milliseconds since the epoch.


def to_ms(array: pa.Array, source: str) -> pa.Array | None:
    """Milliseconds of a column of "unix" (milliseconds), "Timestamp", "Date" or "Time"; None for text."""
    match source:
        case "unix":
            return array
        case "Timestamp":
            return array.view(pa.int64())
        case "Date":
            return pc.multiply(array.view(pa.int32()).cast(pa.int64()), DAY_MS)
        case "Time":
            return array.view(pa.int32()).cast(pa.int64())
    return None


def from_ms(ms: pa.Array, target: str) -> pa.Array | None:
    """Milliseconds as one of the representations of `to_ms`; None for text and times outside Python's range."""
    if target == "unix":
        return ms
    if target == "string":
        return None
    least, most = pc.min_max(ms).values()
    if least.is_valid and not (least.as_py() >= _FIRST_MS and most.as_py() <= _LAST_MS):
        return None
    if target == "Timestamp":
        return ms.view(pa.timestamp("ms", "UTC"))
    # Arrow divides towards zero, but days before 1970 round down.
    shifted = pc.subtract(ms, _FIRST_MS)
    days = pc.divide(shifted, DAY_MS)
    if target == "Date":
        return pc.add(days, _FIRST_MS // DAY_MS).cast(pa.int32()).view(pa.date32())
    return pc.subtract(shifted, pc.multiply(days, DAY_MS)).cast(pa.int32()).view(pa.time32("ms"))
