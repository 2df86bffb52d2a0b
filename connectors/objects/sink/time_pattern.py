"""Patterns of dates and times as Java writes them (`'year'=YYYY/'month'=MM`), formatted from milliseconds.

Letters are Joda-Time's, which Confluent's partitioners use: Y and y are the year, D the day of the year, e the number
of the day of the week, S fractions of a second.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from typing import Final
from zoneinfo import ZoneInfo

_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
#: In blocks of this length, counted from the epoch, the distance from UTC never changes, in any zone of today.
_BLOCK_MS: Final = 15 * 60 * 1000
#: Before 1980 some zones were seconds apart from that, so that an hour of theirs could begin within a block.
_EVEN_MS: Final = 315_532_800_000
_MOST_REMEMBERED: Final = 10_000

Part = Callable[[dt.datetime], str]


class TimePattern:
    """Formats milliseconds since the epoch.

    Args:
        pattern: in Joda-Time's letters.
        zone: whose dates and times are meant.
        duration_ms: times are cut down to a multiple of it, in the zone's own time, before they are formatted.

    Raises:
        ValueError: the pattern has an unknown letter or an unclosed quote.
    """

    def __init__(self, pattern: str, zone: ZoneInfo, duration_ms: int) -> None:
        self._parts = list(_parts(pattern))
        self._zone = zone
        self._duration = duration_ms
        self._unit = math.gcd(duration_ms, _BLOCK_MS)
        self._known: dict[int, str] = {}

    def all_of(self, times: list[int]) -> list[str]:
        """Each time formatted."""
        known, unit = self._known, self._unit
        found = []
        for time in times:
            block = time // unit
            text = known.get(block)
            if text is None:
                if len(known) >= _MOST_REMEMBERED:
                    known.clear()
                text = self._text(time)
                if time >= _EVEN_MS:
                    known[block] = text
            found.append(text)
        return found

    def _text(self, time: int) -> str:
        try:
            moment = dt.datetime.fromtimestamp(time / 1000, dt.UTC).astimezone(self._zone)
        except (OverflowError, ValueError, OSError):
            raise ValueError(f"{time} ms since 1970 is outside the range of dates.") from None
        offset = round((moment.utcoffset() or dt.timedelta()).total_seconds() * 1000)
        cut = (time + offset) // self._duration * self._duration
        # The zone's local time, with the zone attached, so that zone patterns can be formatted.
        local = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=cut)  # noqa: DTZ001  the zone follows
        return "".join(part(local.replace(tzinfo=self._zone)) for part in self._parts)


def has_words(pattern: str) -> bool:
    """Whether names of months or days occur in it: these are English only."""
    return any(
        match[2] and match[0][0] in "MEa" and (len(match[0]) >= 3 or match[0][0] in "Ea")
        for match in _TOKEN.finditer(pattern)
    )


def _parts(pattern: str) -> list[Part]:
    found: list[Part] = []
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            raise ValueError(f'"{pattern}" has an unclosed quote at character {at + 1}.')
        at = match.end()
        quoted, letter, other = match.groups()
        if quoted is not None:
            found.append(_constant(quoted.replace("''", "'") if quoted else "'"))
        elif letter:
            found.append(_letter(letter, len(match[0]), pattern))
        else:
            found.append(_constant(other))
    return found


def _constant(text: str) -> Part:
    return lambda _: text


def _number(width: int, of: Callable[[dt.datetime], int]) -> Part:
    return lambda moment: f"{of(moment):0{width}d}"


def _year(moment: dt.datetime, letter: str) -> int:
    return moment.isocalendar().year if letter == "x" else moment.year


def _letter(letter: str, count: int, pattern: str) -> Part:
    numbers: dict[str, Callable[[dt.datetime], int]] = {
        "d": lambda moment: moment.day,
        "D": lambda moment: moment.timetuple().tm_yday,
        "H": lambda moment: moment.hour,
        "k": lambda moment: moment.hour or 24,
        "K": lambda moment: moment.hour % 12,
        "h": lambda moment: moment.hour % 12 or 12,
        "m": lambda moment: moment.minute,
        "s": lambda moment: moment.second,
        "w": lambda moment: moment.isocalendar().week,
        "e": lambda moment: moment.isoweekday(),
        "C": lambda moment: moment.year // 100,
    }
    if letter in numbers:
        return _number(count, numbers[letter])
    match letter:
        case "Y" | "y" | "u" | "x":
            if count == 2:
                return lambda moment: f"{_year(moment, letter) % 100:02d}"
            return _number(count, lambda moment: _year(moment, letter))
        case "M" | "L":
            if count < 3:
                return _number(count, lambda moment: moment.month)
            return lambda moment: _MONTHS[moment.month - 1][: 3 if count == 3 else None]
        case "E":
            return lambda moment: _DAYS[moment.weekday()][: 3 if count < 4 else None]
        case "S":
            return lambda moment: f"{moment.microsecond:06d}".ljust(count, "0")[:count]
        case "a":
            return lambda moment: "AM" if moment.hour < 12 else "PM"
        case "G":
            return _constant("AD")
        case "Z":
            return lambda moment: (
                f"{moment:%z}"
                if count == 1
                else f"{moment:%z}"[:3] + ":" + f"{moment:%z}"[3:5]
                if count == 2
                else str(moment.tzinfo)
            )
        case "z":
            return lambda moment: f"{moment:%Z}"
    raise ValueError(
        f"\"{pattern}\" has the letter {letter}, which is not a letter of date patterns. Quote text: 'text'."
    )
