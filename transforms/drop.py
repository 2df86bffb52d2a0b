"""Set the key or the value of every record to null, as Confluent's Drop does.

https://docs.confluent.io/platform/current/connect/transforms/drop.html
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from connect import DataError, Schema, SchemaAndValue, Values, settings
from connect.data.struct_columns import StructColumns
from connect.settings import Config
from transforms.part import PartTransformation


class Drop(PartTransformation):
    """Replaces the whole key or value by null. `schema.behavior` decides what happens to its schema."""

    settings = settings.define(
        settings.String(
            "schema.behavior",
            default="nullify",
            validator=settings.one_of("nullify", "retain", "validate", "force_optional", ignore_case=True),
            doc="What to do with the schema: nullify (remove it), retain (keep it, even if it is required), validate "
            "(keep it if it is optional; otherwise refuse the record), force_optional (make it optional).",
        )
    )

    def configure(self, config: Config) -> None:
        self._behavior: str = config["schema.behavior"].lower()
        self._schema = lru_cache(maxsize=100)(self._changed)

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        return SchemaAndValue(self._schema(schema), None)

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        return Values.nulls(len(items), self._schema(schema))

    def convert_arrow(self, column: StructColumns) -> Values:
        return Values.nulls(len(column), self._schema(column.struct))

    def _changed(self, schema: Schema | None) -> Schema | None:
        if schema is None or self._behavior == "nullify":
            return None
        if self._behavior == "force_optional":
            return schema.as_optional()
        if self._behavior == "validate" and not schema.optional:
            raise DataError(
                f"The schema of the {self.part[:-1]} is not optional and does not allow null: {schema!r}. "
                "Set schema.behavior=force_optional or nullify."
            )
        return schema


class DropKey(Drop):
    """Drop$Key."""

    part = "keys"


class DropValue(Drop):
    """Drop$Value."""
