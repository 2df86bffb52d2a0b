"""Dates as Java's `SimpleDateFormat` writes and reads them, in UTC, with English names (KIP-66's TimestampConverter).

    form = JavaDates("yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
    form.format(1700000000123)  # '2023-11-14T22:13:20.123Z'
    form.parse("2023-11-14T23:13:20.123+01:00")  # 1700000000123

Times are milliseconds since the epoch. Reading is lenient as in Java: month 13 is the next January, and text after the
end of the pattern is ignored. Only short names of time zones are known, such as CET and PST. Letters for weeks and eras
are refused, and so are dates before 15 October 1582, for which Java uses the Julian calendar.

https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/text/SimpleDateFormat.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from connect import DataError
from connect.data.times import DAY_MS
from transforms.java_dates_parser import Parser
from transforms.java_dates_pattern import MONTHS, WEEKDAYS, Token, date_of, day_of, tokens, weekday, year_of

_MOST_DAYS: Final = 10_000
_RESOLUTIONS: Final = {**dict.fromkeys("aHkKh", 3_600_000), "m": 60_000, "s": 1000, "S": 1}
_SECONDS: Final = [f"{n:02d}" for n in range(60)]
_MILLIS: Final = [f"{n:03d}" for n in range(1000)]


class JavaDates:
    """One pattern, compiled.

    Args:
        pattern: a pattern of `SimpleDateFormat`.

    Attributes:
        resolution: in milliseconds. Times with the same quotient when divided by it have the same text.

    Raises:
        ValueError: the pattern is not valid; the message names the letter.
    """

    def __init__(self, pattern: str) -> None:
        parts = tokens(pattern)
        self._parts = parts
        self.resolution = min((_RESOLUTIONS.get(part.letter, DAY_MS) for part in parts), default=DAY_MS)
        self._parser: Parser | None = None
        self._days: dict[int, str] = {}
        moving = [part for part in parts if part.letter in _IN_DAY]
        of_minute = [part for part in moving if part.letter in _OF_MINUTE]
        rest = moving[len(of_minute) :]
        self._getters = [_getter(part) for part in moving]
        self._minutes: list[tuple[str, ...]] = []
        #: Whether the pattern is hours and minutes, then `ss` and `SSS`, as nearly always.
        self._plain = moving[: len(of_minute)] == of_minute and [(p.letter, p.count) for p in rest] in (
            [("s", 2), ("S", 3)],
            [("s", 2)],
            [],
        )
        self._endings = len(rest)

    def format(self, ms: int) -> str:
        """A time as text.

        Raises:
            DataError: the time is before 15 October 1582, and the pattern contains the date.
        """
        day, rest = divmod(ms, DAY_MS)
        template = self._days.get(day)
        if template is None:
            template = self._template(day)
        if not self._plain:
            return template % tuple([get(rest) for get in self._getters])
        minute, rest = divmod(rest, 60_000)
        if self._endings == 2:
            return template % (*self._minutes[minute], _SECONDS[rest // 1000], _MILLIS[rest % 1000])
        if self._endings == 1:
            return template % (*self._minutes[minute], _SECONDS[rest // 1000])
        return template % self._minutes[minute]

    def parse(self, text: str) -> int:
        """The time in a text, in milliseconds since the epoch.

        Raises:
            ValueError: the text does not match the pattern. The message does not contain the text.
        """
        if self._parser is None:
            self._parser = Parser(self._parts)
        return self._parser.parse(text)

    def _template(self, day: int) -> str:
        """The text of a day, with %s for the fields that change within it."""
        if self._plain and not self._minutes:
            getters = self._getters[: len(self._getters) - self._endings]
            self._minutes = [tuple(get(60_000 * minute) for get in getters) for minute in range(1440)]
        if len(self._days) >= _MOST_DAYS:
            self._days.clear()
        texts = []
        for part in self._parts:
            if part.letter == "":
                texts.append(part.text.replace("%", "%%"))
            elif part.letter in _IN_DAY:
                texts.append("%s")
            else:
                try:
                    texts.append(_OF_DAY[part.letter](part, day))
                except ValueError as error:
                    raise DataError(str(error)) from None
        template = self._days[day] = "".join(texts)
        return template


# The text of each field, by letter.


def _name(part: Token, names: tuple[str, ...], index: int) -> str:
    return names[index] if part.count > 3 else names[index][:3]


def _year(part: Token, day: int) -> str:
    year = year_of(day)
    return f"{year % 100:02d}" if part.count == 2 else str(year).zfill(part.count)


def _month(part: Token, day: int) -> str:
    month = date_of(day).month
    return str(month).zfill(part.count) if part.count < 3 else _name(part, MONTHS, month - 1)


_OF_DAY: Final[dict[str, Callable[[Token, int], str]]] = {
    "y": _year,
    "M": _month,
    "D": lambda part, day: str(day - day_of(year_of(day), 1, 1) + 1).zfill(part.count),
    "d": lambda part, day: str(date_of(day).day).zfill(part.count),
    "E": lambda part, day: _name(part, WEEKDAYS, weekday(day)),
    "z": lambda part, _: "Coordinated Universal Time" if part.count > 3 else "UTC",
    "Z": lambda *_: "+0000",
    "X": lambda *_: "Z",
}

#: Of the milliseconds of a day.
_OF_MINUTE: Final[dict[str, Callable[[int], Any]]] = {
    "a": lambda ms: "AM" if ms < DAY_MS // 2 else "PM",
    "H": lambda ms: ms // 3_600_000,
    "k": lambda ms: ms // 3_600_000 or 24,
    "K": lambda ms: ms // 3_600_000 % 12,
    "h": lambda ms: ms // 3_600_000 % 12 or 12,
    "m": lambda ms: ms // 60_000 % 60,
}
_IN_DAY: Final[dict[str, Callable[[int], Any]]] = {
    **_OF_MINUTE,
    "s": lambda ms: ms // 1000 % 60,
    "S": lambda ms: ms % 1000,
}


def _getter(part: Token) -> Callable[[int], str]:
    value, count = _IN_DAY[part.letter], part.count if part.letter != "a" else 0
    return lambda ms: str(value(ms)).zfill(count)
