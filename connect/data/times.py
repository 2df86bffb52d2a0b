"""Conversion of times to numbers since the epoch or midnight, and back."""

from __future__ import annotations

import datetime as dt
from typing import Final

from connect.errors import DataError

#: What timestamps are counted from, and dates, by their number among Python's.
EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
DAY_MS: Final = 86_400_000

_MILLISECOND: Final = dt.timedelta(milliseconds=1)


def time_ms(value: dt.time) -> int:
    """Milliseconds since midnight."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def timestamp_ms(value: dt.datetime) -> int:
    """Milliseconds since 1970; a time without a zone counts as UTC."""
    return ((value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)) - EPOCH) // _MILLISECOND


def timestamp_of(ms: int) -> dt.datetime:
    """The time this many milliseconds after the beginning of 1970. DataError outside Python's range."""
    try:
        return EPOCH + dt.timedelta(milliseconds=ms)
    except OverflowError:
        raise DataError(f"{ms} ms since 1970 is outside the years 1 to 9999.") from None
