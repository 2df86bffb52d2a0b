"""Common parts of transformations of fields: defaults in place of nulls, and schemas with other fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect import Schema, settings
from connect.data.struct_columns import FieldColumn

WITH_DEFAULTS: Final = "replace.null.with.default"

#: The setting that a transformation adds if it copies structs.
DEFAULTS: Final = settings.define(
    settings.Boolean(
        WITH_DEFAULTS,
        default=True,
        doc="Whether a null field with a default takes that default.",
    )
)


def defaults_of(schema: Schema | None, *, replace_null: bool) -> list[tuple[str, Any]]:
    """The names and defaults of a struct's fields, for those that have one; none without a schema."""
    if schema is None or not replace_null:
        return []
    return [(field.name, field.schema.default) for field in schema.fields if field.schema.default is not None]


def copied(structs: list[dict[str, Any]], defaults: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Copies of structs, with defaults in place of nulls."""
    copies = [struct.copy() for struct in structs]
    for name, default in defaults:
        for copy in copies:
            if copy.get(name) is None:
                copy[name] = default
    return copies


def with_default(column: FieldColumn) -> FieldColumn:
    """A column with its schema's default, where there is one, in place of nulls."""
    default = column.schema.default
    if default is None:
        return column
    if column.is_arrow:
        from connect.data.arrow import filled

        return FieldColumn(column.schema, array=filled(column.array, column.schema))
    items = column.items
    if None not in items:
        return column
    return FieldColumn(column.schema, [default if item is None else item for item in items])


def schema_around(schema: Schema, fields: Mapping[str, Schema], **attributes: Any) -> Schema:
    """A struct's schema with other fields: name, version, doc and parameters stay, optional and default do not."""
    return Schema.struct(
        fields,
        name=schema.name,
        version=schema.version,
        doc=schema.doc,
        parameters=schema.parameters,
        **attributes,
    )


def names(setting: str, value: list[str]) -> None:
    """Validates a list of names: at least one, none of them empty."""
    if not value:
        raise ValueError("must not be empty.")
    if "" in value:
        raise ValueError("has an empty entry. Remove the extra comma.")
