"""The Connect schema of a JSON Schema.

A Connect schema has no constraints of values beyond their type (lengths, patterns, ranges). The names of Connect's
types are in keywords of their own; see `names`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from connect.converters.json_schema import is_int
from connect.converters.jsonschema import names
from connect.converters.jsonschema.documents import Documents, Node
from connect.converters.jsonschema.keys import JsonSchemaOptions
from connect.data.schema import BOOLEAN, BYTES, FLOAT64, INT64, STRING, Schema
from connect.errors import DataError

#: What an absent type is told by.
_OF_OBJECTS: Final = (
    "properties", "required", "additionalProperties", "minProperties", "maxProperties", "patternProperties",
    "propertyNames", "dependencies",
)  # fmt: skip
_OF_ARRAYS: Final = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems")
_OF_STRINGS: Final = ("minLength", "maxLength", "pattern", "format")
_OF_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

#: What makes a value: a schema and what was parsed.
ValueOf = Callable[[Schema, Any], Any]


def schema_of(
    documents: Documents, options: JsonSchemaOptions, value_of: ValueOf, version: int | None = None
) -> Schema:
    """The Connect schema of the root of these documents.

    Args:
        documents: the schema and what it refers to.
        options: how it is mapped.
        value_of: makes defaults.
        version: of the schema under its subject, None if that is not known.

    Raises:
        DataError: it has none: it has no type, or refers to itself.
    """
    return _Mapping(documents, options, value_of).schema(documents.root, version=version)


class _Mapping:
    def __init__(self, documents: Documents, options: JsonSchemaOptions, value_of: ValueOf) -> None:
        self._documents = documents
        self._options = options
        self._value_of = value_of
        self._within: list[int] = []
        self._unions = 0

    def schema(self, node: Node, *, version: int | None = None, optional: bool = False) -> Schema:
        """The schema of a node.

        Args:
            node: which one.
            version: its default.
            optional: whether it is optional in any case.
        """
        node = self._dereferenced(node)
        if id(node.schema) in self._within:
            raise DataError("its schema refers to itself: such a schema cannot be converted.")
        self._within.append(id(node.schema))
        try:
            return self._schema(node, version, optional)
        finally:
            self._within.pop()

    def _dereferenced(self, node: Node) -> Node:
        seen = []
        while isinstance(node.schema, dict) and isinstance(node.schema.get("$ref"), str):
            if id(node.schema) in seen:
                raise DataError("its schema refers to itself: such a schema cannot be converted.")
            seen.append(id(node.schema))
            node = self._documents.resolved(node, node.schema["$ref"])
        return node

    def _schema(self, node: Node, version: int | None, optional: bool) -> Schema:
        alternatives = self._alternatives(node)
        if alternatives is not None:
            return self._one_of(node, alternatives, version, optional)
        if isinstance(node.schema, dict) and "allOf" in node.schema:
            return self._all_of(node, version, optional)
        return self._attributes(node, self._type(node), version, optional)

    # Several types.

    def _alternatives(self, node: Node) -> list[Node] | None:
        """The schemas of which a value has one; None if there is only one."""
        schema = node.schema
        if not isinstance(schema, dict) or ("properties" in schema and not isinstance(schema.get("type"), list)):
            return None  # what a struct's properties allow beside each other is none of Connect's
        for keyword in ("oneOf", "anyOf"):
            if isinstance(schema.get(keyword), list):
                return [node.inner(each) for each in schema[keyword]]
        if isinstance(schema.get("type"), list):
            return [node.inner({**schema, "type": each}) for each in schema["type"]]
        return None

    def _one_of(self, node: Node, alternatives: list[Node], version: int | None, optional: bool) -> Schema:
        if len(alternatives) == 1 and self._options.flatten_singleton_unions:
            return self.schema(alternatives[0])
        types = [each for each in alternatives if not _is_null(self._dereferenced(each))]
        nullable = len(types) < len(alternatives)
        generalized = self._options.generalized_sum_types
        if len(types) == 1 and nullable and len(alternatives) == 2:
            self._unions += generalized
            return self.schema(types[0], version=version, optional=True)
        name = names.ONE_OF
        parameters = {}
        field = f"{names.ONE_OF}.field."
        if generalized:
            name = f"{names.GENERALIZED_PREFIX}{self._unions}"
            parameters = {names.GENERALIZED_UNION: name}
            field = f"{names.GENERALIZED_PREFIX}field_"
            self._unions += 1
        fields = {f"{field}{i}": self.schema(each, optional=True) for i, each in enumerate(types)}
        union = Schema.struct(fields, name=name, parameters=parameters, optional=nullable)
        return self._attributes(node, union, version, optional)

    def _all_of(self, node: Node, version: int | None, optional: bool) -> Schema:
        """The conjunction of several schemas: their properties together, or the one with the most specific type."""
        beside = {key: value for key, value in node.schema.items() if key != "allOf"}
        parts = [node.inner(each) for each in node.schema["allOf"]]
        if "type" in beside or any(key in beside for key in (*_OF_OBJECTS, *_OF_ARRAYS)):
            parts.append(node.inner(beside))
        if len(parts) == 1 and self._options.flatten_singleton_unions:
            return self.schema(parts[0])
        properties: dict[str, Node] = {}
        required: dict[str, bool] = {}
        for part in parts:
            self._collect(part, properties, required, 0)
        if properties:
            fields = {name: self._property(each, required[name]) for name, each in properties.items()}
            return Schema.struct(fields, optional=optional)
        found = [self._dereferenced(part) for part in parts]
        strings = [part for part in found if _says(part, "type", "string")]
        combined = [part for part in found if _is_combined(part.schema)]
        enums = [part for part in found if _says(part, "enum")] if strings else []
        typed = [part for part in found if _says(part, "type")]
        rest = [part for part in found if _says(part, "enum") or _says(part, "const")]
        for part in (*combined, *enums, *typed, *rest):
            return self.schema(part, version=version, optional=optional)
        raise DataError("its schema has an allOf that says no type.")

    def _collect(self, node: Node, properties: dict[str, Node], required: dict[str, bool], depth: int) -> None:
        node = self._dereferenced(node)
        if not isinstance(node.schema, dict) or depth > 100:
            return
        for part in node.schema.get("allOf") or ():
            self._collect(node.inner(part), properties, required, depth + 1)
        found = node.schema.get("properties") or {}
        for name in names.in_java_order(list(found)):
            properties[name] = node.inner(found[name])
            required[name] = name in (node.schema.get("required") or ())

    # One type.

    def _type(self, node: Node) -> Schema:
        schema = node.schema
        if not isinstance(schema, dict):
            raise _no_type(schema)
        kind = schema.get("type")
        connect = schema.get(names.CONNECT_TYPE)
        if kind == "boolean":
            return BOOLEAN
        if kind in ("integer", "number") or (kind is None and connect is None and _any(schema, _OF_NUMBERS)):
            return self._number(kind, connect)
        if "enum" in schema or ("const" in schema and kind is None):
            return self._enum(schema["enum"] if "enum" in schema else [schema["const"]])
        if kind == "string":
            return BYTES if connect == "bytes" else STRING
        if kind == "array" or (kind is None and _any(schema, _OF_ARRAYS)):
            return self._array(node)
        if kind == "object" or (kind is None and _any(schema, _OF_OBJECTS)):
            return self._object(node)
        if kind is None and _any(schema, _OF_STRINGS):
            return STRING
        raise _no_type(schema)

    @staticmethod
    def _number(kind: str | None, connect: str | None) -> Schema:
        if connect is None:
            return INT64 if kind == "integer" else FLOAT64
        if connect == "bytes":
            return BYTES
        if connect not in names.NUMBERS:
            raise DataError(f'its schema has a number whose {names.CONNECT_TYPE} is "{connect}", which is none.')
        return names.NUMBERS[connect]

    def _enum(self, values: list[Any]) -> Schema:
        generalized = self._options.generalized_sum_types
        prefix = names.GENERALIZED_ENUM if generalized else names.ENUM
        parameters = {prefix: ""}
        for i, value in enumerate(values):
            symbol = names.NULL_IN_ENUM if value is None else _symbol(value)
            parameters[f"{prefix}.{symbol}"] = str(i) if generalized else symbol
        return STRING.replace(parameters=parameters)

    def _array(self, node: Node) -> Schema:
        items = node.schema.get("items")
        if not isinstance(items, dict | bool):
            raise DataError("its schema has an array without the type of its items.")
        inner = self._dereferenced(node.inner(items))
        if node.schema.get(names.CONNECT_TYPE) == "map" and isinstance(inner.schema, dict):
            entry = inner.schema.get("properties") or {}
            if "key" in entry and "value" in entry:
                return Schema.map(self.schema(inner.inner(entry["key"])), self.schema(inner.inner(entry["value"])))
        return Schema.array(self.schema(node.inner(items)))

    def _object(self, node: Node) -> Schema:
        schema = node.schema
        if schema.get(names.CONNECT_TYPE) == "map":
            return Schema.map(STRING, self.schema(node.inner(schema.get("additionalProperties", True))))
        found = schema.get("properties") or {}
        places = {name: place for place, name in enumerate(names.in_java_order(list(found)))}
        ordered = sorted(places, key=lambda name: _index(found[name], places[name]))
        required = schema.get("required") or ()
        return Schema.struct({name: self._property(node.inner(found[name]), name in required) for name in ordered})

    def _property(self, node: Node, required: bool) -> Schema:
        return self.schema(node, optional=self._options.optional_for_non_required and not required)

    def _attributes(self, node: Node, schema: Schema, version: int | None, optional: bool) -> Schema:
        """The schema with the node's attributes beside its type."""
        said = node.schema if isinstance(node.schema, dict) else {}
        changes: dict[str, Any] = {}
        if schema.name is None and isinstance(said.get("title"), str):
            changes["name"] = said["title"]
        changes["version"] = said[names.CONNECT_VERSION] if is_int(said.get(names.CONNECT_VERSION)) else version
        if isinstance(said.get("description"), str):
            changes["doc"] = said["description"]
        parameters = said.get(names.CONNECT_PARAMETERS)
        if isinstance(parameters, dict):
            changes["parameters"] = {**schema.parameters, **{name: str(text) for name, text in parameters.items()}}
        schema = schema.replace(**changes)
        if said.get("default") is not None:
            schema = schema.replace(default=self._value_of(schema, said["default"]))
        return schema.as_optional() if optional else schema


def _no_type(schema: Any) -> DataError:
    if isinstance(schema, dict) and schema.get("type") == "null":
        return DataError("its schema has a part that is only null, which has no type in Connect.")
    return DataError("its schema has a part that says no type, so that it cannot be converted.")


def _any(schema: dict[str, Any], keywords: tuple[str, ...]) -> bool:
    return any(keyword in schema for keyword in keywords)


def _is_null(node: Node) -> bool:
    return isinstance(node.schema, dict) and node.schema.get("type") == "null"


def _is_combined(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    return _any(schema, ("oneOf", "anyOf", "allOf")) or isinstance(schema.get("type"), list)


def _says(node: Node, keyword: str, value: str | None = None) -> bool:
    """Whether a schema has this keyword, with this value if one is given."""
    schema = node.schema
    return isinstance(schema, dict) and keyword in schema and (value is None or schema[keyword] == value)


def _index(schema: Any, otherwise: int) -> int:
    index = schema.get(names.CONNECT_INDEX) if isinstance(schema, dict) else None
    return index if isinstance(index, int) else otherwise


def _symbol(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
