"""CSV: each row as a struct of strings, named by the first row or by a key (RFC 4180, or with other separators)."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from connect import DataError, Schema, StructColumns, schema
from connectors.objects.formats.reading import CHUNK_BYTES, Chunk, Chunks, OnBad, Source

_MOST_ROWS = 10_000


@dataclass(frozen=True)
class CsvOptions:
    """How the CSV is written.

    Attributes:
        header: whether the first row names the fields.
        fields: their names, which replace those of the first row; empty for column1, column2, ...
        separator, quote: one character each.
    """

    header: bool = True
    fields: Sequence[str] = ()
    separator: str = ","
    quote: str = '"'
    encoding: str = "UTF-8"


def read_csv(source: Source, options: CsvOptions, *, longest: int, skip: int, on_bad: OnBad) -> Chunks:
    """Each row as a struct of strings. Blank rows are skipped; rows of another width are bad."""
    csv.field_size_limit(longest)
    # A byte order mark is no part of the first field: a quote behind it would not be at the field's beginning.
    encoding = "utf-8-sig" if codecs.lookup(options.encoding).name == "utf-8" else options.encoding
    text = _Counted(io.TextIOWrapper(io.BufferedReader(_Raw(source)), encoding, newline=""))
    rows: Any = csv.reader(text, delimiter=options.separator, quotechar=options.quote, strict=True)
    names: list[str] = list(options.fields)
    number = 0
    struct: Schema | None = None
    kept: list[list[str]] = []
    ends: list[int] = []
    try:
        if options.header:
            named: list[str] = next(rows, [])
            names = names or [name.removeprefix("\ufeff").strip() for name in named]
        for row in rows:
            number += 1
            if number <= skip or not row:
                continue
            if struct is None:
                struct = _schema(names or [f"column{index}" for index in range(1, len(row) + 1)])
            if len(row) != len(struct.fields):
                if kept:
                    yield _chunk(struct, kept, ends)
                    kept, ends = [], []
                on_bad(number - 1, f"the row has {len(row)} fields instead of {len(struct.fields)}.")
                continue
            kept.append(row)
            ends.append(number)
            if text.taken >= CHUNK_BYTES or len(kept) >= _MOST_ROWS:
                text.taken = 0
                yield _chunk(struct, kept, ends)
                kept, ends = [], []
    except (csv.Error, UnicodeDecodeError) as error:
        if struct is not None and kept:
            yield _chunk(struct, kept, ends)
        raise DataError(f"record {number}: not CSV in {options.encoding}: {error}.") from None
    if struct is not None and kept:
        yield _chunk(struct, kept, ends)


def _schema(names: Sequence[str]) -> Schema:
    if len(set(names)) < len(names) or not all(names):
        raise DataError(f"its first row does not name each field once: {', '.join(names)}. Name them with csv.fields.")
    return Schema.struct(dict.fromkeys(names, schema.OPTIONAL_STRING))


def _chunk(struct: Schema, rows: list[list[str]], ends: list[int]) -> Chunk:
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    return Chunk(StructColumns(struct, columns), ends)


class _Counted:
    """Lines, and a count of the characters taken."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.taken += len(line)
            yield line


class _Raw(io.RawIOBase):
    """A `Source` in the form that Python's text layer takes."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._source.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
