"""Avro's container files: a header with the schema, then blocks of records, each with its own compression.

Records become values and columns as AvroConverter makes them, `connect.*` properties and all.
https://avro.apache.org/docs/1.12.0/specification/#object-container-files
"""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Final

from connect import DataError, Schema, StructColumns, Values
from connect.converters.avro.options import Options
from connect.converters.avro.reading import make_block_reader
from connect.converters.avro.to_connect import ToConnect
from connect.converters.avro.types import parse
from connectors.s3.formats.read_compressed import Begun, raw_snappy
from connectors.s3.formats.reading import CHUNK_BYTES, Chunks, Source, chunk, exactly

_MAGIC: Final = b"Obj\x01"
_MOST_BLOCK: Final = 1 << 30
_MOST_RECORDS: Final = 100_000


def read_avro(source: Source, longest: int, skip: int) -> Chunks:
    """Each record of the file. Whole blocks before the first record that is wanted are not decoded."""
    begun = Begun(source)
    if exactly(begun, 4, "its Avro header") != _MAGIC:
        raise DataError("it does not begin as a container file of Avro does.")
    header = _header(begun)
    marker = exactly(begun, 16, "its Avro header")
    avro = parse(header.get("avro.schema", b"null").decode())
    if avro.kind == "null":
        raise DataError("its Avro schema is null: there is nothing in it to read.")
    schema = ToConnect(Options()).schema(avro)
    read = make_block_reader(avro, schema, Options())
    unpack = _codec(header.get("avro.codec", b"null").decode())
    by_fields = avro.kind == "record" and bool(avro.fields)
    first = 0
    waiting = _Waiting(schema, by_fields)
    while begun.peek(1):
        count, size = _long(begun), _long(begun)
        if not 0 <= size <= max(longest, _MOST_BLOCK) or count < 0:
            raise DataError(f"record {first}: its Avro has a block of {size} bytes, which no block has.")
        try:
            packed = exactly(begun, size, f"record {first}: its Avro block")
            if exactly(begun, 16, f"record {first}: its Avro block") != marker:
                raise DataError(f"record {first}: its Avro is damaged: a block does not end with the file's marker.")
            block = unpack(packed) if first + count > skip else b""
        except DataError:
            yield from waiting.take()
            raise
        index, done = 0, max(0, skip - first)
        if done and block:
            _, index = read(block, 0, done)
        at_once = max(1, min(_MOST_RECORDS, count * (CHUNK_BYTES // 2) // (len(block) or 1)))
        while done < count:
            taken, start = min(at_once, count - done), index
            try:
                found, index = read(block, index, taken)
            except DataError as error:
                yield from waiting.take()
                raise DataError(f"one of the records {first + done} to {first + done + taken - 1}: {error}") from None
            waiting.add(found, first + done, taken, index - start)
            done += taken
            if waiting.full:
                yield from waiting.take()
        first += count
    yield from waiting.take()


class _Waiting:
    """Records of several blocks, which are small mostly, on their way into one chunk."""

    def __init__(self, schema: Schema, by_fields: bool) -> None:
        self._schema = schema
        self._by_fields = by_fields
        self._columns: list[Any] = []
        self._first = self._count = self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether there are enough for a chunk."""
        return self._bytes >= CHUNK_BYTES // 2 or self._count >= _MOST_RECORDS

    def add(self, columns: list[Any], first: int, count: int, size: int) -> None:
        """Records that follow those that are there: columns, or values where records have no fields."""
        if not self._count:
            self._columns, self._first = columns, first
        elif self._by_fields:
            for column, more in zip(self._columns, columns, strict=True):
                column.extend(more)
        else:
            self._columns.extend(columns)
        self._count += count
        self._bytes += size

    def take(self) -> Chunks:
        """What is there, as a chunk; none for nothing."""
        if self._count:
            columns, self._columns = self._columns, []
            values = StructColumns(self._schema, columns) if self._by_fields else Values(columns, self._schema)
            self._count = self._bytes = 0
            yield chunk(values, self._first)


def _header(source: Begun) -> dict[str, bytes]:
    """The properties of the file."""
    found: dict[str, bytes] = {}
    while count := _long(source):
        if count < 0:
            count = -count
            _long(source)
        for _ in range(count):
            name = _bytes(source).decode("utf-8", "replace")
            found[name] = _bytes(source)
    return found


def _bytes(source: Begun) -> bytes:
    length = _long(source)
    if not 0 <= length <= _MOST_BLOCK:
        raise DataError("its Avro header is damaged.")
    return exactly(source, length, "its Avro header") if length else b""


def _long(source: Begun) -> int:
    """A number in Avro's zigzag."""
    found = shift = 0
    while True:
        byte = exactly(source, 1, "its Avro")[0]
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1)
        shift += 7
        if shift > 63:
            raise DataError("its Avro has a number of more than 64 bits.")


def _codec(name: str) -> Callable[[bytes], bytes]:
    """What unpacks a block."""
    if name == "null":
        return lambda block: block
    if name == "snappy":
        raw = raw_snappy()
        return lambda block: raw(block[:-4])  # a checksum stands behind
    if name == "zstandard":
        return _zstd()
    known: dict[str, Callable[[bytes], bytes]] = {
        "deflate": lambda block: zlib.decompress(block, wbits=-15),
        "bzip2": bz2.decompress,
        "xz": lzma.decompress,
    }
    if name not in known:
        raise DataError(f"its Avro blocks are compressed with {json.dumps(name)}, which is not known here.")

    def unpack(block: bytes) -> bytes:
        try:
            return known[name](block)
        except (zlib.error, OSError, lzma.LZMAError, ValueError) as error:
            raise DataError(f"a block of its Avro is damaged: {error}.") from None

    return unpack


def _zstd() -> Callable[[bytes], bytes]:
    from connectors.s3.formats.read_compressed import ZSTD, Pieces, decompressed

    def unpack(block: bytes) -> bytes:
        content: Any = decompressed(Pieces(iter([block])), ZSTD)
        parts: list[bytes] = []
        while part := content.read(CHUNK_BYTES):
            parts.append(part)
        return b"".join(parts)

    return unpack
