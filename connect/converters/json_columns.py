"""Structs in Arrow columns as JSON, a column at a time: byte for byte what `json_encode` writes for the same dicts.

Each column becomes a column of texts, and the texts of a row are joined with the separators. What Arrow would write
differently from Java (floats, maps, text with escaped characters) goes through `json_encode` alone. Imported only where
such columns are written: it loads pyarrow.
"""

from __future__ import annotations

import binascii
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.converters.json_encode import Preparer, lines
from connect.data import logical
from connect.data.schema import Schema, Type
from connect.data.struct_columns import FieldColumn, StructColumns

_ENCODED: Final = {
    logical.DATE_NAME: (Type.INT32, pa.int32()),
    logical.TIME_NAME: (Type.INT32, pa.int32()),
    logical.TIMESTAMP_NAME: (Type.INT64, pa.int64()),
}
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})
#: What JSON escapes, and what Java writes as two halves.
_ESCAPED: Final = '["\\\\\\x00-\\x1f\\x{10000}-\\x{10FFFF}]'
#: With more digits after the point Java writes some decimals with an exponent.
_PLAIN_SCALE: Final = 6


def rows(columns: StructColumns, preparer: Preparer, start: bytes, end: bytes) -> list[bytes]:
    """Each row as a JSON object, between `start` and `end`.

    Raises:
        DataError: a value does not fit its schema.
    """
    parts: list[Any] = []
    before = start + b"{"
    for field, column in zip(columns.struct.fields, columns.fields, strict=True):
        parts += [_literal(before + lines([field.name])[:-1] + b":"), _texts(field.schema, column, preparer)]
        before = b","
    joined = pc.binary_join_element_wise(*parts, _literal(b"}" + end), _literal(b""))
    found: list[bytes] = joined.to_pylist()
    return found


def _literal(text: bytes) -> pa.Scalar:
    return pa.scalar(text, pa.binary())


def _texts(schema: Schema, column: FieldColumn, preparer: Preparer) -> pa.Array:
    """The JSON of each value, none of them null."""
    if column.is_arrow:
        array = column.array
        if not array.null_count or (schema.optional and schema.default is None):
            found = _of_arrow(schema, array, preparer)
            if found is not None:
                return found.cast(pa.binary()) if not array.null_count else found.cast(pa.binary()).fill_null(b"null")
    written = lines(preparer.column(schema, column.items)).split(b"\n")
    written.pop()
    return pa.array(written, pa.binary())


def _of_arrow(schema: Schema, array: pa.Array, preparer: Preparer) -> pa.Array | None:
    """The JSON of each value, null for null; None where Arrow writes something else than Java."""
    if schema.name in _ENCODED and schema.type is _ENCODED[schema.name][0]:
        return array.view(_ENCODED[schema.name][1]).cast(pa.string())
    if schema.name == logical.DECIMAL_NAME:
        return _decimals(schema, array, preparer)
    if schema.type in _WHOLE or schema.type is Type.BOOLEAN:
        return array.cast(pa.string())
    if schema.type is Type.STRING and not pc.any(pc.match_substring_regex(array, _ESCAPED)).as_py():
        return pc.binary_join_element_wise('"', array, '"', "")
    return None


def _decimals(schema: Schema, array: pa.Array, preparer: Preparer) -> pa.Array | None:
    if preparer.decimal_numeric:
        return array.cast(pa.string()) if 0 <= logical.scale_of(schema) <= _PLAIN_SCALE else None
    # The low half of a decimal of 128 bits is the whole of it where the high one only repeats its sign.
    halves = memoryview(array.buffers()[1]).cast("q")[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = halves[::2].tolist(), halves[1::2].tolist()
    if array.null_count:
        there = array.is_valid().to_pylist()
        return pa.array([_base64(a, b) if valid else None for a, b, valid in zip(low, high, there, strict=True)])
    return pa.array(list(map(_base64, low, high)))


def _base64(low: int, high: int) -> bytes:
    """The two's complement of an unscaled decimal, in the fewest bytes, as JSON has it."""
    unscaled = low if high == low >> 63 else (high << 64) | (low & 0xFFFF_FFFF_FFFF_FFFF)
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return b'"' + binascii.b2a_base64(unscaled.to_bytes(length, "big", signed=True), newline=False) + b'"'
