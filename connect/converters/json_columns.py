"""Structs in Arrow columns as JSON, a column at a time: byte for byte what `json_encode` writes for the same dicts.

Each column becomes a column of texts, and the texts of a row are joined with the separators. What Arrow would write
differently from Java (floats, maps, text with escaped characters) goes through `json_encode` alone. Imported only where
such columns are written: it loads pyarrow.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.converters.json_encode import Preparer, lines
from connect.data import logical
from connect.data.arrow_column import ArrowColumn
from connect.data.arrow_text import double_texts, members
from connect.data.schema import BOOLEAN, FLOAT64, INT64, STRING, Schema, Type
from connect.data.struct_columns import FieldColumn, StructColumns

_ENCODED: Final = {
    logical.DATE_NAME: (Type.INT32, pa.int32()),
    logical.TIME_NAME: (Type.INT32, pa.int32()),
    logical.TIMESTAMP_NAME: (Type.INT64, pa.int64()),
}
_WHOLE: Final = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64})
_PLAIN: Final = {"int64": INT64, "double": FLOAT64, "string": STRING, "bool": BOOLEAN}
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


def map_rows(columns: Mapping[str, Sequence[Any]], preparer: Preparer, start: bytes, end: bytes) -> list[bytes]:
    """Each row of schemaless maps as a JSON object, between `start` and `end`.

    Raises:
        DataError: a value cannot be JSON.
    """
    labels = [lines([name])[:-1].decode() + ":" for name in columns]
    texts = [_map_texts(column, preparer) for column in columns.values()]
    found: list[bytes] = (
        members(f"{start.decode()}{{", ",", labels, texts, f"}}{end.decode()}").view("binary").to_pylist()
    )
    return found


def _map_texts(column: Sequence[Any], preparer: Preparer) -> pa.Array:
    """The JSON of each value of a key, null where it is absent."""
    if isinstance(column, ArrowColumn):
        array = column.array
        found = _of_arrow(_PLAIN[str(array.type)], array, preparer)
        if found is None:
            found = _written(preparer.column(None, array.drop_null().to_pylist()))
            if array.null_count:
                found = pc.replace_with_mask(pa.nulls(len(array), pa.string()), array.is_valid(), found)
        return found.fill_null("null") if array.null_count and not column.absent else found
    return _written(preparer.column(None, list(column)))


def _written(prepared: Sequence[Any]) -> pa.Array:
    written = lines(prepared).split(b"\n")
    written.pop()
    return pa.array(written, pa.binary()).cast(pa.string())


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
    if schema.type is Type.FLOAT64 and pc.all(pc.is_finite(array), min_count=0).as_py():
        return double_texts(array)
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
