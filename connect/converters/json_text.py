"""JSON as Kafka Connect's Java reads it: exact numbers, and its leniency, for what the fast decoder does not take.

Wider than RFC 8259: leading zeros, halves of surrogate pairs in values, UTF-16 and UTF-32, a byte order mark, no bytes
at all, anything after the first value. Narrower than Python's `json`: no NaN, no Infinity.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final

from connect.errors import DataError

#: What no bytes at all are read as: neither a value nor null.
MISSING: Final = object()

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"(-?[0-9]+)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORD: Final = re.compile(r"\w+")
_WORDS: Final = {"true": True, "false": False, "null": None}
_LONGEST_NUMBER: Final = 1000
_HUGE_EXPONENT: Final = re.compile(rb"0[eE][-+]?[0-9]{10}")
_LONGEST_EXPONENT: Final = 9
_INT32: Final = 1 << 31
_DEEPEST: Final = 1000


def read(data: bytes) -> Any:
    """The first JSON value in these bytes: dict, list, str, int, Decimal, bool, None or `MISSING`.

    Raises:
        DataError: it is not JSON; the message says where.
    """
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise DataError(f"This is no JSON: byte {error.start} is not {error.encoding}.") from None
    start = _skip(text, 0)
    if start == len(text):
        return MISSING
    try:
        value, end = _value(text, start, 1)
    except RecursionError:
        raise DataError("This JSON is nested too deeply.") from None
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and text[end : end + 1].strip(" \t\n\r"):
        raise _wrong(text, end, "a space after the number")
    return value


def read_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at this character, and where it ends. Raises as `read` does."""
    return _value(text, at, 1)


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first == '"':
        return _string(text, at)
    if first in ("{", "["):
        if depth > _DEEPEST:
            raise DataError(f"This JSON is nested more than {_DEEPEST} levels deep.")
        return (_object if first == "{" else _array)(text, _skip(text, at + 1), depth)
    number = _NUMBER.match(text, at)
    if number is not None:
        return _number(text, number), number.end()
    word = _WORD.match(text, at)
    if word is None or word[0] not in _WORDS:
        raise _wrong(text, at, "a value")
    return _WORDS[word[0]], word.end()


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise _wrong(text, at, "a name in double quotes")
        start = at
        name, at = _string(text, at)
        if not name.isascii() and _SURROGATE.search(name):
            raise _wrong(text, start, "a name without halves of surrogate pairs")
        at = _skip(text, at)
        if text[at : at + 1] != ":":
            raise _wrong(text, at, "a colon")
        found[name], at = _value(text, _skip(text, at + 1), depth + 1)
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return found, at + 1
        if text[at : at + 1] != ",":
            raise _wrong(text, at, "a comma or }")
        at = _skip(text, at + 1)


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        value, at = _value(text, at, depth + 1)
        found.append(value)
        at = _skip(text, at)
        if text[at : at + 1] == "]":
            return found, at + 1
        if text[at : at + 1] != ",":
            raise _wrong(text, at, "a comma or ]")
        at = _skip(text, at + 1)


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        return scanstring(text, at + 1, True)  # type: ignore[no-any-return]
    except json.JSONDecodeError as error:
        raise _wrong(text, error.pos, "a well-formed string") from None


def _number(text: str, number: re.Match[str]) -> int | Decimal:
    if len(number[0]) > _LONGEST_NUMBER:
        raise _wrong(text, number.start(), f"a number of at most {_LONGEST_NUMBER} characters")
    if number[2] is None and number[3] is None:
        return int(number[0])
    return exact_number(number[0])


def exact_number(text: str) -> Decimal:
    """A number with a fraction or an exponent. Raises DataError if that is beyond 32 bits."""
    exponent = text.lower().partition("e")[2]
    if len(exponent) > _LONGEST_EXPONENT and not -_INT32 <= int(exponent) < _INT32:
        raise DataError(f"This is no JSON: the exponent {exponent} is too large.")
    return Decimal(text)


def has_huge_exponent(data: bytes) -> bool:
    """Whether there may be a zero with an exponent that `exact_number` refuses: other parsers take it for zero."""
    # Looking for one byte is a hundred times faster than for two, and most texts have no E.
    return (b"0e" in data or (b"E" in data and b"0E" in data)) and _HUGE_EXPONENT.search(data) is not None


def _skip(text: str, at: int) -> int:
    end = _SPACE.match(text, at)
    assert end is not None
    return end.end()


def _wrong(text: str, at: int, wanted: str) -> DataError:
    found = repr(text[at]) if at < len(text) else "the end"
    return DataError(f"This is no JSON: {wanted} should stand at character {at}, and there is {found}.")
