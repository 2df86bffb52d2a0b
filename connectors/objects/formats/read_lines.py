r"""Lines: JSON, text, or bytes between separators; and JSON documents that are not lines.

This module only finds where a JSON value ends; JsonConverter reads it, as Java does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from connect import DataError, Text, Values, schema
from connect.converters import JsonConverter
from connect.data import Constant
from connectors.objects.formats.reading import CHUNK_BYTES, Chunk, Chunks, OnBad, Source, chunk

_SPACE: Final = b" \t\r\n"
_STRING: Final = rb'"(?>(?:[^"\\]++|\\.)*)"'
#: An object without a nested one, a string, or a single character.
_MARKS: Final = re.compile(rb'\{(?>(?:[^{}\[\]"]++|' + _STRING + rb")*)\}|" + _STRING + rb'|"|[{}\[\],]', re.DOTALL)


def split(source: Source, separator: bytes, longest: int, skip: int = 0) -> Iterator[list[bytes]]:
    """What is between separators, some at a time; what follows the last separator only if it is not empty.

    Args:
        source: the object's content.
        separator: at least one byte.
        longest: the maximum number of bytes between separators.
        skip: how many to skip at the beginning.

    Raises:
        DataError: one is too long.
    """
    begun: list[bytes] = []  # of a line without an end so far
    length = 0
    number = 0
    wide = len(separator) > 1
    while block := source.read(CHUNK_BYTES):
        if wide and begun and length:  # the separator itself may be cut in two
            block = b"".join([*begun, block])
            begun, length = [], 0
        parts = block.split(separator)
        if len(parts) == 1:
            begun.append(block)
            length += len(block)
        else:
            if begun:
                parts[0] = b"".join([*begun, parts[0]])
            last = parts.pop()
            begun, length = [last], len(last)
            if number + len(parts) > skip:
                yield parts[max(0, skip - number) :]
            number += len(parts)
        if length > longest:
            raise DataError(f"record {number} has more than {longest} bytes. Raise max.record.bytes.")
    if length and number >= skip:
        yield [b"".join(begun)]


def read_text(source: Source, longest: int, skip: int) -> Chunks:
    """Each line as a string, without its end; in UTF-8, which is decoded only when needed."""
    for lines in split(source, b"\n", longest, skip):
        encoded: list[bytes | None] = [line.removesuffix(b"\r") for line in lines]
        yield chunk(Text(encoded, schema.STRING), skip)
        skip += len(lines)


def read_separated(source: Source, separator: bytes, longest: int, skip: int) -> Chunks:
    """What is between separators, as bytes."""
    for parts in split(source, separator, longest, skip):
        yield chunk(Values(parts, schema.BYTES), skip)
        skip += len(parts)


def json_values(envelope: bool) -> Callable[[list[bytes]], Values]:
    """A function from JSON documents to values; with an envelope each carries its schema. It raises `DataError`."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": str(envelope).lower()}, is_key=False)
    return lambda documents: converter.to_connect_batch(Constant("", len(documents)), documents)


def read_jsonl(source: Source, *, envelope: bool, longest: int, skip: int, on_bad: OnBad) -> Chunks:
    """Each line as the value of its JSON. Blank lines are skipped."""
    values = json_values(envelope)
    for lines in split(source, b"\n", longest, skip):
        yield from converted(lines, skip, values, on_bad)
        skip += len(lines)


def converted(documents: list[bytes], first: int, values: Callable[[list[bytes]], Values], on_bad: OnBad) -> Chunks:
    """The values of documents. Bad ones are found exactly, and what precedes them is returned first."""
    ends: range | list[int] = range(first + 1, first + 1 + len(documents))
    if not all(map(bytes.strip, documents)):
        kept = [(document, end) for document, end in zip(documents, ends, strict=True) if document.strip()]
        documents, ends = [document for document, _ in kept], [end for _, end in kept]
    waiting: list[tuple[list[bytes], range | list[int]]] = [(documents, ends)] if documents else []
    while waiting:
        part, indexes = waiting.pop()
        try:
            made = values(part)
        except DataError as error:
            if len(part) > 1:
                half = len(part) // 2
                waiting += [(part[half:], indexes[half:]), (part[:half], indexes[:half])]
            else:
                on_bad(indexes[0] - 1, str(error))
        else:
            yield Chunk(made, indexes)


def read_json(source: Source, *, envelope: bool, longest: int, skip: int, on_bad: OnBad) -> Chunks:
    """Each element of the array, or each value of the sequence, as the value of its JSON."""
    values = json_values(envelope)
    first = 0
    for documents in _documents(source, longest):
        kept = documents[max(0, skip - first) :]
        if kept:
            yield from converted(kept, first + len(documents) - len(kept), values, on_bad)
        first += len(documents)


def _documents(source: Source, longest: int) -> Iterator[list[bytes]]:
    """The texts of values, some at a time."""
    data = b""
    while not data.lstrip(_SPACE):
        data = source.read(CHUNK_BYTES)
        if not data:
            return
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
    array = data.startswith(b"[")
    if array:
        data = data[1:]
    number = 0
    ended = False
    while True:
        found, rest, ended = _elements(data) if array else _sequence(data)
        if found:
            yield found
            number += len(found)
        more = source.read(CHUNK_BYTES)
        if array and ended:
            while more:
                rest, more = rest + more.strip(_SPACE), source.read(CHUNK_BYTES)
                if rest:
                    break
            if rest:
                raise DataError(f"record {number}: something follows the end of the array.")
            return
        if not more:
            break
        if len(rest) > longest:
            raise DataError(f"record {number} has more than {longest} bytes. Raise max.record.bytes.")
        data = rest + more
    if array:
        raise DataError(f"record {number}: its JSON is cut off: the array has no end.")
    if rest.strip(_SPACE):
        if rest.lstrip(_SPACE)[:1] in b'{["':
            raise DataError(f"record {number}: its JSON is cut off.")
        yield rest.split()


def _elements(data: bytes) -> tuple[list[bytes], bytes, bool]:
    """Whole elements of an array, what is left after them, and whether the array ended."""
    found: list[bytes] = []
    depth = start = 0
    for match in _MARKS.finditer(data):
        mark = match.group()
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth < 0:
                last = data[start : match.start()].strip(_SPACE)
                return found + ([last] if last else []), data[match.end() :].strip(_SPACE), True
        elif mark == b"," and not depth:
            found.append(data[start : match.start()].strip(_SPACE))
            start = match.end()
        elif mark == b'"':  # a string whose end is still to come
            break
    return found, data[start:], False


def _sequence(data: bytes) -> tuple[list[bytes], bytes, bool]:
    """Whole values, one after another, and what is left after them."""
    found: list[bytes] = []
    depth = start = 0
    for match in _MARKS.finditer(data):
        mark = match.group()
        if not depth:
            # Numbers and literals between values; one at the end may continue.
            found += data[start : match.start()].split()
            start = match.start()
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
        elif mark == b'"':
            break
        elif mark == b"," and depth:
            continue
        if depth <= 0:
            found.append(data[start : match.end()])
            start, depth = match.end(), 0
    return found, data[start:], False
