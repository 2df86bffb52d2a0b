"""Values without an Arrow form, as they cross into the JVM and back: MessagePack, with extensions for what it lacks.

| extension | what is in it, big endian |
|---|---|
| 1, a decimal | its scale, in 32 bits; its unscaled number, as BigInteger.toByteArray gives it |
| 2, a timestamp; 3, a date; 4, a time of day | milliseconds, in 64 bits: since 1970, or since midnight |
| 5, a map with such keys | a list of its keys and values by turns |

See https://github.com/msgpack/msgpack/blob/master/spec.md.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

import ormsgpack

from connect.data import logical
from connect.data.times import EPOCH
from connect.errors import ConnectError, DataError

_DECIMAL, _TIMESTAMP, _DATE, _TIME, _PAIRS = range(1, 6)
_SCALE, _LONG = struct.Struct(">i"), struct.Struct(">q")
_DAY_MS: Final = 86_400_000
_MS: Final = dt.timedelta(milliseconds=1)
_LARGEST: Final = 1 << 63
_OPTIONS: Final = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
    | ormsgpack.OPT_REPLACE_SURROGATES
)


def pack(value: Any) -> bytes:
    """A value, or a list of values, in bytes. Half a surrogate pair becomes a question mark, as in Java.

    Raises:
        DataError: Kafka Connect has no such value.
    """
    try:
        return ormsgpack.packb(value, _extension, _OPTIONS)
    except TypeError:
        return ormsgpack.packb(paired(_checked(value)), _extension, _OPTIONS)


def paired(value: Any) -> Any:
    """The value with maps whose keys are dates, times or decimals as the extension for them.

    The library makes texts of such dates and times: whoever knows that there may be some calls this before `pack`.
    """
    if isinstance(value, Mapping):
        items = {key: paired(item) for key, item in value.items()}
        if any(isinstance(key, dt.date | dt.time | Decimal) for key in items):
            return ormsgpack.Ext(_PAIRS, pack([each for item in items.items() for each in item]))
        return items
    return [paired(item) for item in value] if isinstance(value, list | tuple) else value


def unpack(data: bytes | memoryview) -> Any:
    """The value of bytes that `pack`, or Java's end, has written.

    Raises:
        DataError: Python has no such value: a moment after the year 9999.
    """
    try:
        return ormsgpack.unpackb(data, ext_hook=_value, option=ormsgpack.OPT_NON_STR_KEYS)
    except ValueError:
        why = _refusal(data)
        if why is None:
            raise
        raise why from None


def _refusal(data: bytes | memoryview) -> ConnectError | None:
    """The error of the extension that cannot be read: the library does not pass it on."""
    found: list[ConnectError] = []

    def hook(extension: int, content: bytes) -> Any:
        try:
            return _value(extension, content)
        except ConnectError as error:
            found.append(error)
            raise

    with suppress(ValueError):
        ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)
    return found[0] if found else None


def _extension(value: Any) -> Any:
    """What the library does not know."""
    if isinstance(value, Decimal):
        return ormsgpack.Ext(_DECIMAL, _decimal(value))
    if isinstance(value, dt.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return ormsgpack.Ext(_TIMESTAMP, _LONG.pack((moment - EPOCH) // _MS))
    if isinstance(value, dt.date):
        return ormsgpack.Ext(_DATE, _LONG.pack(int(logical.encode(logical.DATE, value)) * _DAY_MS))
    if isinstance(value, dt.time):
        return ormsgpack.Ext(_TIME, _LONG.pack(int(logical.encode(logical.TIME, value))))
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _checked(value: Any) -> Any:
    """The value with keys that can be written; or the error that says what of it cannot cross."""
    if isinstance(value, Mapping):
        return {_checked(key): _checked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_checked(item) for item in value]
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise DataError(f"{value} has more than 64 bits.")
    if isinstance(value, Decimal):
        _decimal(value)
    elif not isinstance(value, int | float | bytes | bytearray | memoryview | dt.date | dt.time | ormsgpack.Ext | None):
        raise DataError(f"A {type(value).__name__} is no value of Kafka Connect's.")
    return value


def _decimal(value: Decimal) -> bytes:
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise DataError(f"{value} is no decimal of Kafka Connect's.")
    number = logical.unscaled(value)
    return _SCALE.pack(-exponent) + number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _value(extension: int, data: bytes) -> Any:
    if extension == _PAIRS:
        items = unpack(data)
        return dict(zip(items[::2], items[1::2], strict=True))
    if extension == _DECIMAL:
        (scale,) = _SCALE.unpack_from(data)
        return logical.scaled(int.from_bytes(data[_SCALE.size :], "big", signed=True), scale)
    (milliseconds,) = _LONG.unpack(data)
    return _MOMENTS[extension](milliseconds)


_MOMENTS: Final[Mapping[int, Callable[[int], Any]]] = {
    _TIMESTAMP: lambda milliseconds: logical.decode(logical.TIMESTAMP, milliseconds),
    _DATE: lambda milliseconds: logical.decode(logical.DATE, milliseconds // _DAY_MS),
    _TIME: lambda milliseconds: logical.decode(logical.TIME, milliseconds),
}
