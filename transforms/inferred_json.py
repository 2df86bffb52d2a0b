"""The schema inferred from a JSON document, as Debezium infers it for the payloads of an outbox.

Strings are STRING, true and false BOOLEAN, whole numbers INT32 or INT64 by their size, other numbers FLOAT64, all
optional. An object is an optional STRUCT named after its path (`payload.address`), an array an optional ARRAY.

https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from connect import Schema, SchemaAndValue, Type
from connect.data import schema as schemas

_INT32: Final = range(-(1 << 31), 1 << 31)
_INT64: Final = range(-(1 << 63), 1 << 63)
_STRINGS: Final = Schema.array(schemas.OPTIONAL_STRING, optional=True)


class NotExpanded(ValueError):
    """A string that stays as it is; the message says why, and does not contain the string."""


class JsonSchemas:
    """Reads JSON and infers schemas.

    Args:
        nulls: whether a field that is null is kept, as optional BYTES, or left out.
        empty_arrays: whether a field that is an empty array is kept, as an array of optional strings, or left out.
    """

    def __init__(self, *, nulls: bool, empty_arrays: bool) -> None:
        self._nulls = nulls
        self._empty_arrays = empty_arrays

    def read(self, text: str, name: str) -> SchemaAndValue:
        """The document in a text, with its schema.

        Args:
            text: JSON.
            name: the name of the schema.

        Raises:
            NotExpanded: the text is not a JSON object or array, or no schema describes it.
        """
        if not text.startswith(("{", "[")):
            raise NotExpanded("it does not begin with { or [")
        try:
            document, _ = _DECODER.raw_decode(text)
            schema = self._schema(name, document)
            if schema is None:
                raise NotExpanded("it is an empty array")
            return SchemaAndValue(schema, _value(schema, document))
        except NotExpanded:
            raise
        except RecursionError:
            raise NotExpanded("it is nested too deeply") from None
        except json.JSONDecodeError as error:
            raise NotExpanded(f"it is not JSON: {error.msg}, line {error.lineno} column {error.colno}") from None
        except ValueError:
            raise NotExpanded("it contains a number with too many digits") from None

    def _schema(self, name: str | None, node: Any) -> Schema | None:
        """The schema of a node; None for one that is left out."""
        if node is None:
            return schemas.OPTIONAL_BYTES if self._nulls else None
        if isinstance(node, dict):
            fields = {}
            for key, item in node.items():
                if not key:
                    raise NotExpanded("one of its fields has no name")
                if (field := self._schema(f"{name}.{key}" if name and name.strip() else key, item)) is not None:
                    fields[key] = field
            return Schema.struct(fields, name=name, optional=True)
        if not isinstance(node, list):
            return _scalar(node)
        if not node:
            return _STRINGS if self._empty_arrays else None
        return Schema.array(self._element(name, node), optional=True)

    def _element(self, name: str | None, items: list[Any]) -> Schema:
        present = [item for item in items if item is not None]
        kinds = {_kind(item) for item in present}
        if len(kinds) > 1:
            raise NotExpanded("one of its arrays has elements of different types")
        if not present or kinds != {"object"}:
            if kinds == {"number"} and len(set(map(_scalar, present))) > 1:
                raise NotExpanded("one of its arrays has numbers of different types")
            element = self._schema(None, present[0] if present else None)
            if element is None:
                raise NotExpanded("one of its arrays has no elements to infer a type from")
            return element
        merged: Schema | None = None
        for item in present:
            schema = self._schema(name, item)
            assert schema is not None
            merged = schema if merged is None else _merged(merged, schema)
        assert merged is not None
        return merged


def _refused(constant: str) -> NoReturn:
    raise NotExpanded(f"it contains {constant}, which is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refused)


def _kind(node: Any) -> str:
    if isinstance(node, bool):
        return "boolean"
    if isinstance(node, int | float):
        return "number"
    return "text" if isinstance(node, str) else "object" if isinstance(node, dict) else "array"


def _scalar(node: Any) -> Schema:
    if isinstance(node, str):
        return schemas.OPTIONAL_STRING
    if isinstance(node, bool):
        return schemas.OPTIONAL_BOOLEAN
    if isinstance(node, int):
        if node not in _INT64:
            raise NotExpanded("it contains a whole number of more than 64 bits")
        return schemas.OPTIONAL_INT32 if node in _INT32 else schemas.OPTIONAL_INT64
    return schemas.OPTIONAL_FLOAT64


def _merged(left: Schema, right: Schema) -> Schema:
    """The fields of both; of two schemas for one field the first, unless that is the one for null."""
    fields = {field.name: field.schema for field in left.fields}
    for field in right.fields:
        known = fields.get(field.name)
        if known is None or (known.type is Type.BYTES and field.schema.type is not Type.BYTES):
            fields[field.name] = field.schema
    return left.replace(fields=fields)


def _value(schema: Schema, node: Any) -> Any:
    """The node as a value of a schema."""
    if node is None:
        return None
    if schema.type is Type.STRUCT and isinstance(node, dict):
        return {field.name: _value(field.schema, node.get(field.name)) for field in schema.fields}
    if schema.type is Type.ARRAY and isinstance(node, list):
        assert schema.value_schema is not None
        return [_value(schema.value_schema, item) for item in node]
    if not isinstance(node, dict | list) and _scalar(node) == schema:
        return node
    raise NotExpanded("one field of its objects has values of different types")
