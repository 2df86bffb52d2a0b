"""The parts of a date pattern (letters and literal text), and the arithmetic of days."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from connect.data.times import EPOCH_DAY

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_LETTERS: Final = "yMLdkHmsSEDahKzZX"
#: Letters of Java that are refused here, with what to write instead.
_REFUSED: Final = {
    "G": "the era: write 'AD' between quotes",
    "Y": "the year of a week: write y, the year of a day",
    "w": "the week of the year: write D, the day of the year, or M and d",
    "W": "the week of the month: write d, the day of the month",
    "F": "the number of a weekday in its month: write d, the day of the month",
    "u": "the number of the weekday: write E, its name",
}
_MOST_LETTERS: Final = 255
_CYCLE: Final = 146_097  # days of 400 years
_FIRST: Final = -141_427  # 15 October 1582
#: Why a date has no text, or a text no date. Java also counts the days of the year 1582 from a Julian January.
JULIAN: Final = (
    "Dates before 15 October 1582, for which Java uses the Julian calendar, cannot be converted to or from text, and "
    "neither can the day of the year 1582. Leave them as numbers, dates or timestamps."
)


@dataclass(frozen=True, slots=True)
class Token:
    """A letter, `count` times; or literal text, with "" for the letter."""

    letter: str
    count: int
    text: str = ""


def tokens(pattern: str) -> list[Token]:
    """The parts of a pattern, neighbouring literals joined.

    Raises:
        ValueError: a letter is unknown or refused, or a quote is not closed.
    """
    found: list[Token] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "'":
            text, at = _quoted(pattern, at)
        elif not (char.isascii() and char.isalpha()):
            text, at = char, at + 1
        else:
            end = at
            while pattern[end : end + 1] == char:
                end += 1
            found.append(_field(pattern, char, end - at))
            at = end
            continue
        if found and found[-1].letter == "":
            text = found.pop().text + text
        if text:
            found.append(Token("", 0, text))
    return found


def date_of(day: int) -> dt.date:
    """The date of a day; day 0 is 1970-01-01. Its year is counted within a cycle of 400 years: see `year_of`.

    Raises:
        ValueError: the day is before 15 October 1582.
    """
    if day < _FIRST:
        raise ValueError(JULIAN)
    return dt.date.fromordinal((day + EPOCH_DAY - 1) % _CYCLE + 1)


def year_of(day: int) -> int:
    """The year of a day."""
    return date_of(day).year + (day + EPOCH_DAY - 1) // _CYCLE * 400


def day_of(year: int, month: int, day: int) -> int:
    """The day of a date; month and day may be outside their ranges. Raises ValueError as `date_of`."""
    if year < 1582:
        raise ValueError(JULIAN)
    years, month = divmod(month - 1, 12)
    cycles, of_cycle = divmod(year + years - 1, 400)
    found = cycles * _CYCLE + dt.date(of_cycle + 1, month + 1, 1).toordinal() + day - 1 - EPOCH_DAY
    date_of(found)
    return found


def weekday(day: int) -> int:
    """0 for Sunday to 6 for Saturday."""
    return (day + 4) % 7


def _field(pattern: str, letter: str, count: int) -> Token:
    if letter in _REFUSED:
        raise ValueError(f'"{pattern}" has the letter {letter}, which is not supported. It is {_REFUSED[letter]}.')
    if letter not in _LETTERS:
        raise ValueError(
            f'"{pattern}" has the letter {letter}, which is not a letter of date patterns. Put text between quotes: '
            f"'{letter}'."
        )
    if letter == "X" and count > 3:
        raise ValueError(f'"{pattern}" has {"X" * count}, but a time zone is X, XX or XXX.')
    if count > _MOST_LETTERS:
        raise ValueError(f"The pattern repeats {letter} {count} times; the maximum is {_MOST_LETTERS}.")
    return Token("M" if letter == "L" else letter, count)


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """The text between quotes, or the quote that two of them stand for, and the position after it."""
    if pattern.startswith("''", at):
        return "'", at + 2
    text = ""
    at += 1
    while True:
        end = pattern.find("'", at)
        if end < 0:
            raise ValueError(f'"{pattern}" has a quote that is not closed. Write two quotes for one.')
        text += pattern[at:end]
        if not pattern.startswith("''", end):
            return text, end + 1
        text, at = text + "'", end + 2
