"""JSON objects of one struct schema, parsed straight into a column for each field, without a dict for each object.

Fields of plain types are parsed as those: what the parser accepts is what Kafka Connect accepts, and needs no check of
each value's type. All others are parsed as any JSON and converted by `Decoder`. What the parser refuses is for a slower
parser that accepts more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any, Final

import msgspec
from msgspec.structs import astuple

from connect.converters.json_decode import Column, Decoder, Inexact
from connect.converters.json_fast import check_utf8, knows_names, may_exceed
from connect.data.schema import INT_BITS, Schema, Type

#: What the parser makes of a field by itself. It is strict: 1.0 is not an int, and a number no string.
_PARSED: Final[dict[Type, type]] = {
    Type.INT8: int,
    Type.INT16: int,
    Type.INT32: int,
    Type.INT64: int,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
}
_HIGHEST: Final = {kind: 1 << (bits - 1) for kind, bits in INT_BITS.items()}


class Rows:
    """Parses the objects of one schema.

    Args:
        schema: a STRUCT with at least one field for which `knows` is true.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        names = {f"field{field.index}": field.name for field in schema.fields}
        kinds = [None if field.schema.name else _PARSED.get(field.schema.type) for field in schema.fields]
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for name, field, kind in zip(names, schema.fields, kinds, strict=True):
            if kind is None:
                fields.append((name, Any, None))
            elif field.schema.optional or field.schema.default is not None:
                fields.append((name, kind | None, None))
            else:
                fields.append((name, kind))  # it must be there, and is not null
        row = msgspec.defstruct("Row", fields, rename=names, gc=False, kw_only=True)
        self._parse = msgspec.json.Decoder(row).decode
        self._parsed = [kind is not None for kind in kinds]
        self._required = [len(field) == 2 for field in fields]

    @staticmethod
    def knows(schema: Schema) -> bool:
        """Whether the parser can find the names of a struct's fields."""
        return knows_names(field.name for field in schema.fields)

    def columns(self, objects: list[bytes], decoder: Decoder) -> list[Column]:
        """The values of each field. At least one object.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError, DataError, Inexact: another parser is needed.
        """
        parsed: list[Column] = list(zip(*map(astuple, map(self._parse, objects)), strict=True))
        joined = b"\n".join(objects)
        check_utf8(joined)
        if may_exceed(objects, joined):
            raise Inexact
        return [
            column if plain and _fits(field.schema, column, required) else decoder.field(field, column)
            for field, column, plain, required in zip(
                self._schema.fields, parsed, self._parsed, self._required, strict=True
            )
        ]


def _fits(schema: Schema, column: Sequence[Any], required: bool) -> bool:
    """Whether a parsed column has the form of its schema."""
    if not required and None in column:
        return False
    if schema.type in _HIGHEST:
        high = _HIGHEST[schema.type]
        return bool(-high <= min(column) and max(column) < high)
    if schema.type is Type.FLOAT64 and 0.0 in column and any(not each and copysign(1, each) < 0 for each in column):
        raise Inexact  # Java reads -0.0 as 0.0, but -1E-400 as -0.0
    return True
