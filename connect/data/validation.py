"""Validates a value against a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.data.logical import python_type
from connect.data.schema import INT_BITS, Schema, Type
from connect.errors import SchemaError


def validate(schema: Schema, value: Any, path: str = "value") -> None:
    """Raise SchemaError, naming the path, unless the value fits the schema."""
    if value is None:
        if not schema.optional and schema.default is None:
            raise SchemaError(f"{path}: null, but the schema {schema!r} is neither optional nor has a default.")
        return
    expected = python_type(schema)
    if expected is not None:
        if not isinstance(value, expected):
            raise SchemaError(f"{path}: {_kind(value)} where {schema.name} takes {expected.__name__}.")
        return
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            bits = INT_BITS[schema.type]
            if not isinstance(value, int) or isinstance(value, bool):
                raise SchemaError(f"{path}: {_kind(value)} where {schema.type.name} takes int.")
            if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
                raise SchemaError(f"{path}: {value} does not fit into {schema.type.name}.")
        case Type.ARRAY:
            if not isinstance(value, list | tuple):
                raise SchemaError(f"{path}: {_kind(value)} where ARRAY takes list.")
            assert schema.value_schema is not None
            for i, element in enumerate(value):
                validate(schema.value_schema, element, f"{path}[{i}]")
        case Type.MAP:
            if not isinstance(value, dict):
                raise SchemaError(f"{path}: {_kind(value)} where MAP takes dict.")
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            for key, element in value.items():
                validate(schema.key_schema, key, f"{path} key {key!r}")
                validate(schema.value_schema, element, f"{path}[{key!r}]")
        case Type.STRUCT:
            if not isinstance(value, dict):
                raise SchemaError(f"{path}: {_kind(value)} where STRUCT takes dict.")
            for name in value:
                if schema.field(name) is None:
                    raise SchemaError(f'{path}: there is no field "{name}" in {schema!r}.')
            for field in schema.fields:
                validate(field.schema, value.get(field.name), f"{path}.{field.name}")
        case _:
            if not isinstance(value, _PRIMITIVES[schema.type]) or (
                schema.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, bool)
            ):
                takes = _PRIMITIVES[schema.type][0].__name__
                raise SchemaError(f"{path}: {_kind(value)} where {schema.type.name} takes {takes}.")


_PRIMITIVES: Final[Mapping[Type, tuple[type, ...]]] = {
    Type.FLOAT32: (float, int),
    Type.FLOAT64: (float, int),
    Type.BOOLEAN: (bool,),
    Type.STRING: (str,),
    Type.BYTES: (bytes, bytearray, memoryview),
}


def _kind(value: Any) -> str:
    return type(value).__name__
