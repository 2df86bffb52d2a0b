"""Converters of single numbers and booleans: the bytes of Kafka's own serializers (KIP-305, KIP-907).

Big endian: two's complement for whole numbers, IEEE 754 for the others, one byte 0 or 1 for a boolean.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, ClassVar

from connect.api.converter import Converter, SchemaAndValue
from connect.converters.kind import ValueConverter
from connect.data import schema as schemas
from connect.data.column import Column
from connect.data.headers import Headers
from connect.data.schema import Schema, Type
from connect.data.values import Values
from connect.errors import DataError


class _FixedSize(ValueConverter):
    """Values that all have the same number of bytes. null is null both ways."""

    SCHEMA: ClassVar[Schema]
    FORMAT: ClassVar[str]
    TAKES: ClassVar[tuple[type, ...]]

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(self.SCHEMA, None)
        size = struct.calcsize(self.FORMAT)
        if len(data) != size:
            raise DataError(f"{self.SCHEMA.type.name} takes {size} bytes, and there are {len(data)}.")
        return SchemaAndValue(self.SCHEMA, struct.unpack(f">{self.FORMAT}", data)[0])

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        if value is None:
            return None
        name = self.SCHEMA.type.name
        if not isinstance(value, self.TAKES) or isinstance(value, bool):
            raise DataError(f"{type(self).__name__} writes {name} only, and the value is a {type(value).__name__}.")
        try:
            return struct.pack(f">{self.FORMAT}", value)
        except (struct.error, OverflowError):
            raise DataError(f"{value} does not fit into {name}.") from None

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        present = [item for item in data if item is not None]
        if len(present) == len(data) and set(map(len, present)) == {struct.calcsize(self.FORMAT)}:
            return Values(list(struct.unpack(f">{len(present)}{self.FORMAT}", b"".join(present))), self.SCHEMA)
        return super().to_connect_batch(topics, data)


class ShortConverter(_FixedSize):
    """INT16 in two bytes."""

    SCHEMA, FORMAT, TAKES = schemas.OPTIONAL_INT16, "h", (int,)


class IntegerConverter(_FixedSize):
    """INT32 in four bytes."""

    SCHEMA, FORMAT, TAKES = schemas.OPTIONAL_INT32, "i", (int,)


class LongConverter(_FixedSize):
    """INT64 in eight bytes."""

    SCHEMA, FORMAT, TAKES = schemas.OPTIONAL_INT64, "q", (int,)


class FloatConverter(_FixedSize):
    """FLOAT32 in four bytes."""

    SCHEMA, FORMAT, TAKES = schemas.OPTIONAL_FLOAT32, "f", (float, int)


class DoubleConverter(_FixedSize):
    """FLOAT64 in eight bytes."""

    SCHEMA, FORMAT, TAKES = schemas.OPTIONAL_FLOAT64, "d", (float, int)


class BooleanConverter(_FixedSize):
    """BOOLEAN in one byte, 0 or 1; any other byte is an error."""

    SCHEMA, FORMAT, TAKES = schemas.OPTIONAL_BOOLEAN, "?", (bool,)

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        if data not in (None, b"\x00", b"\x01"):
            raise DataError("BOOLEAN takes one byte, 0 or 1.")
        return SchemaAndValue(self.SCHEMA, None if data is None else data == b"\x01")

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"BooleanConverter writes BOOLEAN only, and the schema says {schema.type.name}.")
        if value is None:
            return None
        if not isinstance(value, bool):
            raise DataError(f"BooleanConverter writes booleans only, and the value is a {type(value).__name__}.")
        return b"\x01" if value else b"\x00"

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        return Converter.to_connect_batch(self, topics, data)
