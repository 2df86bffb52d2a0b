"""The mapping of an index, from the schema of its records.

https://docs.confluent.io/kafka-connectors/elasticsearch/current/ lists the types of Java's connector.
"""

from __future__ import annotations

from typing import Any, Final

from connect import Schema, Type, logical
from connectors.elasticsearch.sink.keys import SinkOptions

_KINDS: Final = {
    Type.INT8: "byte",
    Type.INT16: "short",
    Type.INT32: "integer",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.BYTES: "binary",
}
_LOGICAL: Final = {
    logical.DECIMAL_NAME: "double",
    logical.DATE_NAME: "date",
    logical.TIME_NAME: "date",
    logical.TIMESTAMP_NAME: "date",
}
#: A text for searching, and the whole of it for sorting and counting.
_TEXT: Final = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}


def mapping_of(schema: Schema, options: SinkOptions) -> dict[str, Any] | None:
    """The body of `PUT /index/_mapping`; None for a schema that is not a struct: its documents define fields."""
    if schema.type is not Type.STRUCT:
        return None
    return {"properties": _fields(schema, options)}


def _fields(schema: Schema, options: SinkOptions) -> dict[str, Any]:
    return {field.name: _one(field.schema, options) for field in schema.fields}


def _one(schema: Schema, options: SinkOptions) -> dict[str, Any]:
    if schema.name in _LOGICAL and logical.python_type(schema) is not None:
        return {"type": _LOGICAL[schema.name]}
    match schema.type:
        case Type.STRING:
            return dict(_TEXT)
        case Type.ARRAY:
            # An index knows no arrays: a field has one value or many.
            return _one(schema.value_schema, options) if schema.value_schema is not None else {}
        case Type.MAP:
            return _of_map(schema, options)
        case Type.STRUCT:
            return {"properties": _fields(schema, options)}
    kind = {"type": _KINDS[schema.type]}
    if schema.default is not None and schema.type is not Type.BYTES:
        return {**kind, "null_value": schema.default}
    return kind


def _of_map(schema: Schema, options: SinkOptions) -> dict[str, Any]:
    text_keys = schema.key_schema is not None and schema.key_schema.type is Type.STRING
    if options.compact_maps and text_keys:
        return {"type": "object"}
    parts = {"key": schema.key_schema, "value": schema.value_schema}
    inner = {name: _one(part, options) for name, part in parts.items() if part is not None}
    return {"type": "nested", "properties": inner}
