"""MySQL's binary JSON as text, written as the server itself writes it.

https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html
"""

from __future__ import annotations

import base64
import struct
from decimal import Decimal
from typing import Any, Final

import msgspec

from connect import DataError
from connectors.jdbc.mysql_capture import values

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = range(5)
_STRING, _OPAQUE = 12, 15
#: Numbers: their form, and how many bytes they have.
_NUMBERS: Final = {5: ("<h", 2), 6: ("<H", 2), 7: ("<i", 4), 8: ("<I", 4), 9: ("<q", 8), 10: ("<Q", 8), 11: ("<d", 8)}
_LITERALS: Final = {0: "null", 1: "true", 2: "false"}
#: The deepest document that a server accepts.
_DEEPEST: Final = 100


def text(raw: bytes) -> str:
    """The text of a document. Raises DataError: it is damaged."""
    if not raw:
        return "null"
    try:
        return _value(raw[0], memoryview(raw)[1:], 0)
    except (IndexError, struct.error, KeyError, UnicodeDecodeError) as error:
        raise DataError(f"A JSON document in the binary log cannot be read: {error}") from error


def _value(kind: int, data: memoryview, depth: int) -> str:
    if kind <= _LARGE_ARRAY:
        if depth > _DEEPEST:
            raise DataError("A JSON document in the binary log is deeper than a server accepts.")
        return _container(kind, data, depth)
    if kind == _LITERAL:
        return _LITERALS[data[0]]
    if kind in _NUMBERS:
        form, _ = _NUMBERS[kind]
        number = struct.unpack_from(form, data)[0]
        return _float(number) if kind == 11 else str(number)
    if kind == _STRING:
        length, at = _length(data, 0)
        return _quoted(str(data[at : at + length], "utf-8"))
    if kind == _OPAQUE:
        length, at = _length(data, 1)
        return _opaque(data[0], data[at : at + length])
    raise DataError(f"A JSON document in the binary log has a value of an unknown kind ({kind}).")


def _float(number: float) -> str:
    written = repr(number)
    return written.replace("e+", "e") if "e" in written else written


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()


def _container(kind: int, data: memoryview, depth: int) -> str:
    large = kind in (_LARGE_OBJECT, _LARGE_ARRAY)
    width = 4 if large else 2
    form = "<I" if large else "<H"
    count = struct.unpack_from(form, data)[0]
    at = 2 * width
    keys = []
    if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
        for _ in range(count):
            place = struct.unpack_from(form, data, at)[0]
            length = int.from_bytes(data[at + width : at + width + 2], "little")
            keys.append(_quoted(str(data[place : place + length], "utf-8")))
            at += width + 2
    found = []
    for _ in range(count):
        of = data[at]
        # What is small stands in its entry, all else where the entry says.
        inline = of == _LITERAL or of in (5, 6) or (large and of in (7, 8))
        where = at + 1 if inline else struct.unpack_from(form, data, at + 1)[0]
        found.append(_value(of, data[where:], depth + 1))
        at += 1 + width
    if keys or kind in (_SMALL_OBJECT, _LARGE_OBJECT):
        return "{" + ", ".join(f"{key}: {value}" for key, value in zip(keys, found, strict=True)) + "}"
    return "[" + ", ".join(found) + "]"


def _length(data: memoryview, at: int) -> tuple[int, int]:
    length = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            return length, at
        shift += 7


def _opaque(kind: int, data: memoryview) -> str:
    """A value of a column's type: a decimal, a date or a time, or bytes."""
    if kind == 246:
        precision, scale = data[0], data[1]
        number: Decimal = values.decimal(precision, scale)(bytes(data[2:]))
        return format(number, "f")
    if kind in (7, 10, 11, 12):
        packed: Any = int.from_bytes(data, "little", signed=True)
        sign, packed = ("-", -packed) if packed < 0 else ("", packed)
        fraction, packed = packed & 0xFFFFFF, packed >> 24
        hours = packed >> 12 & (0x3FF if kind == 11 else 31)
        clock = f"{hours:02d}:{packed >> 6 & 63:02d}:{packed & 63:02d}.{fraction:06d}"
        if kind == 11:
            return f'"{sign}{clock}"'
        day = packed >> 17
        date = f"{day // 32 // 13:04d}-{day // 32 % 13:02d}-{day % 32:02d}"
        return f'"{date}"' if kind == 10 else f'"{date} {clock}"'
    return f'"base64:type{kind}:{base64.b64encode(data).decode()}"'
