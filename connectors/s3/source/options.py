"""How objects are read, from the keys."""

from __future__ import annotations

from connect.settings import Config
from connectors.s3.formats.escapes import unescaped
from connectors.s3.formats.read import BYTES, ReadOptions
from connectors.s3.formats.read_csv import CsvOptions
from connectors.s3.source.keys import format_of


def read_options(parsed: Config) -> ReadOptions:
    """Of a parsed configuration."""
    chosen = format_of(parsed)
    # As it was written: blanks and line ends around a value are no part of it elsewhere.
    separator = parsed.raw.get("format.bytearray.separator")
    if separator is None and chosen == BYTES and not parsed["input.format"] and parsed["format.class"]:
        separator = "\n"  # as Confluent's ByteArrayFormat has it
    return ReadOptions(
        chosen,
        compression=parsed["file.compression.type"].lower(),
        envelope=parsed["format.json.schema.enable"],
        separator=unescaped(separator or "").encode(),
        piece=parsed["transformer.max.buffer.size"] or 0,
        longest=parsed["max.record.bytes"],
        csv=CsvOptions(
            header=parsed["csv.first.row.as.header"],
            fields=tuple(parsed["csv.fields"]),
            separator=unescaped(parsed["csv.separator.char"]),
            quote=parsed["csv.quote.char"],
            encoding=parsed["csv.encoding"],
        ),
    )
