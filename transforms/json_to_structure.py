"""Parse JSON in strings or bytes: JsonToStructure.

The result is maps, lists and numbers without a schema, or a value of a declared schema. JSON is parsed as by
`JsonConverter`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson

from connect import ConfigError, DataError, Schema, SchemaAndValue, Type, Values, settings
from connect.converters import JsonConverter
from connect.data.column import Constant
from connect.data.struct_columns import StructColumns
from connect.settings import Config
from transforms.fields import Fields, FieldsTransformation, Plan, Struct
from transforms.part import PartTransformation
from transforms.paths import SYNTAX, VERSION, by_parent, parse

_TEXTS = (Type.STRING, Type.BYTES)


class MalformedJson(DataError):
    """A string that is not JSON, or does not match the declared schema."""


class JsonToStructure(FieldsTransformation):
    """Parses fields that hold JSON, or the whole key or value."""

    settings = (
        settings.define(
            settings.List(
                "fields", default=[], importance="HIGH", doc="The fields that hold JSON. Empty: the whole key or value."
            ),
            settings.String(
                "target.field",
                default=None,
                doc="A new field for the structure; the original field stays. Only with one entry in fields. Unset: "
                "the structure replaces the field.",
            ),
            settings.String(
                "schema.content",
                default=None,
                width="LONG",
                validator=lambda _, content: _reader(content) and None,
                doc="The schema of the structure, as in JsonConverter's envelope. Required if the field is part of a "
                "struct with a schema. Otherwise the structure has none by default.",
            ),
            settings.String(
                "on.malformed",
                default="fail",
                validator=settings.one_of("fail", "keep", "null"),
                doc="What to do with a string that is not JSON: fail (the record goes to the error policy), keep (the "
                "record stays as it is), null (it becomes null).",
            ),
        )
        | SYNTAX
    )
    purpose = "JSON"

    def configure(self, config: Config) -> None:
        names = [name for name in config["fields"] if name]
        self._target: str | None = config["target.field"] or None
        if self._target is not None and len(names) != 1:
            raise ConfigError("target.field", "is for one field. Name exactly one in fields.")
        self._malformed: str = config["on.malformed"]
        self._converter, self._declared = _reader(config["schema.content"])
        paths = [parse(name, config[VERSION], "fields") for name in names]
        self.changes = {parent: partial(self._change, inner) for parent, inner in by_parent(paths).items()}

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        try:
            if self.changes:
                return super().convert(schema, value)
            if value is None:
                return SchemaAndValue(schema, None)
            return SchemaAndValue(self._declared, self._structures(schema, [value])[0])
        except MalformedJson:
            if self._malformed != "keep":
                raise
            return SchemaAndValue(schema, value)

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        try:
            if self.changes:
                return super().convert_column(schema, items)
            if None not in items:
                return Values(self._structures(schema, items), self._declared)
        except MalformedJson:
            if self._malformed != "keep":
                raise
        return PartTransformation.convert_column(self, schema, items)

    def convert_arrow(self, column: StructColumns) -> Values | None:
        try:
            return super().convert_arrow(column) if self.changes else None
        except MalformedJson:
            return None

    def _change(self, names: list[str], schema: Schema | None) -> Plan:
        present = names if schema is None else [name for name in names if schema.field(name) is not None]
        target = self._target

        def items(structs: list[Struct]) -> list[Struct]:
            for name in present:
                rows = [row for row, struct in enumerate(structs) if name in struct]
                read = self._structures(_of(schema, name), [structs[row][name] for row in rows])
                structs = list(structs)
                for row, structure in zip(rows, read, strict=True):
                    structs[row] = {**structs[row], target or name: structure}
            return structs

        if schema is None or not present:
            return Plan(schema, items, lambda column: column.fields)
        if self._declared is None:
            raise DataError(f'"{present[0]}" is part of a struct with a schema. Declare its schema in schema.content.')
        fields = {field.name: field.schema for field in schema.fields}
        fields |= {target or name: self._declared for name in present}

        def columns(column: StructColumns) -> Fields:
            held = {field.name: column.field(field.name) for field in column.struct.fields}
            read: dict[str, Any] = {
                target or name: self._structures(_of(schema, name), held[name].items) for name in present
            }
            return [read[name] if name in read else held[name] for name in fields]

        return Plan(schema.replace(fields=fields), items, columns)

    def _structures(self, schema: Schema | None, texts: list[Any]) -> list[Any]:
        """The parsed values; null for null."""
        if schema is not None and schema.type not in _TEXTS:
            raise DataError(f"JSON is read from strings and bytes, but this is of type {schema.type.value}.")
        rows = [row for row, text in enumerate(texts) if text is not None]
        data = [_encoded(texts[row]) for row in rows]
        try:
            read = self._read(data)
        except MalformedJson:
            if self._malformed != "null":
                raise
            read = [self._read_or_null(each) for each in data]
        if len(rows) == len(texts):
            return read
        structures: list[Any] = [None] * len(texts)
        for row, structure in zip(rows, read, strict=True):
            structures[row] = structure
        return structures

    def _read(self, data: list[bytes]) -> list[Any]:
        try:
            if not all(map(bytes.strip, data)):
                raise DataError("it is empty.")
            return self._converter.to_connect_batch(Constant("", len(data)), data).to_list()
        except DataError as error:
            raise MalformedJson(f"The string cannot be read as JSON: {error}") from error

    def _read_or_null(self, data: bytes) -> Any:
        try:
            return self._read([data])[0]
        except MalformedJson:
            return None


class JsonToStructureKey(JsonToStructure):
    """For keys."""

    part = "keys"


class JsonToStructureValue(JsonToStructure):
    """For values."""


def declared_schema(content: str) -> Schema:
    """The schema in a setting, in the form of JsonConverter's envelope.

    Raises:
        ConfigError: it is not a schema.
    """
    try:
        field = {**orjson.loads(content), "field": "x"}
        envelope = {"schema": {"type": "struct", "optional": True, "fields": [field]}, "payload": None}
        converter = JsonConverter()
        converter.configure({}, is_key=False)
        holder = converter.to_connect_data("", orjson.dumps(envelope)).schema
        assert holder is not None
        return holder.fields[0].schema
    except (ValueError, TypeError, DataError) as error:
        raise ConfigError("schema.content", f"is not a schema: {error}") from None


def _reader(content: str | None) -> tuple[JsonConverter, Schema | None]:
    """A converter for these structures, and their schema, made optional."""
    converter = JsonConverter()
    if not content:
        converter.configure({"schemas.enable": "false"}, is_key=False)
        return converter, None
    schema = declared_schema(content).as_optional()
    optional = orjson.dumps({**orjson.loads(content), "optional": True}).decode()
    converter.configure({"schema.content": optional}, is_key=False)
    return converter, schema


def _of(schema: Schema | None, name: str) -> Schema | None:
    field = schema.field(name) if schema is not None else None
    return None if field is None else field.schema


def _encoded(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise DataError(f"JSON is read from strings and bytes, but this is {type(text).__name__}.")
