"""How a record names its schema: in its first five bytes, or in a header.

    0 | id of the schema, 4 bytes, big endian | the value               which every consumer reads
    header __value_schema_id: 1 | GUID, 16 bytes        and the value alone (Confluent Platform 8)

https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
"""

from __future__ import annotations

import struct
import uuid
from typing import Final, NamedTuple

from connect.api.converter import RawHeaders
from connect.converters.registry.client import SchemaId
from connect.data.column import Column
from connect.errors import ConfigError, DataError

_PACKAGE: Final = "io.confluent.kafka.serializers.schema.id."
PREFIX_WRITER: Final = _PACKAGE + "PrefixSchemaIdSerializer"
HEADER_WRITER: Final = _PACKAGE + "HeaderSchemaIdSerializer"
PREFIX_READER: Final = _PACKAGE + "PrefixSchemaIdDeserializer"
DUAL_READER: Final = _PACKAGE + "DualSchemaIdDeserializer"

KEY_HEADER: Final = "__key_schema_id"
VALUE_HEADER: Final = "__value_schema_id"

PREFIX_LENGTH: Final = 5
_PREFIX: Final = struct.Struct(">bI")
_BY_NUMBER: Final = 0
_BY_GUID: Final = 1


class Named(NamedTuple):
    """The schema that a record names, and the position of its value.

    Attributes:
        id: a number, or a GUID as text.
        start: where in the data the value begins (in Protobuf without a header, the indexes of its message).
        rest: the header's bytes after the id (in Protobuf, the indexes of the message); None without a header.
    """

    id: int | str
    start: int
    rest: bytes | None = None


class Wire:
    """Where the id is written and read.

    Args:
        writer: PrefixSchemaIdSerializer or HeaderSchemaIdSerializer, with their package or without.
        reader: DualSchemaIdDeserializer (the header if there is one, else the first bytes) or
            PrefixSchemaIdDeserializer (the first bytes only).
        is_key: keys and values have headers of their own.

    Attributes:
        in_header: whether the id is written into a header.
        header: its name.
    """

    def __init__(self, writer: str = PREFIX_WRITER, reader: str = DUAL_READER, *, is_key: bool) -> None:
        self._side = side = "key" if is_key else "value"
        writer = _known(f"{side}.schema.id.serializer", writer, (PREFIX_WRITER, HEADER_WRITER))
        reader = _known(f"{side}.schema.id.deserializer", reader, (DUAL_READER, PREFIX_READER))
        self.in_header = writer == HEADER_WRITER
        self._looks_at_headers = reader == DUAL_READER
        self.header = KEY_HEADER if is_key else VALUE_HEADER

    def id_of(self, data: bytes, headers: RawHeaders = None) -> Named:
        """The schema that a record names.

        Raises:
            DataError: it names none.
        """
        if headers and self._looks_at_headers:
            for name, content in headers:
                if name == self.header:
                    found, length = _id_at(content or b"", f"the header {name}")
                    return Named(found, 0, (content or b"")[length:])
        return Named(*_id_at(data, "it"))

    def is_in_headers(self, headers: Column[RawHeaders]) -> bool:
        """Whether any of these records names its schema in a header."""
        if not self._looks_at_headers or (headers.constant and not headers[0]):
            return False
        own = self.header
        return any([name == own for raw in headers if raw for name, _ in raw])  # noqa: C419 - a list is faster here

    def prefix(self, schema: SchemaId) -> bytes:
        """The bytes before a value."""
        return b"" if self.in_header else _PREFIX.pack(_BY_NUMBER, schema.number)

    def header_for(self, schema: SchemaId, rest: bytes = b"") -> tuple[str, bytes]:
        """The header of a record whose id is written there; `rest` as in `Named`.

        Raises:
            ConfigError: the registry gave the schema no GUID.
        """
        if schema.guid is None:
            raise ConfigError(
                f"{self._side}.schema.id.serializer",
                "the schema registry knows no GUIDs, which is what headers hold. Use PrefixSchemaIdSerializer.",
            )
        return self.header, bytes([_BY_GUID]) + uuid.UUID(schema.guid).bytes + rest


def is_number(data: bytes) -> bool:
    """Whether the first bytes hold the number of a schema: records that share them share the schema."""
    return len(data) >= PREFIX_LENGTH and data[0] == _BY_NUMBER


def _id_at(data: bytes, where: str) -> tuple[int | str, int]:
    magic = data[0] if data else None
    if magic == _BY_NUMBER and len(data) >= PREFIX_LENGTH:
        return int.from_bytes(data[1:5], "big"), 5
    if magic == _BY_GUID and len(data) >= 17:
        return str(uuid.UUID(bytes=data[1:17])), 17
    if magic in (_BY_NUMBER, _BY_GUID):
        raise DataError(f"{where} ends within the id of its schema, after {len(data)} bytes.")
    begins = f"begins with the byte {magic}" if data else "is empty"
    raise DataError(
        f"{where} {begins} where the magic byte 0 of a schema registry's format is expected. Was it written by another "
        "converter or serializer?"
    )


def _known(key: str, name: str, known: tuple[str, str]) -> str:
    full = name if "." in name else _PACKAGE + name
    if full not in known:
        raise ConfigError(key, f"{name} is not known here; there are {' and '.join(known)}.")
    return full
