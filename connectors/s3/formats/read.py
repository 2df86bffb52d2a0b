"""Reads objects: which reader a format has, and what is taken off before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from connectors.s3.formats.compression import NONE
from connectors.s3.formats.read_avro import read_avro
from connectors.s3.formats.read_bytes import read_pieces, read_whole
from connectors.s3.formats.read_compressed import AUTO, decompressed
from connectors.s3.formats.read_csv import CsvOptions, read_csv
from connectors.s3.formats.read_json import read_json
from connectors.s3.formats.read_lines import read_jsonl, read_separated, read_text
from connectors.s3.formats.read_parquet import read_parquet
from connectors.s3.formats.reading import Chunks, OnBad, Source

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
        compression: one of `read_compressed.COMPRESSIONS`; with auto bytes without a separator stay as they are.
        envelope: whether each JSON document carries its schema.
        separator: between records of bytes; empty for none.
        piece: bytes are cut into pieces of this size; 0 for none.
        longest: the most bytes that one record may have.
    """

    format: str
    compression: str = AUTO
    envelope: bool = False
    separator: bytes = b""
    piece: int = 0
    longest: int = 16 << 20
    csv: CsvOptions = field(default_factory=CsvOptions)


class Content(Source, Protocol):
    """An object's bytes, in order, or anywhere."""

    def file(self) -> Any:
        """The same as what Python has for a file that can be sought in."""


def read(content: Content, options: ReadOptions, skip: int, on_bad: OnBad) -> Chunks:
    """The records of an object, from the one at a position on.

    Raises:
        DataError: it cannot be read, or not any further. What was given before is good.
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
    return read_pieces(source, options.piece, skip) if options.piece else read_whole(source, longest, skip)
