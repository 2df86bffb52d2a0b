"""Dates and times of MySQL and MariaDB, read from the binary log's form and from the text of a query's answer.

Both forms lead to the same: days and microseconds since 1970, None for those that no calendar has, such as 0000-00-00.
Years before 100 that were meant with two digits become those of four, as Debezium has it, where `adjusted`.

https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Final

from connect.data.times import EPOCH_DAY
from connectors.jdbc.mysql_capture.values import Reader

_DAY: Final = 86_400_000_000


def days(year: int, month: int, day: int, adjusted: bool) -> int | None:
    """Days since 1970-01-01; None for a date that there is not."""
    if adjusted and year < 100 and (year or month or day):
        year += 2000 if year < 70 else 1900
    try:
        return dt.date(year, month, day).toordinal() - EPOCH_DAY
    except ValueError:
        return None


def date(adjusted: bool) -> Reader:
    """Reads dates, as days."""

    def read(raw: bytes) -> int | None:
        packed = raw[0] | raw[1] << 8 | raw[2] << 16
        return days(packed >> 9, packed >> 5 & 15, packed & 31, adjusted)

    return read


def date_text(adjusted: bool) -> Reader:
    """The same from text."""
    return lambda raw: days(int(raw[:4]), int(raw[5:7]), int(raw[8:10]), adjusted)


def _micros(day: int | None, hour: int, minute: int, second: int, fraction: int) -> int | None:
    return None if day is None else day * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


def _fraction(raw: bytes, digits: int) -> int:
    """Microseconds of a fraction of a second, of bytes whose width follows from the digits."""
    return int.from_bytes(raw, "big") * (1, 10_000, 100, 1)[(digits + 1) // 2]


def datetime(digits: int, adjusted: bool) -> Reader:
    """Reads datetimes with so many digits of a second's fraction, as microseconds since 1970."""

    def read(raw: bytes) -> int | None:
        packed = int.from_bytes(raw[:5], "big") & 0x7FFFFFFFFF  # without the sign, which is always plus
        clock = packed & 0x1FFFF
        packed >>= 17
        months = packed >> 5
        day = days(months // 13, months % 13, packed & 31, adjusted)
        return _micros(day, clock >> 12, clock >> 6 & 63, clock & 63, _fraction(raw[5:], digits) if digits else 0)

    return read


def datetime_old(adjusted: bool) -> Reader:
    """Reads datetimes of tables that are older than MySQL 5.6 and MariaDB 10.1: decimal digits in one number."""

    def read(raw: bytes) -> int | None:
        day, clock = divmod(int.from_bytes(raw, "little"), 1_000_000)
        found = days(day // 10_000, day // 100 % 100, day % 100, adjusted)
        return _micros(found, clock // 10_000, clock // 100 % 100, clock % 100, 0)

    return read


def datetime_text(adjusted: bool) -> Reader:
    """The same from text."""

    def read(raw: bytes) -> int | None:
        day = days(int(raw[:4]), int(raw[5:7]), int(raw[8:10]), adjusted)
        fraction = int(raw[20:26].ljust(6, b"0"))
        return _micros(day, int(raw[11:13] or 0), int(raw[14:16] or 0), int(raw[17:19] or 0), fraction)

    return read


def timestamp(digits: int) -> Reader:
    """Reads timestamps, as microseconds since 1970; 0, which stands for 0000-00-00, is none."""

    def read(raw: bytes) -> int | None:
        seconds = int.from_bytes(raw[:4], "big")
        fraction = _fraction(raw[4:], digits) if digits else 0
        return seconds * 1_000_000 + fraction if seconds or fraction else None

    return read


def timestamp_old(raw: bytes) -> int | None:
    """The same of old tables, see `datetime_old`."""
    seconds = int.from_bytes(raw, "little")
    return seconds * 1_000_000 if seconds else None


def time(digits: int) -> Reader:
    """Reads times, as microseconds, which may be negative."""
    width = (digits + 1) // 2
    middle = 0x800000 << 8 * width
    mask = (1 << 8 * width) - 1

    def read(raw: bytes) -> int:
        packed = int.from_bytes(raw, "big") - middle
        sign = -1 if packed < 0 else 1
        packed = abs(packed)
        clock = packed >> 8 * width
        fraction = (packed & mask) * (1, 10_000, 100, 1)[width]
        seconds = ((clock >> 12 & 0x3FF) * 60 + (clock >> 6 & 63)) * 60 + (clock & 63)
        return sign * (seconds * 1_000_000 + fraction)

    return read


def time_old(raw: bytes) -> int:
    """The same of old tables, see `datetime_old`."""
    packed = int.from_bytes(raw, "little", signed=True)
    sign, packed = (-1, -packed) if packed < 0 else (1, packed)
    return sign * ((packed // 10_000 * 60 + packed // 100 % 100) * 60 + packed % 100) * 1_000_000


def time_text(raw: bytes) -> int:
    """The same from text."""
    sign, text = (-1, raw[1:]) if raw[:1] == b"-" else (1, raw)
    hours, minutes, seconds = (*text.split(b":"), b"0", b"0")[:3]
    whole, _, fraction = seconds.partition(b".")
    micros = ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 1_000_000 + int(fraction[:6].ljust(6, b"0"))
    return sign * micros


def zoned(digits: int) -> Callable[[int], str]:
    """Writes microseconds since 1970 in ISO 8601, in UTC, with so many digits of a second's fraction."""

    def write(micros: int) -> str:
        seconds, fraction = divmod(micros, 1_000_000)
        text = dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{text}.{f'{fraction:06d}'[:digits]}Z" if digits else f"{text}Z"

    return write
