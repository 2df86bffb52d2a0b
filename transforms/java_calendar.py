"""Days and the calendar that Java's date formats count them by: Julian before 15 October 1582, Gregorian since.

A day is a number, 0 for 1970-01-01. Years count on below 1: 0 is 1 BC. Weeks are those of the United States: they begin
on Sunday, and the first one has 1 January in it. Fields may lie outside of their range: month 13 is the January after,
as `java.util.Calendar` has it when it is lenient, which it is for Kafka Connect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

DAY_MS: Final = 86_400_000

_GREGORIAN: Final = -141_427  # 1582-10-15
_EPOCH_FROM_MARCH: Final = 719_468  # days from 0000-03-01 to 1970-01-01, Gregorian


class Date(NamedTuple):
    """A day in years, months (1 to 12) and days."""

    year: int
    month: int
    day: int


def date_of(day: int) -> Date:
    """The date of a day."""
    shifted = day + _EPOCH_FROM_MARCH
    if day >= _GREGORIAN:
        era, of_era = divmod(shifted, 146_097)
        year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
        year = year_of_era + era * 400
    else:
        era, of_era = divmod(shifted + 2, 1_461)
        year_of_era = (of_era - of_era // 1_460) // 365
        of_year = of_era - 365 * year_of_era
        year = year_of_era + era * 4
    months = (5 * of_year + 2) // 153  # since March
    return Date(year + (months >= 10), (months + 2) % 12 + 1, of_year - (153 * months + 2) // 5 + 1)


def day_of(year: int, month: int, day: int) -> int:
    """The day of a date; month and day may be outside of their ranges."""
    gregorian = _count(year, month, day, julian=False)
    if year > 1581 and gregorian >= _GREGORIAN:
        return gregorian
    return _count(year, month, day, julian=True)


def _count(year: int, month: int, day: int, *, julian: bool) -> int:
    years, month = divmod(month - 1, 12)
    year += years - (month < 2)
    days = (153 * ((month + 10) % 12) + 2) // 5 + day - 1 + 365 * year + year // 4 - _EPOCH_FROM_MARCH
    return days - 2 if julian else days - year // 100 + year // 400


def weekday(day: int) -> int:
    """0 for Sunday to 6 for Saturday."""
    return (day + 4) % 7


def day_of_year(day: int) -> int:
    """1 for the first of January."""
    return day - day_of(date_of(day).year, 1, 1) + 1


def week_of_year(day: int) -> tuple[int, int]:
    """The year that a day's week belongs to, and the week's number in it."""
    year = date_of(day).year
    sunday = day - weekday(day)
    if sunday + 6 >= day_of(year + 1, 1, 1):
        return year + 1, 1
    first = day_of(year, 1, 1)
    return year, (sunday - (first - weekday(first))) // 7 + 1


def week_of_month(day: int) -> int:
    """1 for the week that has the first of the month in it."""
    date = date_of(day)
    return (date.day - 1 + weekday(day - date.day + 1)) // 7 + 1


def day_from(fields: Mapping[str, int]) -> int:
    """The day that fields of a pattern say, by its letters: G y Y M w W D d F E.

    The fields are in the order in which the text gave them: where they say more than one day, those count that came
    last. What is not said is the first of its kind, and 1970 for the year.

    Args:
        fields: values by letter; months from 1, E from 0 for Sunday, G 0 for BC.
    """
    order = {letter: place for place, letter in enumerate(fields, 1)}
    if order.get("Y", 0) > order.get("y", 0):
        first = day_of(fields["Y"], 1, 1)
        of_week = fields.get("E", 0)
        if not 0 <= of_week < 7:  # a number of days from Monday, which Sunday begins anew
            of_week = of_week // 7 * 7 + (of_week + 1) % 7
        return first - weekday(first) + of_week + 7 * (fields.get("w", 1) - 1)
    year = fields.get("y", 1970)
    if fields.get("G", 1) == 0:
        year = 1 - year
    match _said_last(order):
        case "D":
            return day_of(year, 1, 1) + fields["D"] - 1
        case "w":
            return _in_week(day_of(year, 1, 1), fields["w"], fields.get("E"))
        case "W":
            return _in_week(day_of(year, fields.get("M", 1), 1), fields["W"], fields.get("E"))
        case "F":
            return _nth_weekday(year, fields.get("M", 1), fields.get("F", 1), fields.get("E", 0))
    return day_of(year, fields.get("M", 1), fields.get("d", 1))


def _said_last(order: Mapping[str, int]) -> str:
    """Which field says the day: the one that was given last, with those that it needs."""
    weekday_at = order.get("E", 0)
    complete = {letter: order[letter] for letter in "dD" if letter in order}
    if weekday_at:
        complete |= {letter: max(order[letter], weekday_at) for letter in "WFw" if letter in order}
    if complete:
        return max(complete, key=lambda letter: (complete[letter], order[letter]))
    alone = {letter: order[letter] for letter in "WFw" if letter in order}
    if weekday_at:
        alone["F"] = max(alone.get("F", 0), weekday_at)
    return max(alone, key=lambda letter: alone[letter]) if alone else "d"


def _in_week(first: int, week: int, of_week: int | None) -> int:
    return first - weekday(first) + (of_week or 0) % 7 + 7 * (week - 1)


def _nth_weekday(year: int, month: int, nth: int, of_week: int) -> int:
    if nth < 0:
        first = day_of(year, month + 1, 1) + 7 * (nth + 1)
        return first - 1 - (weekday(first - 1) - of_week) % 7
    last = day_of(year, month, 1) + 7 * nth - 1
    return last - (weekday(last) - of_week) % 7
