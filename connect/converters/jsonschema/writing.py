"""Values as JSON for their JSON Schema: as JsonConverter writes it, except for unions, entries of maps and nulls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from connect.converters.json_encode import Column, Preparer
from connect.converters.jsonschema import names
from connect.converters.jsonschema.keys import JsonSchemaOptions
from connect.data.schema import Schema
from connect.errors import DataError


class SchemaPreparer(Preparer):
    """Replaces what the encoder would write differently from Confluent's converter."""

    def __init__(self, options: JsonSchemaOptions) -> None:
        super().__init__(decimal_numeric=options.decimal_numeric, replace_null=not options.ignore_default)

    def _with_nulls(self, schema: Schema, values: Column) -> Column:
        instead = None
        if self._has_default(schema):
            instead = self.column(schema, [schema.default])[0]
        rest = iter(self.column(schema, [value for value in values if value is not None]))
        return [instead if value is None else next(rest) for value in values]

    def _has_default(self, schema: Schema) -> bool:
        return schema.default is not None and self._replace_null

    def _maps(self, schema: Schema, values: Column) -> Column:
        if names.as_object(schema):
            return super()._maps(schema, values)
        keys = self._inner("map key", schema.key_schema, [key for value in values for key in value])
        items = self._inner("map value", schema.value_schema, [item for value in values for item in value.values()])
        pairs = zip(keys, items, strict=True)
        return [[{"key": key, "value": item} for key, item in islice(pairs, len(value))] for value in values]

    def _structs(self, schema: Schema, values: Column) -> Column:
        if names.is_union(schema):
            return self._unions(schema, values)
        # What is required and null has no JSON: it is left out.
        left_out = [
            field.name
            for field in schema.fields
            if not field.schema.optional
            and not self._has_default(field.schema)
            and any(value.get(field.name) is None for value in values)
        ]
        prepared = super()._structs(schema, values)
        if not left_out:
            return prepared
        return [
            {name: item for name, item in row.items() if name not in left_out or value.get(name) is not None}
            for row, value in zip(prepared, values, strict=True)
        ]

    def _unions(self, schema: Schema, values: Column) -> Column:
        """The value of the set field of each union."""
        written: list[Any] = [None] * len(values)
        groups: dict[str, list[int]] = {}
        for row, value in enumerate(values):
            chosen = next((field.name for field in schema.fields if value.get(field.name) is not None), None)
            if chosen is None and not schema.optional:
                raise DataError("no field of the union is set.")
            if chosen is not None:
                groups.setdefault(chosen, []).append(row)
        for name, rows in groups.items():
            field = schema.field(name)
            assert field is not None
            prepared = self._inner(name, field.schema, [values[row][name] for row in rows])
            for row, item in zip(rows, prepared, strict=True):
                written[row] = item
        return written


def with_defaults(schema: Schema | None, values: Sequence[Any], options: JsonSchemaOptions) -> list[Any]:
    """Values with the default for null where the schema has one."""
    if schema is None or schema.default is None or options.ignore_default:
        return list(values)
    return [schema.default if value is None else value for value in values]


def is_tombstone(schema: Schema | None, value: Any) -> bool:
    """Whether a record of this value has no bytes. Where the schema is optional, null is JSON's null."""
    return value is None and (schema is None or not schema.optional)
