"""AvroConverter: values in Avro, their schemas in a registry, compatible with io.confluent.connect.avro.AvroConverter.

https://docs.confluent.io/platform/current/schema-registry/connect.html#avro
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from connect.converters.avro import anything
from connect.converters.avro.from_connect import FromConnect, refuse_two_of_a_name
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.reading import Reader, make_reader
from connect.converters.avro.text import schema_text
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import AvroType, parse
from connect.converters.avro.writing import MadeWriter
from connect.converters.lru_cache import LruCache
from connect.converters.registry import (
    RegistryConverterOptions,
    RegistryNotFound,
    RegistrySchema,
    SchemaId,
)
from connect.converters.registry.client import AVRO
from connect.converters.registry.converter import RegistryConverter, Written
from connect.converters.registry.wire import Named
from connect.data.column import Plain
from connect.data.schema import Schema
from connect.data.struct_columns import StructColumns
from connect.data.values import Values
from connect.errors import DataError


class _Reading(NamedTuple):
    """How records of one schema are read. `schema` is None for values without one."""

    schema: Schema | None
    read: Reader
    by_fields: bool


class _Writing(NamedTuple):
    """How values of one schema are written to one topic."""

    id: SchemaId
    writer: MadeWriter | None


class AvroConverterOptions(RegistryConverterOptions, AvroOptions):
    """The settings of `AvroConverter`."""


class AvroConverter(RegistryConverter):
    """Converts between Avro and values with schemas; schemas are read from and registered in a schema registry.

    A column whose records name one schema is read at once by a function made for that schema, into a column for each
    field (`StructColumns`, from which Arrow columns are made without a pass over single records).
    """

    settings = AvroConverterOptions.definition()
    schema_type = AVRO
    says_where = False

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self._options = options = AvroConverterOptions.of(config, is_key)
        self._use_registry(options, is_key=is_key)
        size = options.schemas_cache_config
        self._avro: LruCache[int | str, AvroType] = LruCache(size)
        self._made_readers: LruCache[tuple[int | str, int | None], _Reading] = LruCache(size)
        self._readers: LruCache[tuple[str, int | str], _Reading] = LruCache(size)
        self._by_schema: LruCache[Schema | None, tuple[AvroType, str]] = LruCache(size)
        self._writers: LruCache[tuple[Schema | None, int], MadeWriter | None] = LruCache(size)

    # Reading.

    def _read(self, topic: str, named: Named, data: Sequence[bytes]) -> Values:
        reading = self._reading(topic, named.id)
        found = reading.read(data, named.start)
        if reading.by_fields:
            assert reading.schema is not None
            return StructColumns(reading.schema, found)
        if reading.schema is not None and reading.schema.optional and None in found:
            return Values(found, Plain([None if item is None else reading.schema for item in found]))
        return Values(found, reading.schema)

    def _reading(self, topic: str, id: int | str) -> _Reading:  # noqa: A002 - as records name it
        found = self._readers.get((topic, id))
        if found is None:
            found = self._readers[topic, id] = self._new_reading(topic, id)
        return found

    def _new_reading(self, topic: str, id: int | str) -> _Reading:  # noqa: A002
        hint = self._subjects.of(topic, None) if self._subjects.by_topic else None
        try:
            schema = self._registry.schema(id, hint)
        except RegistryNotFound as error:
            raise DataError(
                f"the record names the schema {id}, and {error} Was it written with the ids of another registry?"
            ) from error
        avro = self._parsed(id, schema)
        version = self._version(topic, avro, schema)
        made = self._made_readers.get((id, version))
        if made is None:
            if avro.name == anything.NAME:
                made = _Reading(None, anything.read, by_fields=False)
            elif avro.kind == "null":
                made = _Reading(None, _nulls, by_fields=False)
            else:
                connect = ToConnect(self._options).schema(avro, version)
                by_fields = avro.kind == "record" and bool(avro.fields)
                made = _Reading(connect, make_reader(avro, connect, self._options), by_fields)
            self._made_readers[id, version] = made
        return made

    def _parsed(self, id: int | str, schema: RegistrySchema) -> AvroType:  # noqa: A002
        if schema.type != AVRO:
            raise DataError(f"the schema with the id {id} is not of Avro but of {schema.type}. Use its converter.")
        found = self._avro.get(id)
        if found is None:
            used = self._registry.referenced(schema)
            found = self._avro[id] = parse(schema.text, [each.text for each in used.values()])
        return found

    def _version(self, topic: str, avro: AvroType, schema: RegistrySchema) -> int | None:
        """The version of a schema under the subject of its topic; None where it was registered under another."""
        name = avro.name if avro.kind == "record" else None
        if name is None and not self._subjects.by_topic:
            return None
        try:
            return self._registry.lookup(self._subjects.of(topic, name), schema, deleted=True).version
        except RegistryNotFound:
            return None

    # Writing.

    def _write(self, topic: str, schema: Schema | None, values: Values) -> Written | None:
        """See `RegistryConverter`. A null value is a tombstone, whatever its schema says."""
        columns = values.struct_columns
        items = [] if columns is not None else values.to_list()
        if None in items:
            present = [row for row, item in enumerate(items) if item is not None]
            written = self._write(topic, schema, values.take(present)) if present else None
            return None if written is None else written._replace(framed=_among_tombstones(items, written.framed))
        writing = self._writing(topic, schema)
        writer = writing.writer
        if writer is None:
            return Written(writing.id, lambda before: [before + anything.write(item) for item in items])
        if columns is not None and writer.fields:
            fields = [columns.field(name).items for name in writer.fields]
            return Written(writing.id, lambda before: writer.columns(fields, before))
        return Written(
            writing.id, lambda before: writer.values(values.to_list() if columns is not None else items, before)
        )

    def _writing(self, topic: str, schema: Schema | None) -> _Writing:
        avro, text = self._derived(schema)
        own = RegistrySchema(AVRO, text)
        id_, used = self._registered(topic, own, avro.name if avro.kind == "record" else None)
        return self._with(schema, id_, avro if used is own else self._parsed(id_.number, used))

    def _with(self, schema: Schema | None, id: SchemaId, avro: AvroType) -> _Writing:  # noqa: A002
        key = (schema, id.number)
        if key not in self._writers:
            if schema is None and avro.name != anything.NAME:
                raise DataError(
                    "a value without a schema can be written to Avro only with auto.register.schemas=true, or where "
                    f"the schema in the registry is {anything.NAME}."
                )
            self._writers[key] = None if schema is None else MadeWriter(avro, schema, self._options)
        return _Writing(id, self._writers[key])

    def _derived(self, schema: Schema | None) -> tuple[AvroType, str]:
        """The Avro type of a schema, and its text."""
        found = self._by_schema.get(schema)
        if found is None:
            if schema is None:
                text = anything.TEXT
            else:
                node = FromConnect(self._options).schema(schema)
                refuse_two_of_a_name(node)
                text = schema_text(node)
            found = self._by_schema[schema] = (parse(text), text)
        return found


def _nulls(records: Sequence[bytes], start: int) -> list[Any]:
    return [None] * len(records)


def _among_tombstones(
    items: Sequence[Any], framed: Callable[[bytes], Sequence[bytes | None]]
) -> Callable[[bytes], list[bytes | None]]:
    """Records of the present items, and tombstones for the others."""

    def all_framed(before: bytes) -> list[bytes | None]:
        records = iter(framed(before))
        return [None if item is None else next(records) for item in items]

    return all_framed
