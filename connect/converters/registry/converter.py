"""What the converters of Avro, Protobuf and JSON Schema share: a batch is read by schemas.

reading: record -> id of its schema -> group of records with one schema -> `_read`
writing: rows of one schema -> `_write` -> id of that schema before each value, or in a header
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from connect.api.converter import NULL, Converter, RawHeaders, SchemaAndValue
from connect.converters.registry.client import RegistrySchema, SchemaId
from connect.converters.registry.http import RegistryNotFound, RegistryRefused, RegistryUnavailable
from connect.converters.registry.keys import RegistryConverterOptions
from connect.converters.registry.wire import PREFIX_LENGTH, Named, is_number
from connect.data.column import Column, Constant, Plain
from connect.data.headers import Headers
from connect.data.schema import Schema
from connect.data.values import GroupedValues, Values
from connect.errors import ConfigError, DataError

T = TypeVar("T")


class Written(NamedTuple):
    """Values of one schema, as they are written.

    Attributes:
        id: of the schema.
        framed: makes the records, with what stands before each; None for a tombstone. Raises DataError.
        between: what stands between the id and each value.
    """

    id: SchemaId
    framed: Callable[[bytes], Sequence[bytes | None]]
    between: bytes = b""


class RegistryConverter(Converter):
    """A converter whose schemas are in a registry.

    A derived class implements `_read` and `_write` for records and values of one schema. Both raise `DataError` for a
    record or value that they refuse; a failed batch is repeated in halves.

    Attributes:
        schema_type: of the registry: AVRO, PROTOBUF or JSON.
        says_where: whether its errors name the topic and key or value.
    """

    schema_type: str
    says_where: ClassVar[bool] = True

    def _use_registry(self, options: RegistryConverterOptions, *, is_key: bool) -> None:
        """Read the common settings. A derived class calls it in `configure`."""
        self._side = "key" if is_key else "value"
        self._registry = options.client()
        self._wire = options.wire(is_key=is_key)
        self._subjects = options.subjects(is_key=is_key)
        self._auto_register = options.auto_register_schemas
        self._use_id = options.use_schema_id
        self._use_latest = options.use_latest_version
        self._normalize = options.normalize_schemas

    @abstractmethod
    def _read(self, topic: str, named: Named, data: Sequence[bytes]) -> Values:
        """The values of records of one topic that name one schema, in one way; no record is a tombstone."""

    @abstractmethod
    def _write(self, topic: str, schema: Schema | None, values: Values) -> Written | None:
        """The records of values of one schema; None when all are tombstones."""

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
        in_headers = self._wire.is_in_headers(headers)
        if not in_headers and topics.constant and first is not None and is_number(first):
            prefix = first[:PREFIX_LENGTH]
            if None not in data and all([item.startswith(prefix) for item in data]):  # type: ignore[union-attr]  # noqa: C419 - a list is faster here
                return self._group(topics[0], self._wire.id_of(first), data)  # type: ignore[arg-type]
        return self._to_connect_mixed(topics, data, headers if in_headers else Constant(None, len(data)))

    def _to_connect_mixed(
        self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]
    ) -> Values:
        """Records of several schemas, or tombstones among them."""
        groups: dict[tuple[str, Named] | None, list[int]] = {}
        known: dict[tuple[str, bytes], tuple[str, Named]] = {}
        for row, (topic, item, raw) in enumerate(zip(topics, data, headers, strict=True)):
            key: tuple[str, Named] | None = None
            if item is not None:
                start = (topic, item[:PREFIX_LENGTH])
                key = None if raw else known.get(start)
                if key is None:
                    named = self._at(topic, lambda item=item, raw=raw: self._wire.id_of(item, raw))  # type: ignore[misc]
                    key = (topic, named)
                    if named.start == PREFIX_LENGTH:
                        known[start] = key
            groups.setdefault(key, []).append(row)
        read: list[tuple[Sequence[int], Values]] = []
        for key, rows in groups.items():
            if key is None:
                read.append((rows, Values.nulls(len(rows))))
            else:
                read.append((rows, self._group(*key, [data[row] for row in rows])))  # type: ignore[misc]
        return read[0][1] if len(read) == 1 else GroupedValues(len(data), read)

    def _group(self, topic: str, named: Named, data: Sequence[bytes]) -> Values:
        return self._at(topic, lambda: self._read(topic, named, data), named.id)

    def _at(self, topic: str, run: Callable[[], T], schema: int | str | None = None) -> T:
        """Run it; an error says which record it is about."""
        try:
            return run()
        except RegistryUnavailable:
            raise
        except DataError as error:
            if not self.says_where:
                raise
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
        """The written values, and the header with the schema's id for each row that gets one."""
        written: list[bytes | None] = [None] * len(values)
        own: dict[int, tuple[str, bytes]] = {}
        for rows, part in values.groups():
            for topic, members in _by_topic(topics, rows).items():
                alike = part if len(members) == len(part) else part.take(members)
                try:
                    made = self._write(topic, alike.schemas[0], alike)
                    if made is None:
                        continue
                    header = self._wire.header_for(made.id, made.between) if self._wire.in_header else None
                    records = made.framed(b"" if header else self._wire.prefix(made.id) + made.between)
                except (RegistryUnavailable, RegistryRefused):
                    raise
                except DataError as error:
                    if not self.says_where:
                        raise
                    text = f"The {self._side} of a record for topic {topic} cannot be written: {error}"
                    raise DataError(text) from error
                for member, record in zip(members, records, strict=True):
                    written[rows[member]] = record
                if header is not None:
                    own |= {rows[at]: header for at, record in zip(members, records, strict=True) if record is not None}
        return written, own

    def _registered(self, topic: str, schema: RegistrySchema, record: str | None) -> tuple[SchemaId, RegistrySchema]:
        """The id for records of this schema, and the schema of that id: another one where the settings say so.

        Raises:
            RegistryNotFound: it is not registered, and the settings require that.
            RegistryRefused: the registry refuses it, such as one that is not compatible.
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


def _by_topic(topics: Column[str], rows: Sequence[int]) -> Mapping[str, Sequence[int]]:
    """The positions in `rows` of each topic's rows."""
    if topics.constant and rows:
        return {topics[0]: range(len(rows))}
    found: dict[str, list[int]] = {}
    names = topics.to_list()
    for member, row in enumerate(rows):
        found.setdefault(names[row], []).append(member)
    return found
