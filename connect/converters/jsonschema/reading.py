"""Values of JSON by a Connect schema of a JSON Schema: as JsonConverter reads it, except for three things.

Properties may be missing; a map whose keys are not strings is an array of objects of key and value; a union is a struct
of which the field is set that fits the value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final

import msgspec

from connect.converters.json_decode import Column, Decoder, Inexact
from connect.converters.json_fast import REFUSED, check_utf8, exact, knows_names, may_exceed, parse
from connect.converters.json_text import MISSING
from connect.converters.jsonschema import names
from connect.data.schema import Schema, Type
from connect.data.struct_columns import StructColumns
from connect.data.values import Values
from connect.errors import DataError

_MISSING_KIND: Final = type(MISSING)


class SchemaDecoder(Decoder):
    """Makes values of columns of parsed JSON."""

    def __init__(self) -> None:
        super().__init__(replace_null=True)

    def fields(self, schema: Schema, columns: Any) -> list[Column]:
        return [
            self._field(field.name, field.schema, column) for field, column in zip(schema.fields, columns, strict=True)
        ]

    def _field(self, name: str, schema: Schema, column: Column) -> Column:
        """A property's values. A missing one has the default, else null, even where it is not optional."""
        if _MISSING_KIND not in set(map(type, column)):
            return self._inner(name, schema, column, False)
        present = iter(self._inner(name, schema, [node for node in column if node is not MISSING], False))
        return [schema.default if node is MISSING else next(present) for node in column]

    def _inner(self, name: str, schema: Schema, nodes: Column, in_struct: bool) -> Column:
        return super()._inner(name, schema, nodes, False)

    def _structs(self, schema: Schema, nodes: Column) -> Column:
        if names.is_union(schema):
            return self._unions(schema, nodes)
        if not set(map(type, nodes)) <= {dict}:
            raise DataError("a struct must be a JSON object.")
        fields = tuple(field.name for field in schema.fields)
        if not fields:
            return [{} for _ in nodes]
        values = self.fields(schema, [[node.get(name, MISSING) for node in nodes] for name in fields])
        return [dict(zip(fields, row, strict=True)) for row in zip(*values, strict=True)]

    def _unions(self, schema: Schema, nodes: Column) -> Column:
        chosen = [_member(schema, node) for node in nodes]
        fields = tuple(field.name for field in schema.fields)
        made: list[Any] = [dict.fromkeys(fields) for _ in nodes]
        for index in set(chosen):
            field = schema.fields[index]
            rows = [row for row, which in enumerate(chosen) if which == index]
            values = self._inner(field.name, field.schema, [nodes[row] for row in rows], False)
            for row, value in zip(rows, values, strict=True):
                made[row][field.name] = value
        return made

    def _maps(self, schema: Schema, nodes: Column, in_struct: bool) -> Column:
        if names.as_object(schema):
            return super()._maps(schema, nodes, in_struct)
        pairs = []
        for node in nodes:
            if type(node) is not list or not all(type(e) is dict and e.keys() == {"key", "value"} for e in node):
                raise DataError("a map whose keys are not strings must be a JSON array of objects of key and value.")
            pairs.append([[entry["key"], entry["value"]] for entry in node])
        return [self._map_of_pairs(schema, each, in_struct) for each in pairs]


def _member(schema: Schema, node: Any) -> int:
    """The field of a union for a value: the first simple one of its type, else the struct with most of its names."""
    best, most = -1, 0
    for field in schema.fields:
        if _is_of_type(field.schema.type, node):
            return field.index
        matching = _matching(field.schema, node)
        if matching > most:
            best, most = field.index, matching
    if best < 0:
        raise DataError("nothing in the union is of the value's type.")
    return best


_WHOLE: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)


def _is_of_type(kind: Type, node: Any) -> bool:
    if kind in _WHOLE:
        return type(node) is int
    match kind:
        case Type.FLOAT32 | Type.FLOAT64:
            return type(node) in (int, float, Decimal)
        case Type.BOOLEAN:
            return type(node) is bool
        case Type.STRING:
            return type(node) is str
        case Type.BYTES:
            return type(node) in (float, Decimal)
        case Type.ARRAY:
            return type(node) is list
        case Type.MAP:
            return type(node) in (dict, list)
    return False


def _matching(schema: Schema, node: Any) -> int:
    """The number of names that a struct and an object share, nested ones included."""
    if schema.type is not Type.STRUCT or type(node) is not dict:
        return 0
    shared = [field for field in schema.fields if field.name in node]
    return len(shared) + sum(_matching(field.schema, node[field.name]) for field in shared)


class Reader:
    """Reads records of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._decoder = SchemaDecoder()
        self._row: Callable[[bytes], Any] | None = None
        row = {f"field{field.index}": field.name for field in schema.fields}
        if schema.type is Type.STRUCT and row and knows_names(row.values()) and not names.is_union(schema):
            kind = msgspec.defstruct("Row", [(name, Any, MISSING) for name in row], rename=row, gc=False)
            self._row = msgspec.json.Decoder(kind).decode
            self._columns = [attrgetter(name) for name in row]

    def read(self, data: list[bytes]) -> Values:
        """The values of these texts.

        Raises:
            DataError: one is not JSON, or its JSON cannot be a value of the schema.
        """
        joined = b"\n".join(data)
        if may_exceed(data, joined):
            return self._exactly(data)
        if self._row is not None:
            try:
                rows = list(map(self._row, data))
                check_utf8(joined)
                values = self._decoder.fields(self._schema, [list(map(get, rows)) for get in self._columns])
                return StructColumns(self._schema, [each if type(each) is list else list(each) for each in values])
            except (*REFUSED, Inexact):
                pass  # a way below takes it, or says what is wrong
        try:
            return Values(list(self._decoder.column(self._schema, list(map(parse, data)))), self._schema)
        except (*REFUSED, Inexact):
            return self._exactly(data)

    def _exactly(self, data: list[bytes]) -> Values:
        return Values(list(self._decoder.column(self._schema, list(map(exact, data)))), self._schema)
