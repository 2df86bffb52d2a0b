"""Structs in Arrow columns as JSON, a column at a time: byte for byte what `json_encode` writes for the same dicts.

Each column becomes a column of texts, and the texts of a row are joined with the separators. What Arrow would write
differently from Java (floats, maps, text with escaped characters) goes through `json_encode` alone. Imported only where
such columns are written: it loads pyarrow.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.converters.json_encode import Preparer, lines
from connect.data import logical
from connect.data.arrow_column import ArrowColumn
from connect.data.arrow_text import double_texts, members, scattered
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
    names = [field.name for field in columns.struct.fields]
    return _objects(names, [_texts(column, preparer) for column in columns.fields], start, end)


def map_rows(columns: Mapping[str, Sequence[Any]], preparer: Preparer, start: bytes, end: bytes) -> list[bytes]:
    """The same for schemaless maps.

    Raises:
        DataError: a value cannot be JSON.
    """
    return _objects(columns, [_map_texts(column, preparer) for column in columns.values()], start, end)


def _objects(names: Iterable[str], texts: Sequence[pa.Array], start: bytes, end: bytes) -> list[bytes]:
    """Objects of named texts. One that is null is left out."""
    labels = [lines([name])[:-1].decode() + ":" for name in names]
    joined = members(f"{start.decode()}{{", ",", labels, texts, f"}}{end.decode()}")
    found: list[bytes] = joined.view(pa.binary()).to_pylist()
    return found


def _map_texts(column: Sequence[Any], preparer: Preparer) -> pa.Array:
    """The JSON of each value of a key, null where it is absent."""
    if not isinstance(column, ArrowColumn):
        return _written(preparer.column(None, list(column)))
    field = column.field
    return scattered(field, _texts(field.present(), preparer)) if column.absent else _texts(field, preparer)


def _texts(column: FieldColumn, preparer: Preparer) -> pa.Array:
    """The JSON of each value, none of them null."""
    schema = column.schema
    if column.is_arrow:
        array = column.array
        if not array.null_count or (schema.optional and schema.default is None):
            found = _of_arrow(schema, array, preparer)
            if found is not None:
                found = found.cast(pa.string())
                return found.fill_null("null") if array.null_count else found
    return _written(preparer.column(schema, column.items))


def _written(prepared: Sequence[Any]) -> pa.Array:
    written = lines(prepared).split(b"\n")
    written.pop()
    return pa.array(written, pa.binary()).cast(pa.string())


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
