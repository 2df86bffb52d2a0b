"""Dates, times of day and timestamps as `java.util.Date` prints them in UTC: `Fri Jan 02 15:04:05 UTC 2026`.

Formatting calendar dates is slow. So the texts of days are remembered, and a time of day is put together from those of
its minute and second. Whole columns: `connect.data.arrow_times`.
"""

from __future__ import annotations

import datetime as dt
from functools import cache, lru_cache
from typing import Final

from connect.data.times import EPOCH_DAY

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MOST_DAYS: Final = 20_000  # remembered: those of half a century


def moment_text(value: dt.date | dt.time | dt.datetime) -> str:
    """One value; a datetime without a zone counts as UTC."""
    if isinstance(value, dt.time):
        return _text(0, (value.hour * 60 + value.minute) * 60 + value.second)
    day = value.toordinal() - EPOCH_DAY
    if not isinstance(value, dt.datetime):
        return _text(day, 0)
    if value.tzinfo is not None and value.tzinfo is not dt.UTC:
        return moment_text(value.astimezone(dt.UTC))
    return _text(day, (value.hour * 60 + value.minute) * 60 + value.second)


def day_text(day: int) -> tuple[str, str]:
    """What stands before the time of day, and behind it, on a day since 1970."""
    date = dt.date.fromordinal(day + EPOCH_DAY)
    return f"{_DAYS[date.weekday()]} {_MONTHS[date.month - 1]} {date.day:02d} ", f" UTC {date.year}"


def _text(day: int, second: int) -> str:
    before, behind = _remembered_day(day)
    minutes, seconds = _clock()
    return f"{before}{minutes[second // 60]}{seconds[second % 60]}{behind}"


_remembered_day = lru_cache(_MOST_DAYS)(day_text)


@cache
def _clock() -> tuple[list[str], list[str]]:
    """The texts of each minute of a day, up to the second, and of each second of a minute."""
    minutes = [f"{minute // 60:02d}:{minute % 60:02d}:" for minute in range(24 * 60)]
    return minutes, [f"{second:02d}" for second in range(60)]
