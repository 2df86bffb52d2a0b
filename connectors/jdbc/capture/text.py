"""PostgreSQL's text form of values, as both the stream and COPY give it, read into plain Python.

The sessions that give it have DateStyle ISO, IntervalStyle postgres, TimeZone UTC and lc_monetary C. Dates before the
year 1 and after 9999 are numbers here, so that nothing is lost; `infinity` has the numbers that Debezium has for it.

https://www.postgresql.org/docs/current/datatype.html
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import msgspec

from connect import DataError
from connect.data.times import EPOCH, EPOCH_DAY

_EPOCH: Final = EPOCH.replace(tzinfo=None)  # counts days and microseconds, in no zone
_DAY: Final = 86_400_000_000

#: What stands for infinity, in microseconds. In milliseconds it is the thousandth of these.
INFINITY: Final = 9223372036825200000
MINUS_INFINITY: Final = -9223372036832400000
_DATE_INFINITY: Final = {b"infinity": 2**31 - 1, b"-infinity": -(2**31)}


def boolean(value: bytes) -> bool:
    """Of a boolean."""
    return value == b"t"


def bytea(value: bytes) -> bytes:
    """Of a bytea."""
    return bytes.fromhex(value[2:].decode())  # \x...


def days(value: bytes) -> int:
    r"""Of a date: days since 1970-01-01, `2024-02-29` or `0044-03-15 BC`."""
    if value in _DATE_INFINITY:
        return _DATE_INFINITY[value]
    try:
        return dt.date.fromisoformat(value.decode()).toordinal() - EPOCH_DAY
    except ValueError:
        return _days_of(value.decode())


def _days_of(text: str) -> int:
    date, _, era = text.partition(" ")
    year, month, day = map(int, date.split("-"))
    if era == "BC":
        year = 1 - year
    # 400 years of the Gregorian calendar have 146,097 days.
    cycles, year = divmod(year - 1, 400)
    return dt.date(year + 1, month, day).toordinal() - EPOCH_DAY + cycles * 146_097


def micros_of_day(value: bytes) -> int:
    """Of a time: microseconds since midnight. 24:00:00 is a time."""
    hours, minutes, seconds = value.split(b":")
    whole, _, fraction = seconds.partition(b".")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(whole)) * 1_000_000 + int(fraction.ljust(6, b"0"))


def millis_of_day(value: bytes) -> int:
    """The same in milliseconds."""
    return micros_of_day(value) // 1000


def micros(value: bytes) -> int:
    """Of a timestamp: microseconds since 1970-01-01 00:00:00. One with a zone is in UTC, as the session has it."""
    try:
        since = dt.datetime.fromisoformat(value[:26].decode() if value[-3:] == b"+00" else value.decode()) - _EPOCH
    except (ValueError, TypeError):
        return _micros_of(value)
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds


def _micros_of(value: bytes) -> int:
    if value == b"infinity":
        return INFINITY
    if value == b"-infinity":
        return MINUS_INFINITY
    date, _, rest = value.decode().partition(" ")
    time, _, era = rest.partition(" ")
    time = time.removesuffix("+00")
    return _days_of(f"{date} {era}".strip()) * _DAY + micros_of_day(time.encode())


def millis(value: bytes) -> int:
    """The same in milliseconds."""
    return micros(value) // 1000 if value[-8:] != b"infinity" else _infinite_millis(value)


def _infinite_millis(value: bytes) -> int:
    return -(-MINUS_INFINITY // 1000) if value[:1] == b"-" else INFINITY // 1000


def as_date(value: bytes) -> dt.date:
    """A date as a Python date; one outside of Python's range becomes the nearest."""
    try:
        return dt.date.fromisoformat(value.decode())
    except ValueError:
        return dt.date.max if days(value) > 0 else dt.date.min


def as_datetime(value: bytes) -> dt.datetime:
    """Of a timestamp, likewise; milliseconds are kept of it, as Connect's logical type has them."""
    try:
        return EPOCH + dt.timedelta(milliseconds=micros(value) // 1000)
    except OverflowError:
        return _LAST if micros(value) > 0 else dt.datetime.min.replace(tzinfo=dt.UTC)


_LAST: Final = dt.datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=dt.UTC)


def as_time(value: bytes) -> dt.time:
    """Of a time, likewise: 24:00:00 is the last millisecond of the day."""
    seconds, millis = divmod(min(micros_of_day(value) // 1000, 86_399_999), 1000)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1000)


def zoned_timestamp(digits: int) -> Callable[[bytes], str]:
    """Of a timestamptz: ISO 8601 in UTC with so many digits of a second's fraction."""
    whole = 29 if digits == 6 else None

    def read(value: bytes) -> str:
        text = value.decode()
        if len(text) == whole and text[26:] == "+00":
            return f"{text[:10]}T{text[11:26]}Z"
        if text in ("infinity", "-infinity"):
            return text
        era = text.endswith(" BC")
        date, _, time = text.removesuffix(" BC").removesuffix("+00").partition(" ")
        if era:
            year, _, rest = date.partition("-")
            date = f"-{int(year) - 1:04d}-{rest}"
        elif date.find("-") > 4:
            date = f"+{date}"
        seconds, _, fraction = time.partition(".")
        return f"{date}T{seconds}{'.' + fraction.ljust(digits, '0') if digits else ''}Z"

    return read


def zoned_time(value: bytes) -> str:
    """Of a timetz: ISO 8601 in UTC, `11:15:01.5Z`."""
    time, sign, zone = re.fullmatch(rb"([\d:.]+)([+-])([\d:]+)", value).groups()  # type: ignore[union-attr]
    parts = [*map(int, zone.split(b":")), 0, 0]
    offset = (parts[0] * 3600 + parts[1] * 60 + parts[2]) * 1_000_000
    at = (micros_of_day(time) + (offset if sign == b"-" else -offset)) % _DAY
    seconds, fraction = divmod(at, 1_000_000)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}Z"


_INTERVAL = re.compile(
    rb"(?:(?P<years>[+-]?\d+) years? ?)?(?:(?P<months>[+-]?\d+) mons? ?)?(?:(?P<days>[+-]?\d+) days? ?)?"
    rb"(?:(?P<sign>[+-]?)(?P<hours>\d+):(?P<minutes>\d+):(?P<seconds>\d+)(?:\.(?P<fraction>\d+))?)?"
)


def _interval(value: bytes) -> tuple[int, int, int]:
    """Months, days and microseconds."""
    found = _INTERVAL.fullmatch(value)
    if found is None:
        raise DataError(f"{value.decode()} is not an interval that can be told.")
    years, months, day, sign, hours, minutes, seconds, fraction = found.groups()
    time = 0
    if hours is not None:
        time = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
        time = time * 1_000_000 + int((fraction or b"").ljust(6, b"0"))
    return int(years or 0) * 12 + int(months or 0), int(day or 0), -time if sign == b"-" else time


def interval_micros(value: bytes) -> int:
    """Of an interval: microseconds, with months of 365.25 / 12 days."""
    months, day, time = _interval(value)
    return months * 2_629_800_000_000 + day * _DAY + time


def interval_iso(value: bytes) -> str:
    """Of an interval: `P1Y2M3DT4H5M6.789S`."""
    months, day, time = _interval(value)
    sign = -1 if months < 0 else 1
    years, months = sign * (abs(months) // 12), sign * (abs(months) % 12)
    minus = "-" if time < 0 else ""
    seconds, fraction = divmod(abs(time), 1_000_000)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""

    def signed(number: int) -> str:
        return f"{minus}{number}" if number else "0"

    whole = f"{minus if seconds or fraction else ''}{seconds}{tail}"
    return f"P{years}Y{months}M{day}DT{signed(hours)}H{signed(minutes)}M{whole}S"


def bits(value: bytes) -> bytes:
    """Of a bit string: its number, little endian, in as few bytes as it takes."""
    number = int(value or b"0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def money(value: bytes) -> Decimal:
    """Of an amount of money."""
    return Decimal(value.decode().replace("$", "").replace(",", ""))


def point(value: bytes) -> tuple[float, float]:
    """Of a point."""
    x, y = value[1:-1].split(b",")
    return float(x), float(y)


_HSTORE = re.compile(r'(?:, )?"((?>(?:[^"\\]|\\.)*))"=>(?:"((?>(?:[^"\\]|\\.)*))"|NULL)', re.DOTALL)


def hstore(value: bytes) -> dict[str, str | None]:
    """Of an hstore."""
    written, at, pairs = value.decode(), 0, {}
    while found := _HSTORE.match(written, at):
        key, text = found.groups()
        pairs[_plain(key)] = None if text is None else _plain(text)
        at = found.end()
    return pairs


def hstore_json(value: bytes) -> str:
    """The same as JSON."""
    return msgspec.json.encode(hstore(value)).decode()


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if "\\" in text else text


_ELEMENT = re.compile(rb'"((?>(?:[^"\\]|\\.)*))(?:"|\\?\Z)|([^{},"]+)', re.DOTALL)


def array(element: Callable[[bytes], Any], null: Any = None) -> Callable[[bytes], list[Any]]:
    """Of an array: its elements, one after another whatever its dimensions.

    Args:
        element: reads one.
        null: what stands for NULL.
    """

    def read(value: bytes) -> list[Any]:
        if value[:1] == b"[":  # bounds that do not begin with 1 stand before it
            value = value.partition(b"=")[2]
        found = []
        for quoted, bare in _ELEMENT.findall(value):
            if bare:
                found.append(null if bare == b"NULL" else element(bare))
            else:
                found.append(element(re.sub(rb"\\(.)", rb"\1", quoted, flags=re.DOTALL)))
        return found

    return read
