"""The parts of a pattern for dates: letters and literal text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_LETTERS: Final = "GyMLdkHmsSEDFwWahKzZYuX"
_MOST_LETTERS: Final = 255


@dataclass(frozen=True, slots=True)
class Token:
    """A letter, `count` times; or literal text, with "" for the letter."""

    letter: str
    count: int
    text: str = ""


def tokens(pattern: str) -> list[Token]:
    """The parts of a pattern, neighbouring literals joined.

    Raises:
        ValueError: a letter means nothing, or a quote is not closed.
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


def _field(pattern: str, letter: str, count: int) -> Token:
    if letter not in _LETTERS:
        raise ValueError(
            f"\"{pattern}\" has the letter {letter}, which means nothing. Put text between quotes: '{letter}'."
        )
    if letter == "X" and count > 3:
        raise ValueError(f'"{pattern}" has {"X" * count}, and a time zone is X, XX or XXX.')
    if count > _MOST_LETTERS:
        raise ValueError(f"The pattern repeats {letter} {count} times; {_MOST_LETTERS} is the most.")
    return Token(letter, count)


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """The text between quotes, or the quote that two of them stand for, and where the pattern goes on."""
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
