"""Decompress keys or values that were compressed by gzip, as Confluent's GzipDecompress does.

https://docs.confluent.io/platform/current/connect/transforms/gzipdecompress.html
"""

from __future__ import annotations

import zlib
from typing import Any

from connect import DataError, Schema, SchemaAndValue, Type, Values, settings
from connect.settings import Config
from transforms.part import PartTransformation

#: Makes zlib read gzip's header and trailer.
_GZIP = 16 + zlib.MAX_WBITS


class GzipDecompress(PartTransformation):
    """Decompresses bytes in gzip format, of one or several members. Null stays null."""

    settings = settings.define(
        settings.Int(
            "max.bytes",
            default=64 << 20,
            importance="LOW",
            validator=settings.at_least(1),
            doc="The largest size of a decompressed key or value, in bytes. Larger ones are refused. Confluent's "
            "transformation does not have this key.",
        )
    )

    def configure(self, config: Config) -> None:
        self._most: int = config["max.bytes"]

    def convert(self, schema: Schema | None, value: Any) -> SchemaAndValue:
        return SchemaAndValue(schema, self._unpacked(schema, value))

    def convert_column(self, schema: Schema | None, items: list[Any]) -> Values:
        return Values([self._unpacked(schema, item) for item in items], schema)

    def _unpacked(self, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Only bytes can be decompressed, but the {self.part[:-1]} is {schema.type.name}.")
        if value is None:
            return None
        if not isinstance(value, bytes | bytearray | memoryview):
            raise DataError(f"Only bytes can be decompressed, but the {self.part[:-1]} is {type(value).__name__}.")
        found, rest = bytearray(), bytes(value)
        try:
            while True:
                unpacker = zlib.decompressobj(_GZIP)
                found += unpacker.decompress(rest, self._most - len(found) + 1)
                if len(found) > self._most:
                    raise DataError(
                        f"The {self.part[:-1]} decompresses to more than {self._most} bytes. Raise max.bytes if needed."
                    )
                if not unpacker.eof:
                    raise DataError(f"The {self.part[:-1]} is incomplete: its gzip data ends too early.")
                rest = unpacker.unused_data
                if not rest.startswith(b"\x1f\x8b"):  # as in Java, other trailing bytes are ignored
                    return bytes(found)
        except zlib.error as error:
            raise DataError(f"The {self.part[:-1]} is not gzip data: {error}.") from None


class GzipDecompressKey(GzipDecompress):
    """GzipDecompress$Key."""

    part = "keys"


class GzipDecompressValue(GzipDecompress):
    """GzipDecompress$Value."""
