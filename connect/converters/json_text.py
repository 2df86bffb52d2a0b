"""JSON as Kafka Connect's Java reads it: exact numbers, its leniency and its limits, for what the fast parser refuses.

Wider than RFC 8259: leading zeros, halves of surrogate pairs in values, UTF-16 and UTF-32, a byte order mark, no bytes
at all, anything after the first value. Narrower: limits of depth, length and exponents, and names without such halves.
"""

from __future__ import annotations

import re
from decimal import Decimal
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, Final

from connect.errors import DataError

#: What no bytes at all are read as: neither a value nor null.
MISSING: Final = object()

# Java's limits. Leading zeros are not digits, those of an exponent are; a name is measured in UTF-8, a text in UTF-16.
MOST_DIGITS: Final = 1000
LONGEST_NAME: Final = 50_000
LONGEST_TEXT: Final = 20_000_000
DEEPEST: Final = 1000
_INT32: Final = 1 << 31
#: With fewer characters an exponent is in no danger.
_SHORT_EXPONENT: Final = 9

#: Longer ones first: the mark of UTF-32 begins with that of UTF-16.
_MARKS: Final = {
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\xfe\xff": "utf-16-be",
    b"\xff\xfe": "utf-16-le",
    b"\xef\xbb\xbf": "utf-8",
}
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?0*([0-9]+)(?:\.([0-9]+))?(?:[eE][-+]?([0-9]+))?")
#: Half of a surrogate pair. Python's strings may hold one, and so may Java's.
SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORD: Final = re.compile("true|false|null")
_WORDS: Final = {"true": True, "false": False, "null": None}


def read(data: bytes) -> Any:
    """The first JSON value in these bytes: dict, list, str, int, Decimal, bool, None or `MISSING`.

    Raises:
        DataError: it is not JSON; the message says where.
    """
    encoding, begin = _encoding(data)
    try:
        text = data[begin:].decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"This is not JSON: byte {begin + error.start} is not {encoding}.") from None
    start = _skip(text, 0)
    if start == len(text):
        return MISSING
    value, end = read_at(text, start)
    if type(value) in (int, Decimal) and text[end : end + 1].strip(" \t\n\r"):
        raise _wrong(text, end, "a space after the number")
    return value


def read_at(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at this character, at this depth, and where it ends. Raises as `read` does."""
    # Not by recursion: a record must not get at Python's stack. What is open, and the name that its next value has:
    opened: list[tuple[dict[str, Any] | list[Any], str]] = []
    while True:
        value: Any
        first = text[at : at + 1]
        if first in ("{", "["):
            if depth + len(opened) == DEEPEST:
                raise DataError(f"This JSON is nested more than {DEEPEST} levels deep.")
            value = {} if first == "{" else []
            at = _skip(text, at + 1)
            if text[at : at + 1] != _END[type(value)]:
                name, at = _name(text, at) if first == "{" else ("", at)
                opened.append((value, name))
                continue
            at += 1
        else:
            value, at = _plain(text, at)
        while opened:
            holder, name = opened[-1]
            if type(holder) is dict:
                holder[name] = value
            else:
                holder.append(value)  # type: ignore[union-attr]
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
                if type(holder) is dict:
                    name, at = _name(text, at)
                    opened[-1] = (holder, name)
                break
            if text[at : at + 1] != _END[type(holder)]:
                raise _wrong(text, at, f"a comma or {_END[type(holder)]}")
            value, at = opened.pop()[0], at + 1
        else:
            return value, at


_END: Final[dict[type, str]] = {dict: "}", list: "]"}


def _plain(text: str, at: int) -> tuple[Any, int]:
    if text[at : at + 1] == '"':
        return _string(text, at)
    number = _NUMBER.match(text, at)
    if number is not None:
        return _number(text, number), number.end()
    word = _WORD.match(text, at)
    if word is None:
        raise _wrong(text, at, "a value")
    behind = text[word.end() : word.end() + 1]
    if behind.isalnum() or behind in ("_", "\x7f") or not behind.isascii():
        raise _wrong(text, word.end(), "the end of the word")
    return _WORDS[word[0]], word.end()


def _name(text: str, at: int) -> tuple[str, int]:
    """The name that begins here, and where its value does."""
    if text[at : at + 1] != '"':
        raise _wrong(text, at, "a name in double quotes")
    name, end = _string(text, at)
    if not name.isascii() and SURROGATE.search(name):
        raise _wrong(text, at, "a name without halves of surrogate pairs")
    if len(name) > LONGEST_NAME // 4 and len(name.encode()) > LONGEST_NAME:
        raise _wrong(text, at, f"a name of at most {LONGEST_NAME} bytes")
    end = _skip(text, end)
    if text[end : end + 1] != ":":
        raise _wrong(text, end, "a colon")
    return name, _skip(text, end + 1)


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        found, end = scanstring(text, at + 1, True)
    except JSONDecodeError as error:
        raise _wrong(text, error.pos, "a well-formed string") from None
    if len(found) > LONGEST_TEXT // 2 and len(found.encode("utf-16-le", "surrogatepass")) > 2 * LONGEST_TEXT:
        raise _wrong(text, at, f"a text of at most {LONGEST_TEXT} characters")
    return found, end


def _number(text: str, number: re.Match[str]) -> int | Decimal:
    whole, fraction, exponent = number.groups("")
    if len(whole) + len(fraction) + len(exponent) > MOST_DIGITS:
        raise _wrong(text, number.start(), f"a number of at most {MOST_DIGITS} digits")
    if not fraction and not exponent:
        return -int(whole) if text[number.start()] == "-" else int(whole)
    return exact_number(number[0])


def exact_number(text: str) -> Decimal:
    """A number of at most `MOST_DIGITS` digits with a fraction or an exponent.

    Raises:
        DataError: Java's BigDecimal cannot be so large or small: its scale has 32 bits.
    """
    mantissa, _, exponent = text.lower().partition("e")
    if len(exponent) > _SHORT_EXPONENT:
        scale = len(mantissa.partition(".")[2]) - int(exponent)
        if not -_INT32 < scale < _INT32:  # of short numbers Java takes the lowest as well, of long ones not
            raise DataError(f"This is not JSON: the exponent {exponent} is too large.")
    return Decimal(text)


def _encoding(data: bytes) -> tuple[str, int]:
    """The encoding that Java detects in these bytes, and the length of their byte order mark."""
    if len(data) >= 4:  # with fewer it looks for no mark
        for mark, encoding in _MARKS.items():
            if data.startswith(mark):
                return encoding, len(mark)
        if not any(data[:3]):
            return "utf-32-be", 0
        if not any(data[1:4]):
            return "utf-32-le", 0
    if len(data) >= 2 and not (data[0] and data[1]):
        return "utf-16-le" if data[0] else "utf-16-be", 0
    return "utf-8", 0


def _skip(text: str, at: int) -> int:
    end = _SPACE.match(text, at)
    assert end is not None
    return end.end()


def _wrong(text: str, at: int, wanted: str) -> DataError:
    found = repr(text[at]) if at < len(text) else "the end"
    return DataError(f"This is not JSON: {wanted} should stand at character {at}, and there is {found}.")
