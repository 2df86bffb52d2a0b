"""The schema in a JSON envelope, to and from `Schema`.

``{"type": "struct", "fields": [{"field": "id", "type": "int64", "optional": false}], "optional": false}``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from connect.data.schema import Schema, Type
from connect.errors import DataError, SchemaError

_TYPES: Final[Mapping[str, Type]] = {kind.value: kind for kind in Type}


def from_json(node: Any, value_of: Callable[[Schema, Any], Any]) -> Schema | None:
    """The schema that a parsed JSON value describes; null is none.

    Args:
        node: what was parsed.
        value_of: makes a default value, given its schema and what was parsed.

    Raises:
        DataError: it describes none.
    """
    if node is None:
        return None
    kind = node.get("type") if isinstance(node, dict) else None
    if not isinstance(kind, str):
        raise DataError('A schema must contain a field "type" such as "string" or "struct".')
    if kind not in _TYPES:
        raise DataError(f'Unknown schema type "{kind}". Known are {", ".join(_TYPES)}.')
    attributes: dict[str, Any] = {}
    match _TYPES[kind]:
        case Type.ARRAY:
            attributes["value_schema"] = _inner(node, "items", "Array", value_of)
        case Type.MAP:
            attributes["key_schema"] = _inner(node, "keys", "Map", value_of)
            attributes["value_schema"] = _inner(node, "values", "Map", value_of)
        case Type.STRUCT:
            attributes["fields"] = _fields(node, value_of)
    if node.get("optional") is True:
        attributes["optional"] = True
    for name in ("name", "doc"):
        if isinstance(node.get(name), str):
            attributes[name] = node[name]
    if is_int(node.get("version")):
        attributes["version"] = (node["version"] + (1 << 31)) % (1 << 32) - (1 << 31)
    if isinstance(node.get("parameters"), dict):
        if not all(isinstance(text, str) for text in node["parameters"].values()):
            raise DataError("A schema's parameters must be strings.")
        attributes["parameters"] = node["parameters"]
    schema = Schema(_TYPES[kind], **attributes)
    if "default" not in node:
        return schema
    default = value_of(schema, node["default"])
    if default is None and not schema.optional:
        raise SchemaError(f"The default of a schema of type {kind} does not fit it.")
    return schema.replace(default=default)


def to_json(schema: Schema, written: Callable[[Schema, Any], Any]) -> dict[str, Any]:
    """The JSON object that describes a schema, its entries in Java's order.

    Args:
        schema: which one.
        written: makes the JSON of a default value.
    """
    node: dict[str, Any] = {"type": schema.type.value}
    match schema.type:
        case Type.ARRAY:
            assert schema.value_schema is not None
            node["items"] = to_json(schema.value_schema, written)
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            node["keys"] = to_json(schema.key_schema, written)
            node["values"] = to_json(schema.value_schema, written)
        case Type.STRUCT:
            node["fields"] = [{**to_json(field.schema, written), "field": field.name} for field in schema.fields]
    node["optional"] = schema.optional
    if schema.name is not None:
        node["name"] = schema.name
    if schema.version is not None:
        node["version"] = schema.version
    if schema.doc is not None:
        node["doc"] = schema.doc
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        node["default"] = written(schema, schema.default)
    return node


def _inner(node: dict[str, Any], key: str, of: str, value_of: Callable[[Schema, Any], Any]) -> Schema:
    schema = from_json(node.get(key), value_of)
    if schema is None:
        raise DataError(f'{of} schema without "{key}", the schema of what it holds.')
    return schema


def _fields(node: dict[str, Any], value_of: Callable[[Schema, Any], Any]) -> dict[str, Schema]:
    if not isinstance(node.get("fields"), list):
        raise DataError('A struct schema needs "fields", a list.')
    fields: dict[str, Schema] = {}
    for each in node["fields"]:
        name = each.get("field") if isinstance(each, dict) else None
        if not isinstance(name, str) or not name:
            raise DataError('Each of a struct schema\'s fields needs its name, "field".')
        if name in fields:
            raise SchemaError(f'A struct schema has its field "{name}" twice.')
        schema = from_json(each, value_of)
        assert schema is not None
        fields[name] = schema
    return fields


def is_int(node: Any) -> bool:
    """Whether the JSON value is a whole number: true and false are not."""
    return isinstance(node, int) and not isinstance(node, bool)
