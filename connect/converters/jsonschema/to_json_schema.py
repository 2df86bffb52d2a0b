"""The JSON Schema of a Connect schema, as Confluent's converter writes it, including the order of its keywords."""

from __future__ import annotations

from typing import Any, Final

from connect.converters.json_encode import lines
from connect.converters.jsonschema import names
from connect.converters.jsonschema.keys import JsonSchemaOptions
from connect.converters.jsonschema.writing import SchemaPreparer
from connect.data import logical
from connect.data.schema import Schema, Type

_TYPES: Final = {
    Type.INT8: ("integer", "int8"),
    Type.INT16: ("integer", "int16"),
    Type.INT32: ("integer", "int32"),
    Type.INT64: ("integer", "int64"),
    Type.FLOAT32: ("number", "float32"),
    Type.FLOAT64: ("number", "float64"),
    Type.BYTES: ("string", "bytes"),
}


def text_of(schema: Schema, options: JsonSchemaOptions) -> str:
    """The text of the JSON Schema of values of this schema."""
    return lines([_Mapping(options).node(schema)])[:-1].decode()


class _Mapping:
    def __init__(self, options: JsonSchemaOptions) -> None:
        self._options = options
        self._preparer = SchemaPreparer(options)

    def node(self, schema: Schema, index: int | None = None, *, optional: bool | None = None) -> dict[str, Any]:
        """The JSON object of a schema.

        Args:
            schema: which one.
            index: of the field whose schema it is.
            optional: whether it allows null; by default as the schema says.
        """
        optional = schema.optional if optional is None else optional
        own = {} if index is None else {names.CONNECT_INDEX: index}
        if names.is_union(schema):
            nulls = [{"type": "null"}] if schema.optional else []
            parts = [self.node(field.schema, field.index, optional=False) for field in schema.fields]
            return {**own, "oneOf": nulls + parts}
        if optional:
            return {**own, "oneOf": [{"type": "null"}, self.node(schema, optional=False)]}
        return self._plain(schema, own)

    def _plain(self, schema: Schema, own: dict[str, int]) -> dict[str, Any]:
        first: dict[str, Any] = {}
        connect_type: str | None = None
        last: dict[str, Any] = {}
        match schema.type:
            case Type.BOOLEAN:
                last = {"type": "boolean"}
            case Type.STRING:
                enum = self._enum(schema)
                first = {"type": "string"} if enum is None else {"enum": enum}
            case Type.ARRAY:
                assert schema.value_schema is not None
                first, last = {"type": "array"}, {"items": self.node(schema.value_schema)}
            case Type.MAP:
                first, last = self._map(schema)
                connect_type = "map"
            case Type.STRUCT:
                first = {"type": "object"}
                if not self._options.additional_properties:
                    first["additionalProperties"] = False
                properties = {field.name: self.node(field.schema, field.index) for field in schema.fields}
                if properties:
                    last = {"properties": {name: properties[name] for name in names.in_java_order(list(properties))}}
            case _:
                kind, connect_type = _TYPES[schema.type]
                numeric = schema.name == logical.DECIMAL_NAME and self._options.decimal_numeric
                first = {"type": "number" if numeric else kind}
        node = first
        if schema.name is not None:
            node["title"] = schema.name
        if schema.doc is not None:
            node["description"] = schema.doc
        if schema.default is not None:
            node["default"] = self._preparer.column(schema, [schema.default])[0]
        node.update(own)
        if schema.version is not None:
            node[names.CONNECT_VERSION] = schema.version
        if connect_type is not None:
            node[names.CONNECT_TYPE] = connect_type
        parameters = {name: text for name, text in schema.parameters.items() if not name.startswith(names.NAMESPACE)}
        if parameters:
            node[names.CONNECT_PARAMETERS] = {name: parameters[name] for name in names.in_java_order(list(parameters))}
        return {**node, **last}

    def _enum(self, schema: Schema) -> list[str | None] | None:
        """The values of an enum; None where the schema is not of one."""
        if names.ENUM not in schema.parameters and names.GENERALIZED_ENUM not in schema.parameters:
            return None
        start = (names.GENERALIZED_ENUM if self._options.generalized_sum_types else names.ENUM) + "."
        symbols = [name.removeprefix(start) for name in schema.parameters if name.startswith(start)]
        return [None if symbol == names.NULL_IN_ENUM else symbol for symbol in symbols]

    def _map(self, schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if names.as_object(schema):
            return {"type": "object"}, {"additionalProperties": self.node(schema.value_schema)}
        entry = {"value": self.node(schema.value_schema, 1), "key": self.node(schema.key_schema, 0)}
        return {"type": "array"}, {"items": {"type": "object", "properties": entry}}
