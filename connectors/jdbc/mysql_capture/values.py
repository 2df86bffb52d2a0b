"""Values of MySQL and MariaDB as plain Python, read from the binary log's form and from the text of a query's answer.

Both forms lead to the same: a whole number, a Decimal, bytes or text. For dates and times see `times`.

https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

Reader = Callable[[bytes], Any]


def integer(raw: bytes) -> int:
    """A signed number."""
    return int.from_bytes(raw, "little", signed=True)


def unsigned(raw: bytes) -> int:
    """An unsigned number."""
    return int.from_bytes(raw, "little")


def single(raw: bytes) -> float:
    """A float."""
    found: float = struct.unpack("<f", raw)[0]
    return found


def double(raw: bytes) -> float:
    """A double."""
    found: float = struct.unpack("<d", raw)[0]
    return found


def year(raw: bytes) -> int:
    """A year; 0 is one."""
    return raw[0] + 1900 if raw[0] else 0


def big(raw: bytes) -> int:
    """The number of a bit field."""
    return int.from_bytes(raw, "big")


# Decimals: groups of nine digits in four bytes, and shorter ones at both ends; the first bit is the sign.

_WIDTHS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def decimal_size(precision: int, scale: int) -> int:
    """How many bytes a decimal has."""
    whole = precision - scale
    return whole // 9 * 4 + _WIDTHS[whole % 9] + scale // 9 * 4 + _WIDTHS[scale % 9]


def decimal(precision: int, scale: int) -> Reader:
    """Reads decimals of so many digits, `scale` of them behind the point."""
    whole = precision - scale
    groups = [(_WIDTHS[whole % 9], whole % 9)] if whole % 9 else []
    groups += [(4, 9)] * (whole // 9 + scale // 9)
    groups += [(_WIDTHS[scale % 9], scale % 9)] if scale % 9 else []
    every = (1 << 8 * decimal_size(precision, scale)) - 1
    size = decimal_size(precision, scale)
    top = 1 << 8 * size - 1

    def read(raw: bytes) -> Decimal:
        number = int.from_bytes(raw, "big") ^ top
        negative = number & top
        if negative:
            number ^= every
        flat, at, digits = number.to_bytes(size, "big"), 0, []
        for width, count in groups:
            digits.append(f"{int.from_bytes(flat[at : at + width], 'big'):0{count}d}")
            at += width
        text = "".join(digits)
        point = len(text) - scale
        sign = "-" if negative else ""
        return Decimal(f"{sign}{text[:point] or '0'}.{text[point:]}" if scale else sign + text)

    return read


def decimal_text(raw: bytes) -> Decimal:
    """A decimal from its text."""
    return Decimal(raw.decode())


# Texts and what is written like them.

#: Character sets by their names in Python, where these differ.
_CODECS: Final = {
    **dict.fromkeys(("utf8", "utf8mb3", "utf8mb4", "ascii"), "utf-8"),
    "latin1": "cp1252",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "ujis": "euc-jp",
    "eucjpms": "euc-jp",
    "sjis": "shift-jis",
    "euckr": "euc-kr",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "tis620": "tis-620",
    "macroman": "mac-roman",
    "macce": "mac-latin2",
    "cp850": "cp850",
}
_LATIN1: Final = {code: chr(code) for code in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}  # what cp1252 leaves out


def text(charset: str) -> Reader:
    """Reads texts of a column's character set.

    Raises:
        LookupError: Python does not have it.
    """
    codec = _CODECS.get(charset, charset)
    "".encode(codec)
    if charset == "latin1":

        def latin(raw: bytes) -> str:
            try:
                return raw.decode("cp1252")
            except UnicodeDecodeError:
                return "".join(_LATIN1.get(code) or bytes((code,)).decode("cp1252") for code in raw)

        return latin
    return lambda raw: raw.decode(codec)


def utf8(raw: bytes) -> str:
    """A text of a query's answer."""
    return raw.decode()


def enum(labels: tuple[str, ...]) -> Reader:
    """Reads the numbers of labels; 0 stands for a value that was none of them."""
    by_number = ("", *labels)

    def read(raw: bytes) -> str:
        number = int.from_bytes(raw, "little")
        return by_number[number] if number < len(by_number) else ""

    return read


def members(labels: tuple[str, ...]) -> Reader:
    """Reads sets of labels, a bit for each, as their list with commas."""

    def read(raw: bytes) -> str:
        bits = int.from_bytes(raw, "little")
        return ",".join(label for place, label in enumerate(labels) if bits >> place & 1)

    return read


def padded(length: int) -> Reader:
    """Reads bytes of a fixed length, whose zeros at the end are not written."""
    return lambda raw: raw.ljust(length, b"\0")


def as_is(raw: bytes) -> bytes:
    """Bytes."""
    return raw


def unpacked(raw: bytes) -> bytes:
    """What a column that MariaDB compresses holds: as it is behind a zero, or a stream of zlib behind its length."""
    if not raw or not raw[0]:
        return raw[1:]
    return zlib.decompress(raw[1 + (raw[0] & 7) :], wbits=-15 if raw[0] & 8 else 15)
