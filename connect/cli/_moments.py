"""Points in time, and durations, as people write them on a command line."""

from __future__ import annotations

import argparse
import datetime as dt
import re
import time
from typing import Final

from connect.data.times import timestamp_ms
from connect.errors import ConfigError

_AGO: Final = re.compile(r"(\d{1,9})\s*(s|m|h|d|w)")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def milliseconds(option: str, text: str | None) -> int | None:
    """Milliseconds since the epoch: 2h is two hours ago, 2026-01-02T03:04 is in UTC by default, digits are such.

    Raises:
        ConfigError: it is none of these.
    """
    if text is None:
        return None
    text = text.strip()
    if found := _AGO.fullmatch(text):
        return int(time.time() * 1000) - int(found[1]) * _UNITS_S[found[2]] * 1000
    if text.isascii() and text.isdigit() and 5 <= len(text) <= 18:
        return int(text)
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            option, f'"{text}" is not a time. Write 2h (ago), 2026-01-02T03:04, or milliseconds.'
        ) from None
    return timestamp_ms(moment)


def seconds(text: str) -> float:
    """A duration, for argparse: more than nothing, and less than an hour."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds: write 5, or 0.5")
    return found


def in_words(milliseconds: int) -> str:
    """A time since the epoch, to the second, in this machine's zone."""
    return dt.datetime.fromtimestamp(milliseconds / 1000).astimezone().isoformat(timespec="seconds")
