"""Dates, times of day and timestamps in Arrow as `java.util.Date` prints them in UTC, null for null.

The same as `connect.data.time_texts`, without an object of Python for a value: the texts of days and of the seconds of
a day are tables, from which a column takes its own. Imported only where columns are in Arrow: it loads pyarrow.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from connect.data import logical, time_texts
from connect.data.times import DAY_MS, EPOCH_DAY

_DAY_S: Final = DAY_MS // 1000
_FIRST_DAY: Final = dt.date.min.toordinal() - EPOCH_DAY
_LAST_DAY: Final = dt.date.max.toordinal() - EPOCH_DAY
_AT_ONCE: Final = 512  # days whose texts are made together
_MOST_DAYS: Final = 65_536  # in a table: 180 years, 2 MB


def timestamp_texts(array: pa.Array) -> pa.Array:
    """Each timestamp of an array of timestamp[ms]."""
    # Arrow divides towards zero, and times before 1970 round down: count from the first day there is.
    seconds = pc.divide(pc.subtract(array.view(pa.int64()), _FIRST_DAY * DAY_MS), 1000)
    days = pc.divide(seconds, _DAY_S)
    clock = _clock().take(pc.subtract(seconds, pc.multiply(days, _DAY_S)))
    before, behind = _around_day(pc.add(days, _FIRST_DAY))
    return _joined(before, clock, behind)


def date_texts(array: pa.Array) -> pa.Array:
    """Each date of an array of date32."""
    before, behind = _around_day(array.view(pa.int32()))
    return _joined(before, pa.scalar("00:00:00"), behind)


def time_of_day_texts(array: pa.Array) -> pa.Array:
    """Each time of day of an array of time32[ms]."""
    before, behind = time_texts.day_text(0)
    clock = _clock().take(pc.divide(array.view(pa.int32()), 1000))
    return _joined(pa.scalar(before), clock, pa.scalar(behind))


class _Days(NamedTuple):
    """The texts of days that follow each other: what stands before the time of day, and what behind it."""

    first: int
    last: int
    before: pa.Array
    behind: pa.Array

    def of(self, days: pa.Array) -> tuple[pa.Array, pa.Array]:
        rows = pc.subtract(days, self.first)
        return self.before.take(rows), self.behind.take(rows)


_known: _Days | None = None


def _around_day(days: pa.Array) -> tuple[pa.Array, pa.Array]:
    """What stands before the time of day, and behind it, of days since 1970."""
    global _known  # only ever replaced as a whole
    if days.null_count == len(days):
        nulls = pa.nulls(len(days), pa.string())
        return nulls, nulls
    first, last = (each.as_py() for each in pc.min_max(days).values())
    if (known := _known) is not None:
        first, last = min(first, known.first), max(last, known.last)
        if (first, last) == (known.first, known.last):
            return known.of(days)
    if last - first >= _MOST_DAYS:
        distinct = days.dictionary_encode()
        before, behind = _made(distinct.dictionary.to_pylist())
        return before.take(distinct.indices), behind.take(distinct.indices)
    first = max(first // _AT_ONCE * _AT_ONCE, _FIRST_DAY)
    last = min(last // _AT_ONCE * _AT_ONCE + _AT_ONCE - 1, _LAST_DAY)
    _known = known = _Days(first, last, *_made(range(first, last + 1)))
    return known.of(days)


def _made(days: list[int] | range) -> tuple[pa.Array, pa.Array]:
    before, behind = zip(*map(time_texts.day_text, days), strict=True)
    return pa.array(before, pa.string()), pa.array(behind, pa.string())


@cache
def _clock() -> pa.Array:
    """The text of each second of a day."""
    return pa.array([f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}" for second in range(_DAY_S)])


def _joined(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, pa.scalar(""))


#: By the name of a logical type, the texts of an array of it.
TEXTS: Final[dict[str | None, Callable[[pa.Array], pa.Array]]] = {
    logical.TIMESTAMP_NAME: timestamp_texts,
    logical.DATE_NAME: date_texts,
    logical.TIME_NAME: time_of_day_texts,
}
