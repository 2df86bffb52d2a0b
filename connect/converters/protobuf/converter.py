"""ProtobufConverter: values as Protobuf messages whose schema is in a registry.

magic byte and id of the schema | indexes of the message | the message
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from google.protobuf.message import Message

from connect.converters.lru_cache import LruCache
from connect.converters.protobuf import indexes
from connect.converters.protobuf.descriptors import ProtoFile, parse
from connect.converters.protobuf.keys import ProtobufOptions
from connect.converters.protobuf.reading import Reader
from connect.converters.protobuf.to_proto import proto_of
from connect.converters.protobuf.writing import Writer
from connect.converters.registry.client import PROTOBUF, RegistrySchema, SchemaId
from connect.converters.registry.converter import RegistryConverter, Written
from connect.converters.registry.keys import RegistryConverterOptions
from connect.converters.registry.wire import Named
from connect.data.schema import Schema
from connect.data.values import GroupedValues, Values
from connect.errors import DataError


class _Plan(NamedTuple):
    """How records of one schema are written."""

    id: SchemaId
    used: RegistrySchema
    indexes: bytes
    writer: Writer


class ProtobufConverterOptions(RegistryConverterOptions, ProtobufOptions):
    """The settings of `ProtobufConverter`."""


class ProtobufConverter(RegistryConverter):
    """Converts between Protobuf and values. A null value is a tombstone, whatever its schema."""

    settings = ProtobufConverterOptions.definition()
    schema_type = PROTOBUF

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        self._options = options = ProtobufConverterOptions.of(config, is_key)
        self._use_registry(options, is_key=is_key)
        size = options.schemas_cache_config
        self._files: LruCache[RegistrySchema, ProtoFile] = LruCache(size)
        self._readers: LruCache[tuple[str, int | str, tuple[int, ...]], Reader] = LruCache(size)
        self._plans: LruCache[tuple[str, Schema], _Plan] = LruCache(size)

    # Reading.

    def _read(self, topic: str, named: Named, data: Sequence[bytes]) -> Values:
        schema, start = named.id, named.start
        payloads = [record[start:] for record in data]
        if named.rest is not None:  # the header has the indexes too
            return self._reader(topic, schema, indexes.read(named.rest, 0)[0]).read(payloads)
        if all([payload[:1] == b"\0" for payload in payloads]):  # noqa: C419 - a list is faster
            reader = self._reader(topic, schema, indexes.FIRST)
            return reader.read([payload[1:] for payload in payloads])
        groups: dict[tuple[int, ...], tuple[list[int], list[bytes]]] = {}
        for row, payload in enumerate(payloads):
            found, start = indexes.read(payload, 0)
            rows, messages = groups.setdefault(found, ([], []))
            rows.append(row)
            messages.append(payload[start:])
        read: list[tuple[Sequence[int], Values]] = [
            (rows, self._reader(topic, schema, at).read(messages)) for at, (rows, messages) in groups.items()
        ]
        return read[0][1] if len(read) == 1 else GroupedValues(len(payloads), read)

    def _reader(self, topic: str, schema: int | str, at: tuple[int, ...]) -> Reader:
        reader = self._readers.get((topic, schema, at))
        if reader is None:
            registered = self._registry.schema(schema)
            file = self._file(registered)
            name = file.name_at(at)
            version = self._version_of(topic, registered, name)
            reader = Reader(file.message_class(name), self._options, version)
            self._readers[topic, schema, at] = reader
        return reader

    def _file(self, schema: RegistrySchema) -> ProtoFile:
        if schema.type != PROTOBUF:
            raise DataError(f"its schema is of type {schema.type}, not {PROTOBUF}.")
        file = self._files.get(schema)
        if file is None:
            used = self._registry.referenced(schema)
            file = self._files[schema] = parse(schema.text, {name: each.text for name, each in used.items()})
        return file

    # Writing.

    def _write(self, topic: str, schema: Schema | None, values: Values) -> Written | None:
        if values.struct_columns is None and all(item is None for item in values.to_list()):
            return None
        if schema is None:
            raise DataError("Protobuf needs a schema, and the value has none.")
        plan = self._plans.get((topic, schema))
        if plan is None or self._is_old(topic, schema, plan):
            plan = self._plans[topic, schema] = self._plan(topic, schema)
        messages = plan.writer.write(values)
        return Written(
            plan.id, lambda before: [None if item is None else before + item for item in messages], plan.indexes
        )

    def _plan(self, topic: str, schema: Schema) -> _Plan:
        text, name = proto_of(schema, self._options)
        own = RegistrySchema(PROTOBUF, text)
        # It is compiled first: what is not a valid schema is not registered.
        file = self._file(own)
        id_, used = self._registered(topic, own, name)
        if used != own:
            file = self._file(used)
        try:
            at = file.indexes_of(name)
        except KeyError:
            raise DataError(f"schema {id_.number} has no message {name}.") from None
        message: type[Message] = file.message_class(name)
        return _Plan(id_, used, indexes.write(at), Writer(schema, message, self._options))

    def _is_old(self, topic: str, schema: Schema, plan: _Plan) -> bool:
        """Whether the subject has a newer version, where the latest one should be used."""
        if self._auto_register or not self._use_latest or self._use_id >= 0:
            return False
        subject = self._subjects.of(topic, proto_of(schema, self._options)[1])
        return self._registry.latest(subject).schema != plan.used
