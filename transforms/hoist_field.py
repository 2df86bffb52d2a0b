"""Put the whole key or value into a field of a new struct or map: HoistField.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.HoistField (KIP-66). `hoisted` is KIP-821's.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from connect import DataError, Schema, SchemaAndValue, SchemaError, Values, settings
from connect.data.struct_columns import StructColumns
from transforms.fields import Fields, FieldsTransformation, Plan, Struct, unique_fields
from transforms.paths import SYNTAX, VERSION, parse

if TYPE_CHECKING:
    from connect.settings import Config


class HoistField(FieldsTransformation):
    """Wraps the value, even null, or with `hoisted` one of its fields in place."""

    settings = (
        settings.define(settings.String("field", doc="The name of the only field of the new struct or map."))
        | SYNTAX
        | settings.define(
            settings.String(
                "hoisted",
                default="",
                doc="The field to wrap instead of the whole value. With field.syntax.version=V2 also a path.",
            )
        )
    )
    purpose = "hoisting a field"

    def configure(self, config: Config) -> None:
        self._name: str = config["field"]
        self.changes = {}
        if config["hoisted"]:
            *parent, name = parse(config["hoisted"], config[VERSION], "hoisted")
            self.changes = {tuple(parent): partial(self._inside, name)}
        self._wrapped = lru_cache(maxsize=100)(self._wrap)

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        if self.changes:
            return super().convert(schema, value)
        return SchemaAndValue(self._new_schema(schema, [value]), {self._name: value})

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        if self.changes:
            return super().convert_column(schema, items)
        name = self._name
        return Values([{name: item} for item in items], self._new_schema(schema, items))

    def convert_arrow(self, column: StructColumns) -> Values | None:
        if self.changes:
            return super().convert_arrow(column)
        new = self._wrapped(column.struct)
        if not all(field.is_arrow for field in column.fields):
            return StructColumns(new, [column.to_list()])
        import pyarrow as pa

        names = [field.name for field in column.struct.fields]
        return StructColumns(new, [pa.StructArray.from_arrays(column.columns, names)])

    def _new_schema(self, schema: Schema | None, items: list[Any]) -> Schema | None:
        if schema is None:
            return None
        if not schema.optional and None in items:
            raise DataError(f'Null cannot be put into the field "{self._name}": its schema is not optional.')
        return self._wrapped(schema)

    def _wrap(self, schema: Schema) -> Schema:
        if not self._name:
            raise SchemaError("A field of a struct needs a name, but the setting field is empty.")
        return Schema.struct({self._name: schema})

    def _inside(self, name: str, schema: Schema | None) -> Plan:
        """Wrap one field of a struct."""
        new = self._name
        field = None if schema is None else schema.field(name)
        if schema is not None and field is None:
            return Plan(schema, lambda structs: structs, lambda column: column.fields)
        if schema is not None:
            schemas = [
                (new, Schema.struct({name: f.schema})) if f is field else (f.name, f.schema) for f in schema.fields
            ]
            schema = schema.replace(fields=unique_fields(schemas))

        def items(structs: list[Struct]) -> list[Struct]:
            changed = []
            for struct in structs:
                if name in struct:
                    struct = struct.copy()  # noqa: PLW2901 - the copy takes its place
                    struct[new] = {name: struct.pop(name)}
                changed.append(struct)
            return changed

        def columns(column: StructColumns) -> Fields:
            held = column.field(name)
            wrapped = [{name: item} for item in held.items]
            return [wrapped if each is held else each for each in column.fields]

        return Plan(schema, items, columns)


class HoistFieldKey(HoistField):
    """HoistField$Key."""

    part = "keys"


class HoistFieldValue(HoistField):
    """HoistField$Value."""
