"""Values without a schema, as Confluent's converter writes them: an Avro record with a field for each type."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from connect.converters.avro import names
from connect.errors import DataError

NAME: Final = names.ANYTHING

_SIMPLE: Final = ("boolean", "bytes", "double", "float", "int", "long", "string")
TEXT: Final = (
    f'{{"type":"record","name":"Anything","namespace":"{names.NAMESPACE}","fields":['
    + "".join(f'{{"name":"{name}","type":["null","{name}"],"default":null}},' for name in _SIMPLE)
    + '{"name":"array","type":["null",{"type":"array","items":"Anything"}],"default":null},'
    '{"name":"map","type":["null",{"type":"array","items":{"type":"record","name":"MapEntry","fields":['
    '{"name":"key","type":"Anything"},{"name":"value","type":"Anything"}]}}],"default":null}]}'
)
_FIELDS: Final = 9
_BOOLEAN, _BYTES, _DOUBLE, _FLOAT, _INT, _LONG, _STRING, _ARRAY, _MAP = range(_FIELDS)


def write(value: Any) -> bytes:
    """The bytes of a value: null, a boolean, whole number, float, text, bytes, or a list or dict of such."""
    out = bytearray()
    try:
        _write(value, out)
    except RecursionError:
        raise DataError("a value is nested too deeply, or holds itself.") from None
    return bytes(out)


def _write(value: Any, out: bytearray) -> None:
    if value is None:
        out += bytes(_FIELDS)
        return
    place = _place(value)
    out += bytes(place)
    out.append(2)
    if place == _BOOLEAN:
        out.append(1 if value else 0)
    elif place == _DOUBLE:
        out += struct.pack("<d", value)
    elif place == _LONG:
        _number(value, out)
    elif place in (_STRING, _BYTES):
        data = value.encode("utf-8", "replace") if place == _STRING else bytes(value)
        _number(len(data), out)
        out += data
    else:
        if value:
            _number(len(value), out)
        for each in value.items() if place == _MAP else value:
            for part in each if place == _MAP else (each,):
                _write(part, out)
        out.append(0)
    out += bytes(_FIELDS - 1 - place)


def _place(value: Any) -> int:
    for place, types in (
        (_BOOLEAN, bool),
        (_LONG, int),
        (_DOUBLE, float),
        (_STRING, str),
        (_BYTES, bytes | bytearray | memoryview),
        (_ARRAY, list | tuple),
        (_MAP, dict),
    ):
        if isinstance(value, types):
            return place
    raise DataError(f"a value of type {type(value).__name__} needs a schema to be written to Avro.")


def _number(value: int, out: bytearray) -> None:
    value = value << 1 if value >= 0 else ~(value << 1)
    if value >> 64:
        raise DataError("a whole number is beyond 64 bits.")
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def read(records: Sequence[bytes], start: int) -> list[Any]:
    """The values of records, each from this position on. Raises `DataError` for invalid bytes."""
    try:
        return [_checked(data, *_read(data, start)) for data in records]
    except (IndexError, struct.error):
        raise DataError("an Avro value ends too early. Was it written with the schema that it names?") from None
    except (UnicodeDecodeError, RecursionError, TypeError) as error:
        raise DataError(f"an Avro value cannot be read: {error}.") from None


def _checked(data: bytes, value: Any, end: int) -> Any:
    if end > len(data):
        raise IndexError
    return value


def _read(data: bytes, at: int) -> tuple[Any, int]:
    found: Any = None
    for place in range(_FIELDS):
        branch, at = data[at], at + 1
        if branch == 2:
            found, at = _read_one(place, data, at)
        elif branch:
            raise DataError("an Avro value is of a type that its union has not.")
    return found, at


def _read_one(place: int, data: bytes, at: int) -> tuple[Any, int]:
    if place == _BOOLEAN:
        return data[at] == 1, at + 1
    if place in (_DOUBLE, _FLOAT):
        kind, size = ("<d", 8) if place == _DOUBLE else ("<f", 4)
        return struct.unpack_from(kind, data, at)[0], at + size
    if place in (_INT, _LONG):
        return _read_number(data, at)
    if place in (_STRING, _BYTES):
        length, at = _read_number(data, at)
        content = data[at : at + length]
        if length < 0 or len(content) < length:
            raise IndexError
        return (content.decode("utf-8", "replace") if place == _STRING else content), at + length
    entries: list[Any] = []
    while True:
        count, at = _read_number(data, at)
        if not count:
            return (_map(entries) if place == _MAP else entries), at
        if count < 0:
            count = -count
            _, at = _read_number(data, at)
        for _ in range(count):
            value, at = _read(data, at)
            if place == _MAP:
                key = value
                value, at = _read(data, at)
                value = (key, value)
            entries.append(value)


def _map(entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(entries)
    if len(found) < len(entries) and len(found) < len({(type(key), key) for key, _ in entries}):
        raise DataError("two keys that only Java tells apart, as 1 and true, cannot be the keys of a dict.")
    return found


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte, at = data[at], at + 1
        found |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise DataError("an Avro value has a number of more bits than its type.")
    return (found >> 1) ^ -(found & 1), at
