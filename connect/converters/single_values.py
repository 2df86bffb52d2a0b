"""Converters of single values: bytes as they are, numbers and booleans, and text.

Numbers and booleans are the bytes of Kafka's own serializers (KIP-305, KIP-907). Big endian: two's complement for whole
numbers, IEEE 754 for the others, one byte 0 or 1 for a boolean.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from connect import settings
from connect.api.converter import Converter, SchemaAndValue
from connect.converters.kind import ConverterOptions, ValueConverter
from connect.data import schema as schemas
from connect.data.column import Column
from connect.data.headers import Headers
from connect.data.schema import OPTIONAL_BYTES, OPTIONAL_STRING, Schema, Type
from connect.data.text import java_text, utf8_text
from connect.data.values import Text, Values
from connect.errors import DataError


class ByteArrayConverter(ValueConverter):
    """Passes bytes on in both directions. null is null."""

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


# Names of Java's that Python does not know.
_JAVA_ALONE = {"windows-31j": "cp932", "x-windows-949": "cp949", "x-windows-874": "cp874", "x-macroman": "mac-roman"}

_Codec = tuple[Callable[[str], bytes], Callable[[bytes], str]]


def _utf8_bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _codec(name: str) -> _Codec:
    """The codec for a Java charset name. Raises ValueError for an unknown one."""
    try:
        known = codecs.lookup(_JAVA_ALONE.get(name.lower(), name)).name
        "".encode(known)
    except (LookupError, ValueError):  # ValueError: what is not a name at all
        raise ValueError(f'"{name}" is not a character set. Write one such as UTF-8, ISO-8859-1 or UTF-16.') from None
    if known == "utf-8":
        return _utf8_bytes, utf8_text
    if known in ("utf-16", "utf-32"):
        return _with_byte_order(known)
    replacement = "\N{REPLACEMENT CHARACTER}" if known.startswith("utf-") else "?"
    return (
        lambda text: _without_surrogates(text, replacement).encode(known, "replace"),
        lambda data: data.decode(known, "replace"),
    )


def _with_byte_order(known: str) -> _Codec:
    """UTF-16 and UTF-32 without a stated order are big endian in Java; only UTF-16 is written with its mark."""
    big = f"{known}-be"
    mark = codecs.BOM_UTF16_BE if known == "utf-16" else b""
    marks = {
        "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
        "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
    }[known]

    def encode(text: str) -> bytes:
        return (mark if text else b"") + _without_surrogates(text, "\N{REPLACEMENT CHARACTER}").encode(big)

    def decode(data: bytes) -> str:
        return data.decode(known if data.startswith(marks) else big, "replace")

    return encode, decode


def _without_surrogates(text: str, replacement: str) -> str:
    """Removes halves of surrogate pairs, which have no encoding."""
    if text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text):
        return text
    return "".join(replacement if "\ud800" <= c <= "\udfff" else c for c in text)


class StringOptions(ConverterOptions):
    """The settings of `StringConverter`."""

    codec = settings.String(
        "converter.encoding",
        default="UTF-8",
        doc="The character set of the text, such as UTF-8, ISO-8859-1 or UTF-16.",
        importance=settings.Importance.HIGH,
        convert=_codec,
    )


class StringConverter(ValueConverter):
    """Converts between text and its bytes. null is null both ways; malformed bytes become U+FFFD, as in Java.

    Other values are written as by Java's `String.valueOf`: see `connect.data.text`.
    """

    never_fails = True
    settings = StringOptions.definition()

    def __init__(self) -> None:
        self._utf8 = True
        self._encode: Callable[[str], bytes] = _utf8_bytes
        self._decode: Callable[[bytes], str] = utf8_text

    def configure(self, config: Mapping[str, str], *, is_key: bool | None = None) -> None:
        self._encode, self._decode = StringOptions.of(config, is_key).codec
        self._utf8 = self._encode is _utf8_bytes

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        return SchemaAndValue(OPTIONAL_STRING, None if data is None else self._decode(data))

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        return None if value is None else self._encode(java_text(schema, value))

    def to_connect_batch(self, topics: Column[str], data: Sequence[bytes | None]) -> Values:
        if self._utf8:
            return Text(data if isinstance(data, list) else list(data))
        decode = self._decode
        return Values([None if item is None else decode(item) for item in data], OPTIONAL_STRING)

    def from_connect_batch(self, topics: Column[str], values: Values) -> Sequence[bytes | None]:
        if self._utf8 and isinstance(values, Text):
            return values.encoded()
        encode = self._encode
        return [
            None if value is None else encode(value if type(value) is str else java_text(schema, value))
            for schema, value in zip(values.schemas, values, strict=True)
        ]
