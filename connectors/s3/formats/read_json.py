"""JSON documents that are no lines: an array of records, or values one after another, however they are laid out.

Only where a value ends is looked for here, by its braces, brackets and strings; JsonConverter reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from connect import DataError
from connectors.s3.formats.read_lines import converted, json_values
from connectors.s3.formats.reading import CHUNK_BYTES, Chunks, OnBad, Source

_SPACE: Final = b" \t\r\n"
_STRING: Final = rb'"(?>(?:[^"\\]++|\\.)*)"'
#: An object without another one in it, a string, or a single sign.
_MARKS: Final = re.compile(rb'\{(?>(?:[^{}\[\]"]++|' + _STRING + rb")*)\}|" + _STRING + rb'|"|[{}\[\],]', re.DOTALL)


def read_json(source: Source, *, envelope: bool, longest: int, skip: int, on_bad: OnBad) -> Chunks:
    """Each element of the array, or each value of the sequence, as the value that its JSON says."""
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
                raise DataError(f"record {number}: something follows the array that the object is.")
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
    """Whole elements of an array, what is left behind them, and whether the array ended."""
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
    """Whole values that stand one after another, and what is left behind them."""
    found: list[bytes] = []
    depth = start = 0
    for match in _MARKS.finditer(data):
        mark = match.group()
        if not depth:
            # Numbers and words between values; one that touches the end may go on.
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
