"""Which message of its schema a record is: the indexes before a message, as zigzag varints, preceded by their number.

The first message of a file, [0], is the single byte 0.
https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
"""

from __future__ import annotations

from typing import Final

from connect.errors import DataError

FIRST: Final = (0,)
_DEEPEST: Final = 100


def write(indexes: tuple[int, ...]) -> bytes:
    """The encoded indexes before a message."""
    if indexes == FIRST:
        return b"\0"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def read(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """The indexes at this position, and where the message begins.

    Raises:
        DataError: they are invalid.
    """
    count, at = _read_varint(data, start)
    if count == 0:
        return FIRST, at
    if not 0 < count <= _DEEPEST:
        raise DataError(f"the indexes of its message are malformed: there cannot be {count}.")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(data, at)
        indexes.append(index)
    return tuple(indexes), at


def _varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 31)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise DataError("it ends within the indexes of its message.")
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
