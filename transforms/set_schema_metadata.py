"""Set the name or version of the schema of keys or values: SetSchemaMetadata.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.SetSchemaMetadata (KIP-66)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from connect import ConfigError, DataError, Schema, SchemaAndValue, Type, Values, settings
from connect.data.struct_columns import StructColumns
from transforms.part import PartTransformation
from transforms.structs import DEFAULTS, WITH_DEFAULTS, copied, defaults_of, with_default

if TYPE_CHECKING:
    from connect.settings import Config


class SetSchemaMetadata(PartTransformation):
    """Changes the name and version of the schema, which must be a STRUCT, and nothing else of it.

    Values keep their fields; null fields get their defaults. A null without a schema passes.
    """

    settings = (
        settings.define(
            settings.String("schema.name", default=None, importance="HIGH", doc="The new name. Unset: unchanged."),
            settings.Int("schema.version", default=None, importance="HIGH", doc="The new version. Unset: unchanged."),
        )
        | DEFAULTS
    )

    def configure(self, config: Config) -> None:
        self._changes = {
            attribute: config[key]
            for attribute, key in (("name", "schema.name"), ("version", "schema.version"))
            if config[key] is not None
        }
        if not self._changes:
            raise ConfigError("schema.name", "is not set, and neither is schema.version. Set at least one of them.")
        self._replace_null: bool = config[WITH_DEFAULTS]
        self._new_schema = lru_cache(maxsize=100)(self._change)

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if schema is None and value is None:
            return SchemaAndValue(None, None)
        column = self.convert_column(schema, [value])
        return SchemaAndValue(column.schemas[0], column.to_list()[0])

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if schema is None:
            if any(item is not None for item in items):
                raise DataError("The value has no schema whose name or version could be set.")
            return Values(items)
        absent = defaults_of(schema, replace_null=self._replace_null)
        if absent:
            present = iter(copied([item for item in items if item is not None], absent))
            items = [item if item is None else next(present) for item in items]
        return Values(items, self._new_schema(schema))

    def convert_arrow(self, column: StructColumns) -> Values | None:
        fields = [with_default(field) for field in column.fields] if self._replace_null else column.fields
        return StructColumns(self._new_schema(column.struct), fields)

    def _change(self, schema: Schema) -> Schema:
        if schema.type is not Type.STRUCT:
            raise DataError(
                f"Only the schema of a STRUCT can be given a name or version, but this is {schema.type.name}."
            )
        return schema.replace(**self._changes)


class SetSchemaMetadataKey(SetSchemaMetadata):
    """SetSchemaMetadata$Key."""

    part = "keys"


class SetSchemaMetadataValue(SetSchemaMetadata):
    """SetSchemaMetadata$Value."""
