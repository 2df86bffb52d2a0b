"""JSON objects of one struct schema, parsed by Arrow straight into Arrow arrays: at half the cost of `json_rows`.

Arrow's reader is used only where it accepts what Kafka Connect accepts, with the same result: fields of plain types,
objects with exactly these fields. What it reads differently is searched for afterwards, and suspicious or refused input
is left to `json_rows` and the exact parsers behind it. So this module never reports that a record is wrong. Imported
only for many records: it loads pyarrow.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from connect.converters.json_decode import Decoder, Inexact
from connect.converters.json_fast import is_long, may_exceed
from connect.data import logical
from connect.data.arrow import PLAIN_TYPES, arrow_type
from connect.data.schema import Field, Schema, Type
from connect.data.times import DAY_MS
from connect.errors import DataError

#: What a field of a type is read as. Arrow takes no text for a number, no number for a text, and no 1.0 for an integer.
_READ: Final = {
    **PLAIN_TYPES,
    Type.FLOAT32: pa.float64(),  # and rounded from there, as Java does
    Type.BYTES: pa.string(),
}
_DAYS: Final = (-719_162, 2_932_896)  # of the years 1 to 9999, which Python knows
#: What the encoded values of a logical type may be.
_BOUNDS: Final[dict[str | None, tuple[Type, int, int]]] = {
    logical.DATE_NAME: (Type.INT32, *_DAYS),
    logical.TIME_NAME: (Type.INT32, 0, DAY_MS - 1),
    logical.TIMESTAMP_NAME: (Type.INT64, _DAYS[0] * DAY_MS, (_DAYS[1] + 1) * DAY_MS - 1),
}
#: Of an unscaled decimal that has no more digits than Arrow's.
_MOST_BYTES: Final = 15
_MINUS_ZERO: Final = -(1 << 63)
_ENOUGH: Final = 8
_SELDOM: Final = 64

T = TypeVar("T")


class Attempts:
    """What may be in vain: after eight times in a row only each 64th is made."""

    def __init__(self) -> None:
        self._in_vain = 0

    def of(self, attempt: Callable[[], T | None]) -> T | None:
        """What the attempt finds; None where it was in vain, or is not made."""
        if self._in_vain >= _ENOUGH and self._in_vain % _SELDOM:
            self._in_vain += 1
            return None
        found = attempt()
        self._in_vain = self._in_vain + 1 if found is None else 0
        return found


class ArrowRows:
    """Parses the objects of one schema.

    Args:
        schema: for which `knows` is true.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        wanted = pa.schema([(field.name, _read_as(field.schema)) for field in schema.fields])
        self._options = arrow_json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="error")
        self._attempts = Attempts()

    @staticmethod
    def knows(schema: Schema) -> bool:
        """Whether all fields of a struct have types that are supported here."""
        return all(_read_as(field.schema) is not None for field in schema.fields)

    def columns(self, objects: Sequence[bytes], decoder: Decoder) -> list[pa.Array | list[Any]] | None:
        """What `parsed` finds. Where it was in vain for long it is tried seldom."""
        return self._attempts.of(lambda: self.parsed(objects, decoder))

    def parsed(self, objects: Sequence[bytes], decoder: Decoder) -> list[pa.Array | list[Any]] | None:
        """The values of each field; None where another parser is needed. At least one object."""
        try:
            return self._columns(objects, decoder)
        except (pa.ArrowException, UnicodeDecodeError, IndexError, DataError, Inexact):
            return None  # an empty record has no index 0

    def _columns(self, objects: Sequence[bytes], decoder: Decoder) -> list[pa.Array | list[Any]] | None:
        # Where a record ends and the next begins, `}` and `{` meet, which no value has in its middle. So no value
        # reaches over that place, and as many values as records are one of each.
        if not all([item[0] == 0x7B and item[-1] == 0x7D for item in objects]):  # noqa: C419 - a list is faster here
            return None
        text = b"\n".join(objects)
        only_ascii = text.isascii()
        if is_long(objects, text):
            return None
        one_block = arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        table = arrow_json.read_json(pa.BufferReader(text), one_block, self._options)
        if len(table) != len(objects) or table.column_names != [field.name for field in self._schema.fields]:
            return None
        columns = []
        for field, chunks in zip(self._schema.fields, table.columns, strict=True):
            array = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
            if not only_ascii and array.type == pa.string():
                array.validate(full=True)  # UTF-8: names are those of the schema, and numbers have only ASCII
            column = self._column(field, array, objects, decoder)
            if column is None:
                return None
            columns.append(column)
        return columns

    def _column(
        self, field: Field, array: pa.Array, objects: Sequence[bytes], decoder: Decoder
    ) -> pa.Array | list[Any] | None:
        """The values of a field from the parsed column, or None where that differs from what Java reads."""
        schema = field.schema
        if schema.type is Type.BYTES:
            decimals = _decimals(schema, array) if schema.name == logical.DECIMAL_NAME else None
            return list(decoder.field(field, array.to_pylist())) if decimals is None else decimals
        if array.null_count and (schema.default is not None or not schema.optional):
            return None
        if schema.type in (Type.FLOAT32, Type.FLOAT64):
            return _numbers(schema, array, objects)
        if schema.name in _BOUNDS and len(array) > array.null_count:
            _, low, high = _BOUNDS[schema.name]
            least, most = pc.min_max(array).values()
            if least.as_py() < low or most.as_py() > high:
                return None
        wanted = arrow_type(schema)
        return array if array.type == wanted else array.view(wanted)


def _read_as(schema: Schema) -> pa.DataType | None:
    wanted = Type.BYTES if schema.name == logical.DECIMAL_NAME else _BOUNDS.get(schema.name, (schema.type,))[0]
    return _READ.get(schema.type) if schema.type is wanted else None


def _decimals(schema: Schema, array: pa.Array) -> pa.Array | None:
    """Decimals of base64; None where one needs another parser, or more digits than Arrow has."""
    wanted = arrow_type(schema)
    if wanted is None or (array.null_count and (schema.default is not None or not schema.optional)):
        return None
    texts = (array.fill_null("AA==") if array.null_count else array).to_pylist()
    try:
        found = [binascii.a2b_base64(text, strict_mode=True) for text in texts]
    except ValueError:
        return None
    sizes = set(map(len, found))
    if not sizes or min(sizes) == 0 or max(sizes) > _MOST_BYTES:
        return None
    if not all([len(text) % 4 == 0 and text[-3:] != "===" for text in texts]):  # noqa: C419 - a list is faster here
        return None  # Python's strict mode takes padding behind what is complete
    # Two's complement, big endian. Reversed as a whole it is little endian, with the last value first.
    found.reverse()
    wide = b"".join([item.rjust(16, b"\xff" if item[0] & 0x80 else b"\0") for item in found])[::-1]
    made = pa.Array.from_buffers(wanted, len(array), [None, pa.py_buffer(wide)])
    return pc.if_else(array.is_valid(), made, pa.scalar(None, wanted)) if array.null_count else made


def _numbers(schema: Schema, array: pa.Array, objects: Sequence[bytes]) -> pa.Array | None:
    """Doubles, unless one was written in a form that Java reads differently, or refuses."""
    if not pc.all(pc.is_finite(array), min_count=0).as_py():
        return None  # NaN, or beyond what a double can be: Java refuses the first and takes the second
    zeros = pc.equal(array, 0.0)
    if pc.any(zeros).as_py():
        if pc.any(pc.equal(array.view(pa.int64()), _MINUS_ZERO)).as_py():
            return None
        with_zeros = [objects[row] for row in pc.indices_nonzero(zeros).to_pylist()]
        if may_exceed(with_zeros, b"\n".join(with_zeros)):
            return None
    return array if schema.type is Type.FLOAT64 else array.cast(pa.float32(), safe=False)
