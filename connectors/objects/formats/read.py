"""Reads objects: chooses the reader of a format, and removes compression before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from connect import DataError, Values, schema
from connectors.objects.formats.compression import NONE
from connectors.objects.formats.read_avro import read_avro
from connectors.objects.formats.read_compressed import AUTO, decompressed
from connectors.objects.formats.read_csv import CsvOptions, read_csv
from connectors.objects.formats.read_lines import read_json, read_jsonl, read_separated, read_text
from connectors.objects.formats.read_parquet import read_parquet
from connectors.objects.formats.reading import CHUNK_BYTES, Chunks, OnBad, Source, chunk

JSON: Final = "json"
JSONL: Final = "jsonl"
CSV: Final = "csv"
TEXT: Final = "text"
AVRO: Final = "avro"
PARQUET: Final = "parquet"
BYTES: Final = "bytes"
FORMATS: Final = (BYTES, JSONL, JSON, CSV, TEXT, AVRO, PARQUET)


@dataclass(frozen=True)
class ReadOptions:
    """How objects are read.

    Attributes:
        format: one of `FORMATS`.
        compression: one of `read_compressed.COMPRESSIONS`; with auto, bytes without a separator stay as they are.
        envelope: whether each JSON document carries its schema.
        separator: between records of bytes; empty for none.
        piece: the size of the pieces that bytes are cut into; 0 for no pieces.
        longest: the maximum number of bytes of a record.
    """

    format: str
    compression: str = AUTO
    envelope: bool = False
    separator: bytes = b""
    piece: int = 0
    longest: int = 16 << 20
    csv: CsvOptions = field(default_factory=CsvOptions)


class Content(Source, Protocol):
    """An object's bytes, in order or at random."""

    def file(self) -> Any:
        """The same as a seekable file."""


def read(content: Content, options: ReadOptions, skip: int, on_bad: OnBad) -> Chunks:
    """The records of an object, starting at a position.

    Raises:
        DataError: it cannot be read, or not any further. What was returned before is good.
    """
    if options.format == PARQUET:
        return read_parquet(content.file(), skip)
    unpacked = options.format == BYTES and not options.separator and options.compression == AUTO
    source = decompressed(content, NONE if unpacked else options.compression)
    longest = options.longest
    match options.format:
        case "jsonl":
            return read_jsonl(source, envelope=options.envelope, longest=longest, skip=skip, on_bad=on_bad)
        case "json":
            return read_json(source, envelope=options.envelope, longest=longest, skip=skip, on_bad=on_bad)
        case "csv":
            return read_csv(source, options.csv, longest=longest, skip=skip, on_bad=on_bad)
        case "text":
            return read_text(source, longest, skip)
        case "avro":
            return read_avro(source, longest, skip)
    if options.separator:
        return read_separated(source, options.separator, longest, skip)
    return _read_pieces(source, options.piece, skip) if options.piece else _read_whole(source, longest, skip)


def _read_whole(source: Source, longest: int, skip: int) -> Chunks:
    """The whole object as one record, even if it is empty."""
    parts: list[bytes] = []
    length = 0
    while not skip and (block := source.read(CHUNK_BYTES)):
        parts.append(block)
        length += len(block)
        if length > longest:
            raise DataError(
                f"it is one record of more than {longest} bytes. Raise max.record.bytes, or cut it into "
                "pieces with transformer.max.buffer.size."
            )
    if not skip:
        yield chunk(Values([b"".join(parts)], schema.BYTES), 0)


def _read_pieces(source: Source, size: int, skip: int) -> Chunks:
    """Pieces of one size; the last one may be shorter."""
    number = 0
    at_once = max(1, CHUNK_BYTES // size)
    pieces: list[bytes] = []
    while True:
        piece = source.read(size)
        while 0 < len(piece) < size and (more := source.read(size - len(piece))):
            piece += more
        if piece and number >= skip:
            pieces.append(piece)
        number += bool(piece)
        if pieces and (not piece or len(pieces) == at_once):
            yield chunk(Values(pieces, schema.BYTES), number - len(pieces))
            pieces = []
        if not piece:
            return
