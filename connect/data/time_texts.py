"""Dates, times of day and timestamps as `java.util.Date` prints them in UTC: `Fri Jan 02 15:04:05 UTC 2026`.

Formatting calendar dates is slow, in Python as in Arrow. So the texts of days are remembered, and a time of day is put
together from those of its minute and second.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Final

from connect.data.times import DAY_MS, EPOCH_DAY

if TYPE_CHECKING:
    import pyarrow as pa

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MOST_DAYS: Final = 20_000  # remembered: those of half a century
_FIRST_DAY: Final = 1 - EPOCH_DAY  # 0001-01-01
_DAY_S: Final = DAY_MS // 1000


class _Days(dict[int, tuple[str, str]]):
    """By days since 1970, what stands before the time of day and behind it."""

    def __missing__(self, day: int) -> tuple[str, str]:
        if len(self) >= _MOST_DAYS:
            self.clear()
        date = dt.date.fromordinal(day + EPOCH_DAY)
        before = f"{_DAYS[date.weekday()]} {_MONTHS[date.month - 1]} {date.day:02d} "
        self[day] = found = (before, f" UTC {date.year}")
        return found


_days: Final = _Days()


@cache
def _clock() -> tuple[list[str], list[str]]:
    """The texts of each minute of a day, up to the second, and of each second of a minute."""
    minutes = [f"{minute // 60:02d}:{minute % 60:02d}:" for minute in range(24 * 60)]
    return minutes, [f"{second:02d}" for second in range(60)]


def day_text(day: int) -> tuple[str, str]:
    """What stands before the time of day, and behind it, on a day since 1970."""
    return _days[day]


def timestamp_texts(ms: Iterable[int]) -> list[str]:
    """Each timestamp, in milliseconds since 1970."""
    return _joined(map(divmod, [each // 1000 for each in ms], repeat(_DAY_S)))


def date_texts(days: Iterable[int]) -> list[str]:
    """Each date, in days since 1970."""
    known = _days
    return [f"{before}00:00:00{behind}" for before, behind in [known[day] for day in days]]


def time_texts(ms: Iterable[int]) -> list[str]:
    """Each time of day, in milliseconds since midnight."""
    return _joined((0, each // 1000) for each in ms)


def moment_text(value: dt.date | dt.time | dt.datetime) -> str:
    """One value; a datetime without a zone counts as UTC."""
    if isinstance(value, dt.time):
        return time_texts([((value.hour * 60 + value.minute) * 60 + value.second) * 1000])[0]
    day, second = value.toordinal() - EPOCH_DAY, 0
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None and value.tzinfo is not dt.UTC:
            return moment_text(value.astimezone(dt.UTC))
        second = (value.hour * 60 + value.minute) * 60 + value.second
    return _joined([(day, second)])[0]


def arrow_timestamp_texts(array: pa.Array) -> list[str]:
    """Each timestamp of an array of timestamp[ms] without nulls."""
    import pyarrow.compute as pc

    # Arrow divides towards zero, and times before 1970 round down: count from the first day there is.
    seconds = pc.divide(pc.subtract(array.view("int64"), _FIRST_DAY * DAY_MS), 1000)
    days = pc.divide(seconds, _DAY_S)
    rest = pc.subtract(seconds, pc.multiply(days, _DAY_S))
    return _joined(zip(pc.add(days, _FIRST_DAY).to_pylist(), rest.to_pylist(), strict=True))


def arrow_date_texts(array: pa.Array) -> list[str]:
    """Each date of an array of date32 without nulls."""
    return date_texts(array.view("int32").to_pylist())


def arrow_time_texts(array: pa.Array) -> list[str]:
    """Each time of day of an array of time32[ms] without nulls."""
    return time_texts(array.view("int32").to_pylist())


def _joined(moments: Iterable[tuple[int, int]]) -> list[str]:
    """The texts of days and the seconds of them."""
    known = _days
    minutes, seconds = _clock()
    return [
        f"{before}{minutes[second // 60]}{seconds[second % 60]}{behind}"
        for (before, behind), second in [(known[day], second) for day, second in moments]
    ]
