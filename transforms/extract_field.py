"""Replace the whole key or value by one of its fields: ExtractField.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.ExtractField (KIP-66, KIP-821)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from connect import DataError, Schema, SchemaAndValue, Type, Values, settings
from connect.data.struct_columns import StructColumns
from transforms.part import PartTransformation
from transforms.paths import SYNTAX, VERSION, column_at, parse, schema_at, values_at, written
from transforms.structs import DEFAULTS, WITH_DEFAULTS

if TYPE_CHECKING:
    from connect.settings import Config


class ExtractField(PartTransformation):
    """Extracts one field. Null stays null; a field that a schemaless map does not have becomes null."""

    settings = settings.define(settings.String("field", doc="The field to extract.")) | DEFAULTS | SYNTAX

    def configure(self, config: Config) -> None:
        self._path = parse(config["field"], config[VERSION], "field")
        self._replace_null: bool = config[WITH_DEFAULTS]
        self._field_schema = lru_cache(maxsize=100)(self._look_up)

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if schema is None:
            return SchemaAndValue(None, self._values(None, [value])[0])
        return SchemaAndValue(self._field_schema(schema), self._values(schema, [value])[0])

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        return Values(self._values(schema, items), None if schema is None else self._field_schema(schema))

    def convert_arrow(self, column: StructColumns) -> Values | None:
        schema = self._field_schema(column.struct)
        field = column_at(column, self._path, replace_null=self._replace_null)
        if schema.type is Type.STRUCT and schema.fields and field.is_arrow and not field.array.null_count:
            return StructColumns(schema, field.array.flatten())
        return Values(field.items, schema)

    def _values(self, schema: Schema | None, items: list[Any]) -> list[Any]:
        return values_at(schema, items, self._path, replace_null=self._replace_null)

    def _look_up(self, schema: Schema) -> Schema:
        found = schema_at(schema, self._path)
        if found is None:
            raise DataError(f"There is no field {written(self._path)} to extract in {schema!r}.")
        return found


class ExtractFieldKey(ExtractField):
    """ExtractField$Key."""

    part = "keys"


class ExtractFieldValue(ExtractField):
    """ExtractField$Value."""
