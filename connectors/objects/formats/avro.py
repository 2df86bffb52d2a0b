"""Avro container files: the schema once, then records in blocks. https://avro.apache.org/docs/1.12.0/specification/"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from connect import ConnectError, DataError, Schema, SinkBatch, Values
from connect.converters.avro import anything
from connect.converters.avro.from_connect import FromConnect
from connect.converters.avro.keys import AvroOptions
from connect.converters.avro.text import schema_text
from connect.converters.avro.types import parse
from connect.converters.avro.writing import MadeWriter
from connect.converters.lru_cache import LruCache
from connectors.objects.formats.format import Encoded, Format, Payload, Sink, Writer
from connectors.objects.formats.lines import Lines

#: Avro's names of codecs for ours.
CODECS: Final = {
    "null": "null",
    "none": "null",
    "deflate": "deflate",
    "gzip": "deflate",
    "snappy": "snappy",
    "bzip2": "bzip2",
    "zstd": "zstandard",
    "zstandard": "zstandard",
}
_BLOCK: Final = 64_000
_MOST_SCHEMAS: Final = 1000


class Avro(Format):
    """Each record in Avro's binary form, with the schema that AvroConverter would register.

    Args:
        codec: one of CODECS.
        options: of the mapping between Connect's schemas and Avro's.
    """

    extension = ".avro"
    content_type = "application/avro"
    by_schema = True

    def __init__(self, codec: str = "null", options: AvroOptions | None = None) -> None:
        self._codec = CODECS[codec]
        self._options = options or AvroOptions.parse({"enhanced.avro.schema.support": "true"})
        self._made: LruCache[Schema | None, tuple[str, MadeWriter | None, bytes | None]] = LruCache(_MOST_SCHEMAS)

    def encode(self, batch: SinkBatch, values: Values) -> Encoded:
        records: list[bytes] = [b""] * len(values)
        for rows, part in values.groups():
            for row, record in zip(rows, self._records(part), strict=True):
                records[row] = record
        return Lines(records, values.schemas)

    def writer(self, schema: Any, sink: Sink) -> Writer:
        return _Container(sink, self._of(schema)[0], self._codec)

    def _records(self, values: Values) -> Sequence[bytes]:
        schema = values.schemas[0]
        _, writer, null = self._of(schema)
        columns = values.struct_columns
        if writer is None:
            return [anything.write(item) for item in values]
        if columns is not None and writer.fields:
            return writer.columns([columns.field(name).items for name in writer.fields], b"")
        items = values.to_list()
        if None not in items:
            return writer.values(items, b"")
        if null is None:
            raise DataError("a value is null although the schema requires one.")
        present = iter(writer.values([item for item in items if item is not None], b""))
        return [null if item is None else next(present) for item in items]

    def _of(self, schema: Schema | None) -> tuple[str, MadeWriter | None, bytes | None]:
        """A schema's Avro text, the writer of its values, and the encoding of null."""
        found = self._made.get(schema)
        if found is None:
            if schema is None:
                found = anything.TEXT, None, None
            else:
                node = FromConnect(self._options).schema(schema)
                text = schema_text(node)
                null = bytes([2 * node.index("null")]) if isinstance(node, list) and "null" in node else None
                found = text, MadeWriter(parse(text), schema, self._options), null
            self._made[schema] = found
        return found


class _Container(Writer):
    """fastavro compresses and writes the blocks; AvroConverter, which takes columns, encodes the records."""

    def __init__(self, sink: Sink, schema: str, codec: str) -> None:
        try:
            import fastavro.write
        except ImportError:
            raise ConnectError(
                "Avro files cannot be written: the package fastavro is missing. Install connect-runtime[s3]."
            ) from None
        # The same schema and content make the same file: the sync marker is derived from the schema; Java's is random.
        mark = hashlib.md5(schema.encode(), usedforsecurity=False).digest()
        self._file: Any = fastavro.write.Writer(
            cast("Any", _File(sink)), _as_parsed(json.loads(schema)), codec=codec, sync_marker=mark
        )
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, payload: Payload) -> None:
        for record in payload.content:
            self._waiting.append(record)
            self._size += len(record)
            if self._size >= _BLOCK:
                self._block()

    def finish(self) -> None:
        if self._waiting:
            self._block()

    @property
    def held(self) -> int:
        return self._size

    def release(self, *, hard: bool) -> None:
        if hard and self._waiting:
            self._block()

    def _block(self) -> None:
        self._file.write_block(_Block(len(self._waiting), io.BytesIO(b"".join(self._waiting))))
        self._waiting, self._size = [], 0


class _Block(NamedTuple):
    """A block in the form that fastavro takes."""

    num_records: int
    bytes_: io.BytesIO


class _File:
    """A file's sink in the form that fastavro takes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, data: bytes | bytearray) -> None:
        """Copy the bytes, which fastavro changes afterwards."""
        self._sink(bytes(data))

    def seekable(self) -> bool:
        return False


def _as_parsed(node: Any) -> Any:
    """A schema marked as parsed: fastavro would refuse schemas that Avro accepts, such as some defaults."""
    if isinstance(node, list):
        return [_as_parsed(each) for each in node]
    return {**node, "__fastavro_parsed": True, "__named_schemas": {}} if isinstance(node, dict) else node
