"""AvroConverter: values in Avro, their schemas in a registry, compatible with io.confluent.connect.avro.AvroConverter.

https://docs.confluent.io/platform/current/schema-registry/connect.html#avro
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from connect.api.converter import NULL, Converter, RawHeaders, SchemaAndValue
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
from connect.converters.registry.wire import PREFIX_LENGTH, Named, is_number
from connect.data.column import Column, Constant, Plain
from connect.data.headers import Headers
from connect.data.schema import Schema
from connect.data.struct_columns import StructColumns
from connect.data.values import GroupedValues, Values
from connect.errors import ConfigError, DataError


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


class AvroConverter(Converter):
    """Converts between Avro and values with schemas; schemas are asked from and registered in a schema registry.

    A column whose records name one schema is read in one go by a function made for that schema, into a column for each
    field (`StructColumns`, from which Arrow columns are had without a look at single records).
    """

    settings = AvroConverterOptions.definition()

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self._options = options = AvroConverterOptions.of(config, is_key)
        self._client = options.client()
        self._subjects = options.subjects(is_key=is_key)
        self._wire = options.wire(is_key=is_key)
        self._register = options.auto_register_schemas
        self._normalize = options.normalize_schemas
        self._latest = options.use_latest_version
        self._use_id = options.use_schema_id
        size = options.schemas_cache_config
        self._avro: LruCache[int | str, AvroType] = LruCache(size)
        self._made_readers: LruCache[tuple[int | str, int | None], _Reading] = LruCache(size)
        self._readers: LruCache[tuple[str, int | str], _Reading] = LruCache(size)
        self._by_schema: LruCache[Schema | None, tuple[AvroType, str]] = LruCache(size)
        self._writers: LruCache[tuple[Schema | None, int], MadeWriter | None] = LruCache(size)

    # Reading.

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        if data is None:
            return NULL
        raw = [(each.key, each.value) for each in headers] if headers else None
        values = self.to_connect_batch_with_headers(Constant(topic, 1), [data], Constant(raw, 1))
        return SchemaAndValue(values.schemas[0], values[0])

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        return self.to_connect_batch_with_headers(topics, data, Constant(None, len(data)))

    def to_connect_batch_with_headers(
        self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]
    ) -> Values:
        if not data:
            return Values([])
        first = data[0]
        in_headers = self._wire.is_in_headers(headers)
        if not in_headers and topics.constant and first is not None and is_number(first):
            prefix = first[:PREFIX_LENGTH]
            if None not in data and all([item.startswith(prefix) for item in data]):  # type: ignore[union-attr]  # noqa: C419 - a list is faster here
                named = self._wire.id_of(first)
                return self._read(topics[0], named, data)  # type: ignore[arg-type]
        return self._read_mixed(topics, data, headers if in_headers else Constant(None, len(data)))

    def _read_mixed(self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]) -> Values:
        """Records of several schemas, or tombstones among them."""
        groups: dict[tuple[str, Named] | None, list[int]] = {}
        known: dict[tuple[str, bytes], tuple[str, Named]] = {}
        for row, (topic, item, raw) in enumerate(zip(topics, data, headers, strict=True)):
            key: tuple[str, Named] | None = None
            if item is not None and raw:
                key = (topic, self._wire.id_of(item, raw)._replace(rest=None))
            elif item is not None:
                start = (topic, item[:PREFIX_LENGTH])
                key = known.get(start)
                if key is None:
                    key = (topic, self._wire.id_of(item))
                    if key[1].start == PREFIX_LENGTH:
                        known[start] = key
            groups.setdefault(key, []).append(row)
        parts: list[tuple[Sequence[int], Values]] = []
        for key, rows in groups.items():
            if key is None:
                parts.append((rows, Values.nulls(len(rows))))
            else:
                parts.append((rows, self._read(*key, [data[row] for row in rows])))  # type: ignore[misc]
        return parts[0][1] if len(parts) == 1 else GroupedValues(len(data), parts)

    def _read(self, topic: str, named: Named, data: Sequence[bytes]) -> Values:
        """Records of one schema."""
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
            schema = self._client.schema(id, hint)
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
            used = self._client.referenced(schema)
            found = self._avro[id] = parse(schema.text, [each.text for each in used.values()])
        return found

    def _version(self, topic: str, avro: AvroType, schema: RegistrySchema) -> int | None:
        """The version of a schema under the subject of its topic; None where it was registered under another."""
        name = avro.name if avro.kind == "record" else None
        if name is None and not self._subjects.by_topic:
            return None
        try:
            return self._client.lookup(self._subjects.of(topic, name), schema, deleted=True).version
        except RegistryNotFound:
            return None

    # Writing.

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        if self._wire.in_header:
            raise ConfigError(
                "value.schema.id.serializer",
                "writes into headers, which only from_connect_batch_with_headers can do. Use PrefixSchemaIdSerializer.",
            )
        return self.from_connect_batch(Constant(topic, 1), Values([value], schema))[0]

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        return self._written(topics, values, None)

    def from_connect_batch_with_headers(
        self, topics: Column[str], values: Values, headers: Column[RawHeaders]
    ) -> tuple[Sequence[bytes | None], Column[RawHeaders]]:
        if not self._wire.in_header:
            return self._written(topics, values, None), headers
        added: list[RawHeaders] = headers.to_list().copy()
        return self._written(topics, values, added), Plain(added)

    def _written(self, topics: Column[str], values: Values, headers: list[RawHeaders] | None) -> list[bytes | None]:
        written: list[bytes | None] = [None] * len(values)
        for rows, part in values.groups():
            for topic, places in _by_topic(topics, rows).items():
                chosen = part if len(places) == len(part) else part.take(places)
                found = self._of_one(topic, chosen, [rows[place] for place in places], headers)
                for place, item in zip(places, found, strict=True):
                    written[rows[place]] = item
        return written

    def _of_one(
        self, topic: str, values: Values, rows: Sequence[int], headers: list[RawHeaders] | None
    ) -> Sequence[bytes | None]:
        """Values of one schema for one topic. None is a tombstone, whatever the schema says."""
        schema = values.schemas[0]
        columns = values.struct_columns
        items = None if columns is not None else values.to_list()
        if items is not None and None in items:
            present = [place for place, item in enumerate(items) if item is not None]
            result: list[bytes | None] = [None] * len(items)
            if present:
                found = self._of_one(topic, values.take(present), [rows[place] for place in present], headers)
                for place, data in zip(present, found, strict=True):
                    result[place] = data
            return result
        writing = self._writing(topic, schema)
        prefix = self._wire.prefix(writing.id)
        if headers is not None:
            own = self._wire.header_for(writing.id)
            for row in rows:
                headers[row] = [*(headers[row] or ()), own]
        if writing.writer is None:
            assert items is not None
            return [prefix + anything.write(item) for item in items]
        if columns is not None and writing.writer.fields:
            return writing.writer.columns([columns.field(name).items for name in writing.writer.fields], prefix)
        return writing.writer.values(values.to_list() if items is None else items, prefix)

    def _writing(self, topic: str, schema: Schema | None) -> _Writing:
        avro, text = self._derived(schema)
        own = RegistrySchema(AVRO, text)
        subject = self._subjects.of(topic, avro.name if avro.kind == "record" else None)
        if self._register:
            return self._with(schema, self._client.register(subject, own, normalize=self._normalize), avro)
        if self._use_id >= 0:
            target = self._client.schema_by_id(self._use_id, subject)
            return self._with(schema, SchemaId(self._use_id), self._parsed(self._use_id, target))
        if self._latest:
            latest = self._client.latest(subject)
            return self._with(schema, latest.id, self._parsed(latest.id.number, latest.schema))
        try:
            found = self._client.lookup(subject, own, normalize=self._normalize)
        except RegistryNotFound as error:
            raise DataError(
                f"the schema is not registered under {subject}: {error} Register it, or set "
                "auto.register.schemas=true or use.latest.version=true."
            ) from error
        return self._with(schema, found.id, avro)

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
        """The Avro type that follows from a schema, and its text."""
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


def _by_topic(topics: Column[str], rows: Sequence[int]) -> dict[str, Sequence[int]]:
    """For each topic the places within `rows` whose records go there."""
    if topics.constant:
        return {topics[0]: range(len(rows))} if len(rows) else {}
    names = topics.to_list()
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(names[row], []).append(place)
    return dict(found)
