"""JsonSchemaConverter: values as JSON whose JSON Schema is in a registry.

magic byte and id of the schema | the JSON
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from connect.converters.json_encode import lines
from connect.converters.json_fast import exact
from connect.converters.jsonschema.documents import Documents
from connect.converters.jsonschema.keys import JsonSchemaOptions
from connect.converters.jsonschema.reading import Reader, SchemaDecoder
from connect.converters.jsonschema.to_json_schema import text_of
from connect.converters.jsonschema.to_schema import schema_of
from connect.converters.jsonschema.writing import SchemaPreparer, is_tombstone, with_defaults
from connect.converters.lru_cache import LruCache
from connect.converters.registry.client import JSON, RegistrySchema
from connect.converters.registry.converter import RegistryConverter, Written
from connect.converters.registry.keys import RegistryConverterOptions
from connect.converters.registry.wire import Named
from connect.data.schema import Schema
from connect.data.values import Values
from connect.errors import ConfigError, DataError, one_line


class _Reading(NamedTuple):
    """How records of one schema are read."""

    reader: Reader
    validator: Validator | None


class JsonSchemaConverterOptions(RegistryConverterOptions, JsonSchemaOptions):
    """The settings of `JsonSchemaConverter`."""


class JsonSchemaConverter(RegistryConverter):
    """Converts between JSON and values with schemas. A null value is JSON's null where its schema is optional."""

    settings = JsonSchemaConverterOptions.definition()
    schema_type = JSON

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self._options = options = JsonSchemaConverterOptions.of(config, is_key)
        self._use_registry(options, is_key=is_key)
        self._preparer = SchemaPreparer(self._options)
        self._validates = options.json_fail_invalid_schema
        size = options.schemas_cache_config
        self._readings: LruCache[tuple[str, int | str], _Reading] = LruCache(size)
        self._texts: LruCache[Schema, RegistrySchema] = LruCache(size)
        self._validators: LruCache[RegistrySchema, Validator] = LruCache(size)

    # Reading.

    def _read(self, topic: str, named: Named, data: Sequence[bytes]) -> Values:
        reading = self._readings.get((topic, named.id))
        if reading is None:
            reading = self._readings[topic, named.id] = self._reading(topic, named.id)
        start = named.start
        payloads = [record[start:] for record in data]
        if reading.validator is not None:
            for payload in payloads:
                reading.validator.check(payload)
        return reading.reader.read(payloads)

    def _reading(self, topic: str, schema: int | str) -> _Reading:
        registered = self._registry.schema(schema)
        if registered.type != JSON:
            raise DataError(f"its schema is of type {registered.type}, not {JSON}.")
        documents = self._documents(registered)
        title = documents.root.schema.get("title") if isinstance(documents.root.schema, dict) else None
        version = self._version_of(topic, registered, title)
        decoder = SchemaDecoder()
        found = schema_of(documents, self._options, lambda s, node: decoder.column(s, [_exactly(node)])[0], version)
        return _Reading(Reader(found), Validator(documents) if self._validates else None)

    def _documents(self, schema: RegistrySchema) -> Documents:
        used = self._registry.referenced(schema)
        return Documents(schema.text, {name: each.text for name, each in used.items()})

    # Writing.

    def _write(self, topic: str, schema: Schema | None, values: Values) -> Written | None:
        items = with_defaults(schema, values.to_list(), self._options)
        present = [item for item in items if not is_tombstone(schema, item)]
        if not present:
            return None
        if schema is None:
            raise DataError("JSON Schema needs a schema, and the value has none.")
        try:
            text = lines(self._preparer.column(schema, present))
        except RecursionError:
            raise DataError("the value is nested too deeply, or holds itself.") from None
        own = self._texts.get(schema)
        if own is None:
            own = self._texts[schema] = RegistrySchema(JSON, text_of(schema, self._options))
        id_, used = self._registered(topic, own, schema.name)
        written = text.split(b"\n")[:-1]
        if self._validates:
            validator = self._validator(used)
            for each in written:
                validator.check(each)

        def framed(before: bytes) -> list[bytes | None]:
            rest = iter(written)
            return [None if is_tombstone(schema, item) else before + next(rest) for item in items]

        return Written(id_, framed)

    def _validator(self, schema: RegistrySchema) -> Validator:
        if schema not in self._validators:
            self._validators[schema] = Validator(self._documents(schema))
        return self._validators[schema]


def _exactly(node: Any) -> Any:
    """A default as the decoder takes it: parsed again with its exact digits."""
    return exact(lines([node])[:-1])


class Validator:
    """Validates records of one schema.

    Raises:
        ConfigError: the library for it is not here.
        DataError: the schema is not a valid JSON Schema.
    """

    def __init__(self, documents: Documents) -> None:
        try:
            import jsonschema_rs
        except ModuleNotFoundError as error:
            raise ConfigError(
                "json.fail.invalid.schema", "true needs jsonschema-rs: pip install 'connect-runtime[jsonschema]'."
            ) from error

        def retrieve(address: str) -> Any:
            name = address.removeprefix("json-schema:///")
            if name not in documents.texts:
                raise ValueError(f'"{address}" is not in its references')
            return msgspec.json.decode(documents.texts[name])

        schema = documents.root.schema
        says_dialect = isinstance(schema, dict) and "$schema" in schema
        make = jsonschema_rs.validator_for if says_dialect else jsonschema_rs.Draft7Validator
        try:
            self._validator = make(schema, retriever=retrieve, base_uri="json-schema:///")
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise DataError(f"its schema is not a valid JSON Schema: {_one_line(error)}") from None
        self._invalid = jsonschema_rs.ValidationError

    def check(self, data: bytes) -> None:
        """Raise DataError, saying where, unless the JSON fits the schema."""
        try:
            self._validator.validate(msgspec.json.decode(data))
        except msgspec.DecodeError as error:
            raise DataError(f"this is not JSON: {error}.") from None
        except self._invalid as error:
            where = "/".join(map(str, error.instance_path))
            raise DataError(f"it does not fit its schema at /{where}: {error.message}.") from None


def _one_line(error: Exception) -> str:
    return one_line(error)[:1000]
