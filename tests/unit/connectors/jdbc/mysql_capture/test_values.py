"""Values of the binary log and of answers to queries."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jdbc.mysql_capture import times, values

DAY = 86_400_000_000


def packed_decimal(number: Decimal, precision: int, scale: int) -> bytes:
    """The other way round, digit by digit, as the manual describes it."""
    digits = "".join(map(str, number.as_tuple().digits)).rjust(precision, "0")
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    widths = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    head = len(whole) % 9
    groups = [whole[:head]] + [whole[i : i + 9] for i in range(head, len(whole), 9)]
    groups += [fraction[i : i + 9] for i in range(0, len(fraction), 9)]
    raw = bytearray(b"".join(int(group).to_bytes(widths[len(group)], "big") for group in groups if group))
    if number < 0:
        raw = bytearray(byte ^ 0xFF for byte in raw)
    raw[0] ^= 0x80
    return bytes(raw)


@given(st.data())
def test_decimals(data: st.DataObject) -> None:
    precision = data.draw(st.integers(1, 65))
    scale = data.draw(st.integers(0, min(precision, 38)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    number = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    raw = packed_decimal(number, precision, scale)
    assert len(raw) == values.decimal_size(precision, scale)
    found = values.decimal(precision, scale)(raw)
    assert found == number
    assert found.as_tuple().exponent == -scale


@pytest.mark.parametrize(
    ("raw", "micros", "digits"),
    [
        ("800000", 0, 0),
        ("80b50d", 11 * 3_600_000_000 + 20 * 60_000_000 + 13_000_000, 0),
        ("7fffffff", -10_000, 2),  # the number as a whole is negative
        ("7fffff9d", -990_000, 2),
        ("7ffffe9d", -1_990_000, 2),
        ("7ffffffffffe", -2, 6),
        ("7fffff000000", -1_000_000, 6),
    ],
)
def test_times(raw: str, micros: int, digits: int) -> None:
    assert times.time(digits)(bytes.fromhex(raw)) == micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        (b"00:00:00", 0),
        (b"-00:00:00.000001", -1),
        (b"-838:59:59", -(838 * 3600 + 59 * 60 + 59) * 1_000_000),
        (b"12:30:01.5", 45_001_500_000),
    ],
)
def test_times_in_text(text: bytes, micros: int) -> None:
    assert times.time_text(text) == micros


def packed_datetime(year: int, month: int, day: int, clock: tuple[int, int, int] = (0, 0, 0)) -> bytes:
    hour, minute, second = clock
    date = ((year * 13 + month) << 5 | day) << 17
    return (1 << 39 | date | hour << 12 | minute << 6 | second).to_bytes(5, "big")


@given(st.datetimes(dt.datetime(100, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)))  # noqa: DTZ001
def test_datetimes_in_both_forms(at: dt.datetime) -> None:
    expected = (at - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)  # noqa: DTZ001
    whole = packed_datetime(at.year, at.month, at.day, (at.hour, at.minute, at.second))
    text = at.isoformat(" ", "microseconds").encode()
    assert times.datetime(6, True)(whole + at.microsecond.to_bytes(3, "big")) == times.datetime_text(True)(text)
    assert times.datetime_text(True)(text) == expected
    old = int(at.strftime("%Y%m%d%H%M%S").rjust(14, "0")).to_bytes(8, "little")
    assert times.datetime_old(True)(old) == times.datetime(0, True)(whole)


@pytest.mark.parametrize(
    ("date", "adjusted", "days"),
    [
        ((1970, 1, 1), True, 0),
        ((0, 0, 0), True, None),
        ((2024, 0, 1), True, None),
        ((2024, 2, 30), True, None),
        ((1, 1, 1), True, 11323),
        ((1, 1, 1), False, -719162),
        ((70, 1, 1), True, 0),
        ((69, 1, 1), True, 36160),
        ((99, 12, 31), True, 10956),
    ],
)
def test_dates(date: tuple[int, int, int], adjusted: bool, days: int | None) -> None:
    year, month, day = date
    raw = (year << 9 | month << 5 | day).to_bytes(3, "little")
    assert times.date(adjusted)(raw) == days
    assert times.date_text(adjusted)(f"{year:04d}-{month:02d}-{day:02d}".encode()) == days
    expected = None if days is None else days * DAY
    assert times.datetime(0, adjusted)(packed_datetime(year, month, day)) == expected


@pytest.mark.parametrize(
    ("read", "raw", "value"),
    [
        (times.timestamp(0), "00000000", None),
        (times.timestamp(0), "00000001", 1_000_000),
        (times.timestamp(2), "0000000163", 1_990_000),
        (times.timestamp(3), "000000010064", 1_010_000),
        (times.timestamp(6), "7fffffff0f423f", 2147483647_999_999),
        (times.timestamp_old, "01000000", 1_000_000),
        (times.time_old, "c7cfff", -5_025_000_000),  # -12345: -01:23:45
        (values.year, "00", 0),
        (values.year, "01", 1901),
        (values.integer, "ffffff", -1),
        (values.unsigned, "ffffff", 16_777_215),
        (values.big, "0101", 257),
        (values.enum(("a", "b")), "02", "b"),
        (values.enum(("a", "b")), "0000", ""),
        (values.enum(("a",)), "07", ""),
        (values.members(("a", "b", "c")), "05", "a,c"),
        (values.members(("a",)), "00", ""),
        (values.padded(3), "01", b"\x01\0\0"),
        (values.text("utf8mb4"), "c3bc", "ü"),
        (values.text("latin1"), "fc80", "ü€"),
        (values.text("latin1"), "fc81", "ü\x81"),
        (values.text("ucs2"), "00fc", "ü"),
    ],
)
def test_other_values(read: values.Reader, raw: str, value: Any) -> None:
    assert read(bytes.fromhex(raw)) == value


def test_a_character_set_that_python_does_not_have_is_an_error() -> None:
    with pytest.raises(LookupError):
        values.text("swe7")


@pytest.mark.parametrize(
    ("micros", "digits", "text"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (1_250_000, 2, "1970-01-01T00:00:01.25Z"),
        (1_250_000, 6, "1970-01-01T00:00:01.250000Z"),
    ],
)
def test_zoned(micros: int, digits: int, text: str) -> None:
    assert times.zoned(digits)(micros) == text
