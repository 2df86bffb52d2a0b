"""JSON objects of one struct schema, parsed straight into a column for each field, without a dict for each object.

Fields of plain types, and lists, maps and structs of those, are parsed as such: what the parser accepts is what Kafka
Connect accepts, and needs no check of each value's type. All others are parsed as any JSON and converted by `Decoder`.
What the parser refuses is for a slower parser that accepts more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import copysign
from typing import Annotated, Any, Final, TypedDict

import msgspec
from msgspec.structs import astuple

from connect.converters.json_decode import Column, Decoder, Inexact
from connect.converters.json_fast import check_utf8, knows_names, may_exceed
from connect.data import logical
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
#: Java reads it as 0.0 where it is a double.
_MINUS_ZERO: Final = re.compile(rb"-0(?![0-9])(?!\.[0-9]*[1-9])")
_HIGHEST: Final = {kind: 1 << (bits - 1) for kind, bits in INT_BITS.items()}


class Rows:
    """Parses the objects of one schema.

    Args:
        schema: a STRUCT with at least one field for which `knows` is true.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        names = {f"field{field.index}": field.name for field in schema.fields}
        kinds = [_kind(field.schema) for field in schema.fields]
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
        self._nested_floats = any(
            kind is not None and not field.schema.type.is_primitive and _has_floats(field.schema)
            for field, kind in zip(schema.fields, kinds, strict=True)
        )

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
        if may_exceed(objects, joined) or (self._nested_floats and _MINUS_ZERO.search(joined)):
            raise Inexact
        return [
            column if plain and _fits(field.schema, column, required) else decoder.field(field, column)
            for field, column, plain, required in zip(
                self._schema.fields, parsed, self._parsed, self._required, strict=True
            )
        ]


def _kind(schema: Schema, *, within: bool = False) -> Any:
    """What the parser makes of a schema's values by itself, null apart; None where `Decoder` is needed.

    Args:
        within: whether it is in a list, map or struct: then the parser looks at the range of numbers as well.
    """
    if logical.python_type(schema) is not None:
        return None
    match schema.type:
        case Type.ARRAY:
            assert schema.value_schema is not None
            items = _inner_kind(schema.value_schema)
            return None if items is None else list[items]  # type: ignore[valid-type]
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            values = _inner_kind(schema.value_schema)
            strings = schema.key_schema.type is Type.STRING and schema.key_schema.name is None
            return dict[str, values] if strings and values is not None else None  # type: ignore[valid-type]
        case Type.STRUCT:
            kinds = {field.name: _inner_kind(field.schema) for field in schema.fields}
            if not kinds or None in kinds.values() or not knows_names(kinds):
                return None
            return TypedDict("Inner", kinds)  # type: ignore[operator]
    kind = _PARSED.get(schema.type)
    if within and schema.type in _HIGHEST:
        high = _HIGHEST[schema.type]
        return Annotated[int, msgspec.Meta(ge=-high, le=high - 1)]
    return kind


def _inner_kind(schema: Schema) -> Any:
    """The same for what must be there."""
    return None if schema.optional or schema.default is not None else _kind(schema, within=True)


def _has_floats(schema: Schema) -> bool:
    inner = [field.schema for field in schema.fields] + [each for each in (schema.value_schema,) if each is not None]
    return schema.type is Type.FLOAT64 or any(map(_has_floats, inner))


def _fits(schema: Schema, column: Sequence[Any], required: bool) -> bool:
    """Whether a parsed column has the form of its schema."""
    if not required and None in column:
        if schema.default is not None or not schema.optional:
            return False
        column = [item for item in column if item is not None]
        if not column:
            return True
    if schema.type in _HIGHEST:
        high = _HIGHEST[schema.type]
        return bool(-high <= min(column) and max(column) < high)
    if schema.type is Type.FLOAT64 and 0.0 in column and any(not each and copysign(1, each) < 0 for each in column):
        raise Inexact  # Java reads -0.0 as 0.0, but -1E-400 as -0.0
    return True
