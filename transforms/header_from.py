"""Move or copy fields into headers: HeaderFrom.

https://kafka.apache.org/documentation/#org.apache.kafka.connect.transforms.HeaderFrom
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from connect import Batch, ConfigError, DataError, Header, Headers, Schema, Values, settings
from connect.data.column import NoArrowForm, Plain
from connect.data.struct_columns import StructColumns
from connect.settings import Config
from transforms.fields import Fields, FieldsTransformation, Plan, Struct
from transforms.paths import SYNTAX, VERSION, Path, by_parent, column_at, parse, schema_at, values_at, written
from transforms.structs import DEFAULTS, WITH_DEFAULTS, copied, defaults_of, names, schema_around, with_default

B = TypeVar("B", bound=Batch[Any])


class HeaderFrom(FieldsTransformation):
    """Adds a header for each of some fields, and with `operation=move` removes those fields from the value.

    A header has the field's schema. A field that a schemaless value lacks becomes a null header.
    """

    purpose = "headers from fields"
    settings = (
        settings.define(
            settings.List("fields", importance="HIGH", validator=names, doc="The names of the fields to copy or move."),
            settings.List(
                "headers",
                importance="HIGH",
                validator=names,
                doc="The names of the headers, as many as fields and in the same order.",
            ),
            settings.String(
                "operation",
                importance="HIGH",
                validator=settings.one_of("move", "copy"),
                doc="move removes the fields from the value, copy keeps them.",
            ),
        )
        | DEFAULTS
        | SYNTAX
    )

    def configure(self, config: Config) -> None:
        paths = [parse(name, config[VERSION], "fields") for name in config["fields"]]
        if len(paths) != len(config["headers"]):
            raise ConfigError(
                "headers", f"names {len(config['headers'])} headers for {len(paths)} fields. Name one for each field."
            )
        self._wanted: list[tuple[str, Path]] = list(zip(config["headers"], paths, strict=True))
        self._with_defaults: bool = config[WITH_DEFAULTS]
        self._move = config["operation"] == "move"
        self.changes = {parent: partial(self._without, last) for parent, last in by_parent(paths).items()}

    def apply(self, record: Any) -> Any:
        keys = self.part == "keys"
        schema, value = (record.key_schema, record.key) if keys else (record.value_schema, record.value)
        headers = Headers((*record.headers, *self._headers(schema, [value])[0]))
        if not self._move:
            return record.replace(headers=headers)
        schema, value = self.convert(schema, value)
        if keys:
            return record.replace(headers=headers, key=value, key_schema=schema)
        return record.replace(headers=headers, value=value, value_schema=schema)

    def apply_batch(self, batch: B) -> B:
        values: Values = getattr(batch, self.part)
        headers: list[Any] = batch.headers.to_list().copy()
        for rows, group in values.groups():
            columns = group.struct_columns
            found = self._headers(group.schemas[0], group.to_list()) if columns is None else self._of_columns(columns)
            for row, more in zip(rows, found, strict=True):
                headers[row] = Headers((*headers[row], *more))
        batch = batch.with_columns(headers=Plain(headers))
        return super().apply_batch(batch) if self._move else batch

    def _headers(self, schema: Schema | None, items: list[Any]) -> list[tuple[Header, ...]]:
        """The headers to add to each record."""
        if None in items:
            raise DataError("Null has no fields for headers. Exclude tombstones by a predicate: RecordIsTombstone.")
        self._check(schema, items)
        columns = []
        for name, path in self._wanted:
            field = self._schema(schema, path)
            values = values_at(schema, items, path, replace_null=self._with_defaults)
            columns.append([Header(name, value, field) for value in values])
        return list(zip(*columns, strict=True))

    def _of_columns(self, column: StructColumns) -> list[tuple[Header, ...]]:
        columns = []
        for name, path in self._wanted:
            field = self._schema(column.struct, path)
            try:
                values = column_at(column, path, replace_null=self._with_defaults).items
            except NoArrowForm:
                return self._headers(column.struct, column.to_list())
            columns.append([Header(name, value, field) for value in values])
        return list(zip(*columns, strict=True))

    def _schema(self, schema: Schema | None, path: Path) -> Schema | None:
        if schema is None:
            return None
        found = schema_at(schema, path)
        if found is None:
            raise DataError(f"The schema has no field {written(path)} for a header.")
        return found

    def _without(self, fields: list[str], schema: Schema | None) -> Plan:
        defaults = defaults_of(schema, replace_null=self._with_defaults)

        def items(structs: list[Struct]) -> list[Struct]:
            copies = copied(structs, defaults)
            for copy in copies:
                for name in fields:
                    copy.pop(name, None)
            return copies

        if schema is None:
            return Plan(None, items)
        kept = [field for field in schema.fields if field.name not in fields]

        def columns(column: StructColumns) -> Fields:
            left = [column.fields[field.index] for field in kept]
            return list(map(with_default, left)) if self._with_defaults else left

        return Plan(schema_around(schema, {field.name: field.schema for field in kept}), items, columns)


class HeaderFromKey(HeaderFrom):
    """HeaderFrom for keys."""

    part = "keys"


class HeaderFromValue(HeaderFrom):
    """HeaderFrom for values."""
