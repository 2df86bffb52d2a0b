"""The fast parser of JSON, and how to detect records that Java reads differently.

The parser is stricter than Java, and what it refuses is for `json_text`. But it has none of Java's limits, and reads a
number as 0 whose exponent Java refuses. That shows in a record's bytes, and is detected there: it costs less than a
check of each value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from connect.converters.json_text import DEEPEST, LONGEST_NAME, LONGEST_TEXT, MOST_DIGITS, exact_number, read
from connect.errors import DataError

#: Parses a record. Floats are doubles.
parse: Final = msgspec.json.Decoder().decode
_parse_exactly: Final = msgspec.json.Decoder(float_hook=exact_number).decode
#: What says that a record is for another way.
REFUSED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, DataError)


def exact(record: bytes) -> object:
    """The parsed JSON with Decimal for float, in any form that Java accepts.

    Raises:
        DataError: Java accepts none.
    """
    if not is_long([record], record):
        try:
            return _parse_exactly(record)
        except REFUSED:
            pass
    return read(record)


def check_utf8(joined: bytes) -> None:
    """Raise UnicodeDecodeError for what is not UTF-8: parsers do not check unused names and texts."""
    if not joined.isascii():
        joined.decode()


def knows_names(names: Iterable[str]) -> bool:
    """Whether the parser can find these names, of a struct's fields, in a record."""
    return not any(map(_NO_FIELD.search, names))


_NO_FIELD: Final = re.compile('[\\x00-\\x1f"\\\\\ud800-\udfff]')

# Numbers. An exponent that may be too large has at least ten digits, an integer beyond 64 bits nineteen.

_SHAPE: Final = bytes.maketrans(b"123456789+-E", b"00000000000e")
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_LONG_EXPONENT: Final = b"e" + 10 * b"0"
_LONG_INTEGER: Final = 19 * b"0"


def shape_of(joined: bytes) -> bytes:
    """The bytes with 0 for every digit and sign, and e for E: the shape of numbers."""
    return joined.translate(_SHAPE)


def has_long_integer(joined: bytes, shape: bytes | None) -> bool:
    """Whether an integer in these bytes, with this shape if known, may need more than 64 bits."""
    return (shape is None or _LONG_INTEGER in shape) and _LONG_INTEGER in joined.translate(_DIGITS)


def may_exceed(records: Sequence[bytes], joined: bytes, shape: bytes | None = None) -> bool:
    """Whether a record may hold what Java refuses and the fast parser accepts: then only `exact` reads it as Java does.

    Args:
        records: each accepted by the fast parser.
        joined: the same with a line break between them.
        shape: `shape_of` that, where it is known.
    """
    shape = shape_of(joined) if shape is None else shape
    at = shape.rfind(_LONG_EXPONENT)  # from behind it is found faster
    while at >= 0:
        # Most texts that look like this are hexadecimal: no number may begin where their last digits do.
        before = shape[max(0, at - MOST_DIGITS) : at].rstrip(b"0.")
        if shape[at - 1] == _ZERO and before[-1:] in b" \t\n\r[,:":
            return True
        at = shape.rfind(_LONG_EXPONENT, 0, at)
    return is_long(records, joined)


# Lengths. Each is looked for where a record is long enough for it, and first in a way that costs little: in every so
# many-th byte, or in a place here and there.

#: A record that is no longer has nothing beyond Java's limits.
_SHORT: Final = MOST_DIGITS
#: The digits of a number are in three runs at most.
_LONGEST_RUN: Final = MOST_DIGITS // 3 + 1
_RUNS: Final = {step: _LONGEST_RUN // step * b"0" for step in (16, 3, 1)}
#: A record may be a payload, which is a level deeper than it seems.
_DEEP: Final = DEEPEST - 1
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(set(range(256)) - set(b'[]{}"'))
_USUAL: Final = 8
_WINDOW: Final = LONGEST_NAME // 2
_BACKSLASH: Final = 0x5C
_ZERO: Final = 0x30
_TEXT: Final = re.compile(rb'"[^"]*"')
_LONG_NAME: Final = re.compile(rb'"[^"]{%d,}"[ \t\n\r]*:' % (LONGEST_NAME + 1))
_LONG_TEXT: Final = re.compile(rb'"[^"]{%d}' % (LONGEST_TEXT + 1))


def is_long(records: Sequence[bytes], joined: bytes) -> bool:
    """As `may_exceed`, but for exponents: whether a number, a name, a text or the depth may exceed Java's limits."""
    longest = max(map(len, records), default=0)
    if longest <= _SHORT:
        return False
    if all(run in joined[::step].translate(_DIGITS) for step, run in _RUNS.items()):
        return True
    return _may_be_deep(records, joined, longest) or (longest >= _WINDOW and any(map(_has_long_text, records)))


def _may_be_deep(records: Sequence[bytes], joined: bytes, longest: int) -> bool:
    if longest <= 2 * _DEEP:
        return False
    # Those that begin with a bracket leave the fewer for the one that has the most.
    begin = sum([record.startswith((b"{", b"[")) for record in records])
    brackets = joined.count(b"{") + joined.count(b"[")
    return brackets - max(0, begin - 1) > _DEEP and any(map(_is_deep, records))


def _is_deep(record: bytes) -> bool:
    if len(record) <= 2 * _DEEP:
        return False
    brackets = record.translate(_BRACKETS, _OTHERS)
    if brackets.count(b"[") <= _DEEP:
        return False
    if b"\\" in record:
        brackets = _unescaped(record).translate(_BRACKETS, _OTHERS)
    brackets = _TEXT.sub(b"", brackets.replace(b'""', b""))  # few texts have brackets in them
    for _ in range(_USUAL):  # without the innermost it is one level less deep
        brackets = brackets.replace(b"[]", b"")
    return _USUAL + max(accumulate([1 if bracket == 0x5B else -1 for bracket in brackets]), default=0) > _DEEP


def _has_long_text(record: bytes) -> bool:
    """Whether there may be such a text or name."""
    if _may_have_long_name(record) and _LONG_NAME.search(_unescaped(record)):
        return True
    return len(record) > LONGEST_TEXT and _LONG_TEXT.search(_unescaped(record)) is not None


def _may_have_long_name(record: bytes) -> bool:
    """Whether a name may span a whole window: in most records each has a quote that begins or ends a text."""
    at = 0
    while at + _WINDOW <= len(record):
        quote, escaped = record.find(b'"', at), False
        while at <= quote < at + _WINDOW and record[quote - 1] == _BACKSLASH:
            quote, escaped = record.find(b'"', quote + 1), True
        if at <= quote < at + _WINDOW:
            at += _WINDOW
            continue
        behind = record[quote + 1 : quote + _WINDOW].lstrip(b" \t\n\r")[:1]
        if escaped or (quote >= 0 and (record[quote - 1] == _BACKSLASH or behind in (b":", b""))):
            return True
        if quote < 0:
            return False
        at = quote + 1
    return False


def _unescaped(record: bytes) -> bytes:
    r"""A record of the same length in which every quote begins or ends a text: without \"."""
    return record.replace(rb"\\", b"..").replace(rb"\"", b"..") if b"\\" in record else record
