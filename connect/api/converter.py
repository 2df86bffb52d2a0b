"""Converters: between the bytes in Kafka and the values that connectors see.

A simple converter implements `to_connect_data` and `from_connect_data`; a fast one overrides the `_batch` methods,
which process whole columns. Both must give the same result, and both must be pure: a failed batch is run again in
halves to find the record.

In a task's process, one instance for keys and one for values, called from one thread: configure -> conversions* ->
close.

Source: Kafka Connect's Converter and HeaderConverter (KIP-26, KIP-145, KIP-440).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from connect.api.plugin import Plugin
from connect.data.column import Column, Plain
from connect.data.headers import NO_HEADERS, BytesHeaders, Header, Headers
from connect.data.schema import Schema
from connect.data.values import Values


class SchemaAndValue(NamedTuple):
    """A value with its schema; no schema means schemaless."""

    schema: Schema | None
    value: Any


NULL = SchemaAndValue(None, None)

#: A record's headers as they lie in Kafka: pairs of key and bytes; None or empty where it has none.
RawHeaders = Sequence[tuple[str, bytes | None]] | None


class Converter(Plugin):
    """Converts keys or values.

    Attributes:
        never_fails: whether `to_connect_data` accepts any bytes. Then keys are converted only when they are used.
    """

    never_fails: ClassVar[bool] = False

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Receives the keys under `key.converter.` or `value.converter.`, without that prefix.

        Raise `ConfigError` if wrong.
        """

    @abstractmethod
    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """The value of a record's bytes; None is a tombstone. Raises `DataError` for bytes that are invalid."""

    @abstractmethod
    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """The bytes of a value. Raises `DataError` for a value it cannot write."""

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        """The values of a column of bytes, one for each row. Raises when any row is bad."""
        convert = self.to_connect_data
        rows = [convert(topic, item) for topic, item in zip(topics, data, strict=True)]
        return collect(rows)

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        """The bytes of a column of values, one for each row. Raises when any row is bad."""
        convert = self.from_connect_data
        return [
            convert(topic, schema, value) for topic, schema, value in zip(topics, values.schemas, values, strict=True)
        ]

    def to_connect_batch_with_headers(
        self, topics: Column[str], data: Sequence[bytes | None], headers: Column[RawHeaders]
    ) -> Values:
        """As `to_connect_batch`, for a converter that reads headers, such as the id of a schema.

        This is what the runtime calls. By default, `to_connect_data` receives the headers, as bytes, of a converter
        without a `to_connect_batch` of its own.
        """
        without = headers.constant and not (len(headers) and headers[0])
        if without or type(self).to_connect_batch is not Converter.to_connect_batch:
            return self.to_connect_batch(topics, data)
        convert = self.to_connect_data
        rows = [
            convert(topic, item, Headers(Header(*pair) for pair in raw) if raw else None)
            for topic, item, raw in zip(topics, data, headers, strict=True)
        ]
        return collect(rows)

    def from_connect_batch_with_headers(
        self, topics: Column[str], values: Values, headers: Column[RawHeaders]
    ) -> tuple[Sequence[bytes | None], Column[RawHeaders]]:
        """As `from_connect_batch`, for a converter that writes headers; with the current headers of the records.

        This is what the runtime calls, after the header converter and for keys before values. `headers` and its
        elements belong to the caller: a converter that adds one returns a new column.

        Kafka Connect lets `fromConnectData` change the headers. `Headers` are immutable here, so that
        `from_connect_data` cannot: only this method writes headers.
        """
        return self.from_connect_batch(topics, values), headers

    def close(self) -> None:
        """Release resources."""


class HeaderConverter(Plugin):
    """Converts the values of headers.

    Attributes:
        never_fails: whether `to_connect_header` accepts any bytes. Then headers are converted only when they are used.
        hands_bytes_through: whether `from_connect_header` returns bytes unchanged. Then it is not called for headers
            that are unchanged since Kafka (`BytesHeaders`).
    """

    never_fails: ClassVar[bool] = False
    hands_bytes_through: ClassVar[bool] = False

    def configure(self, config: Mapping[str, str]) -> None:
        """Receives the keys under `header.converter.`, without that prefix."""

    @abstractmethod
    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        """The value of a header's bytes."""

    @abstractmethod
    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of a header's value."""

    def to_connect_headers(self, topics: Column[str], headers: Column[RawHeaders]) -> list[Headers]:
        """The headers of each record: what the runtime calls."""
        convert = self.to_connect_header
        decoded = []
        for topic, items in zip(topics, headers, strict=True):
            if not items:
                decoded.append(NO_HEADERS)
                continue
            results = [(key, convert(topic, key, data)) for key, data in items]
            decoded.append(Headers(Header(key, result.value, result.schema) for key, result in results))
        return decoded

    def from_connect_headers(self, topics: Column[str], headers: Column[Headers]) -> list[RawHeaders]:
        """The headers of each record as they lie in Kafka: what the runtime calls."""
        convert = self.from_connect_header
        as_they_are = self.hands_bytes_through
        return [
            (items.pairs if as_they_are and type(items) is BytesHeaders else None)
            or [(h.key, convert(topic, h.key, h.schema, h.value)) for h in items]
            or None
            for topic, items in zip(topics, headers, strict=True)
        ]

    def close(self) -> None:
        """Release resources."""


def collect(rows: Sequence[SchemaAndValue]) -> Values:
    """A column of single results; one schema for all rows where they share it."""
    if not rows:
        return Values([])
    first = rows[0].schema
    if all(row.schema is first for row in rows):
        return Values([row.value for row in rows], first)
    return Values([row.value for row in rows], Plain([row.schema for row in rows]))
