"""What the converters of Protobuf and JSON Schema have in common: a batch is read by schemas.

reading: record -> id of its schema -> group of records with one schema -> `_read`
writing: rows of one schema -> `_write` -> id of that schema before each value, or in a header
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from connect.api.converter import NULL, Converter, RawHeaders, SchemaAndValue
from connect.converters.registry.client import RegistrySchema, SchemaId
from connect.converters.registry.http import RegistryNotFound, RegistryRefused, RegistryUnavailable
from connect.converters.registry.keys import RegistryConverterOptions
from connect.converters.registry.wire import PREFIX_LENGTH
from connect.data.column import Column, Constant, Plain
from connect.data.headers import Headers
from connect.data.schema import Schema
from connect.data.values import GroupedValues, Values
from connect.errors import ConfigError, DataError

T = TypeVar("T")


class RegistryConverter(Converter):
    """A converter whose schemas are in a registry.

    An heir says in `_read` what values records of one schema have, and in `_write` what bytes values of one schema are.
    Both raise `DataError` for a record or value they cannot take; a failed batch is run again in halves.

    Attributes:
        schema_type: of the registry: PROTOBUF or JSON.
    """

    schema_type: str

    def _use_registry(self, options: RegistryConverterOptions, *, is_key: bool) -> None:
        """Take what all have in common. An heir calls it in `configure`."""
        self._side = "key" if is_key else "value"
        self._registry = options.client()
        self._wire = options.wire(is_key=is_key)
        self._subjects = options.subjects(is_key=is_key)
        self._auto_register = options.auto_register_schemas
        self._use_id = options.use_schema_id
        self._use_latest = options.use_latest_version
        self._normalize = options.normalize_schemas

    @abstractmethod
    def _read(self, topic: str, schema: int | str, payloads: list[bytes], rest: bytes | None) -> Values:
        """The values of records of one topic that name one schema.

        Args:
            topic: of the records.
            schema: as they name it.
            payloads: what comes after the name; no record is a tombstone.
            rest: see `Named`.
        """

    @abstractmethod
    def _write(self, topic: str, schema: Schema | None, values: Values) -> tuple[SchemaId | None, bytes, list[Any]]:
        """The records of values of one schema.

        Returns:
            The schema's id (None when all rows are), what stands between it and each value, and the values; None for a
            tombstone.
        """

    # Reading.

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        if data is None:
            return NULL
        raw = [(header.key, header.value) for header in headers] if headers else None
        values = self._to_connect(Constant(topic, 1), [data], Constant(raw, 1))
        return SchemaAndValue(values.schemas[0], values.to_list()[0])

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        return self._to_connect(topics, data, Constant(None, len(data)))

    def to_connect_batch_with_headers(
        self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]
    ) -> Values:
        return self._to_connect(topics, data, headers)

    def _to_connect(self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]) -> Values:
        if not data:
            return Values([])
        first = data[0]
        no_headers = headers.constant and not headers[0]
        if first and first[0] == 0 and len(first) >= PREFIX_LENGTH and topics.constant and no_headers:
            prefix = first[:PREFIX_LENGTH]
            if all([item is not None and item.startswith(prefix) for item in data]):  # noqa: C419 - a list is faster
                payloads = [item[PREFIX_LENGTH:] for item in data if item is not None]
                return self._group(topics[0], int.from_bytes(prefix[1:], "big"), payloads, None)
        groups: dict[tuple[str, int | str, bytes | None] | None, tuple[list[int], list[bytes]]] = {}
        for row, (topic, item, raw) in enumerate(zip(topics, data, headers, strict=True)):
            if item is None:
                groups.setdefault(None, ([], []))[0].append(row)
                continue
            named = self._at(topic, lambda item=item, raw=raw: self._wire.id_of(item, raw))  # type: ignore[misc]
            rows, payloads = groups.setdefault((topic, named.id, named.rest), ([], []))
            rows.append(row)
            payloads.append(item[named.start :])
        read: list[tuple[Sequence[int], Values]] = []
        for key, (rows, payloads) in groups.items():
            read.append((rows, Values.nulls(len(rows)) if key is None else self._group(*key[:2], payloads, key[2])))
        return read[0][1] if len(read) == 1 else GroupedValues(len(data), read)

    def _group(self, topic: str, schema: int | str, payloads: list[bytes], rest: bytes | None) -> Values:
        return self._at(topic, lambda: self._read(topic, schema, payloads, rest), schema)

    def _at(self, topic: str, run: Callable[[], T], schema: int | str | None = None) -> T:
        """Run it; an error says which record it is about."""
        try:
            return run()
        except RegistryUnavailable:
            raise
        except DataError as error:
            named = "" if schema is None else f" with schema {schema}"
            raise DataError(f"The {self._side} of a record of topic {topic}{named} cannot be read: {error}") from error

    def _version_of(self, topic: str, schema: RegistrySchema, record: str | None) -> int | None:
        """The version of a schema under its subject; None where it is not registered there, or has no subject."""
        try:
            return self._registry.lookup(self._subjects.of(topic, record), schema, deleted=True).version
        except DataError:
            return None  # of a topic that was renamed on its way, for example

    # Writing.

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        if self._wire.in_header and value is not None:
            raise ConfigError(
                f"{self._side}.schema.id.serializer",
                "writes into headers, which cannot be done here: only from_connect_batch_with_headers hands some out.",
            )
        return self.from_connect_batch(Constant(topic, 1), Values([value], schema))[0]

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        return self._from_connect(topics, values)[0]

    def from_connect_batch_with_headers(
        self, topics: Column[str], values: Values, headers: Column[RawHeaders]
    ) -> tuple[Sequence[bytes | None], Column[RawHeaders]]:
        written, own = self._from_connect(topics, values)
        if not self._wire.in_header:
            return written, headers
        changed: list[RawHeaders] = []
        for row, raw in enumerate(headers):
            others = [header for header in raw or () if header[0] != self._wire.header]
            changed.append([*others, own[row]] if row in own else others)
        return written, Plain(changed)

    def _from_connect(
        self, topics: Column[str], values: Values
    ) -> tuple[list[bytes | None], dict[int, tuple[str, bytes]]]:
        """What is written, and the header with the schema's id for each row that gets one."""
        written: list[bytes | None] = [None] * len(values)
        own: dict[int, tuple[str, bytes]] = {}
        for rows, part in values.groups():
            for topic, members in _by_topic(topics, rows):
                alike = part if len(members) == len(part) else part.take(members)
                try:
                    id_, between, payloads = self._write(topic, alike.schemas[0], alike)
                except (RegistryUnavailable, RegistryRefused):
                    raise
                except DataError as error:
                    text = f"The {self._side} of a record for topic {topic} cannot be written: {error}"
                    raise DataError(text) from error
                if id_ is None:
                    continue
                before = b"" if self._wire.in_header else self._wire.prefix(id_) + between
                header = self._wire.header_for(id_, between) if self._wire.in_header else None
                for member, payload in zip(members, payloads, strict=True):
                    if payload is not None:
                        written[rows[member]] = before + payload
                        if header is not None:
                            own[rows[member]] = header
        return written, own

    def _registered(self, topic: str, schema: RegistrySchema, record: str | None) -> tuple[SchemaId, RegistrySchema]:
        """The id that records of this schema get, and the schema that has it: another one where the settings say so.

        Raises:
            RegistryNotFound: it is not registered, and the settings say that it has to be.
            RegistryRefused: the registry does not take it, such as one that is not compatible.
        """
        subject = self._subjects.of(topic, record)
        if self._auto_register:
            return self._registry.register(subject, schema, normalize=self._normalize), schema
        if self._use_id >= 0:
            return SchemaId(self._use_id), self._registry.schema_by_id(self._use_id, subject)
        if self._use_latest:
            latest = self._registry.latest(subject)
            return latest.id, latest.schema
        try:
            return self._registry.lookup(subject, schema, normalize=self._normalize).id, schema
        except RegistryNotFound as error:
            raise RegistryNotFound(
                f"the schema is not registered under {subject}: {error} Register it, or set "
                "auto.register.schemas=true or use.latest.version=true.",
                error.status,
                error.code,
            ) from error


def _by_topic(topics: Column[str], rows: Sequence[int]) -> list[tuple[str, list[int]]]:
    """For each topic, where in `rows` its rows are."""
    if topics.constant and rows:
        return [(topics[0], list(range(len(rows))))]
    found: dict[str, list[int]] = {}
    names = topics.to_list()
    for member, row in enumerate(rows):
        found.setdefault(names[row], []).append(member)
    return list(found.items())
