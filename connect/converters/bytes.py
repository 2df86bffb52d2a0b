"""ByteArrayConverter: bytes as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from connect.api.converter import SchemaAndValue
from connect.converters.kind import ValueConverter
from connect.data.column import Column
from connect.data.headers import Headers
from connect.data.schema import OPTIONAL_BYTES, Schema, Type
from connect.data.values import Values
from connect.errors import DataError


class ByteArrayConverter(ValueConverter):
    """Hands bytes through in both directions. null is null."""

    never_fails = True
    hands_bytes_through = True

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        return SchemaAndValue(OPTIONAL_BYTES, data)

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"ByteArrayConverter writes BYTES only, and the schema says {schema.type.name}.")
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, bytearray | memoryview):
            return bytes(value)
        raise DataError(f"ByteArrayConverter writes bytes only, and the value is of type {type(value).__name__}.")

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        return Values.raw(data)

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        if values.schemas.constant and (not len(values) or _plain(values.schemas[0])):
            items = values.to_list()
            if set(map(type, items)) <= {bytes, type(None)}:
                return items
        return super().from_connect_batch(topics, values)


def _plain(schema: Schema | None) -> bool:
    return schema is None or schema.type is Type.BYTES
