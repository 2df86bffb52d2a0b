"""Reading dates by a pattern as Java's `SimpleDateFormat` does.

The pattern becomes one regular expression, which matches from left to right without backtracking, as Java does. That,
and converting its groups, costs several microseconds per text. So a text is read in pieces whose times add up (day,
hour and minute, second, the rest), and the time of each piece is cached: by its position in the text where every field
has a fixed width, else by its groups.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

from connect.data.times import DAY_MS, EPOCH_DAY
from transforms.java_dates_pattern import JULIAN, MONTHS, WEEKDAYS, Token, day_of, weekday

_MOST_PIECES: Final = 100_000
#: Minutes by the names of time zones. Some begin with another, and Java takes the first that matches.
_ZONES: Final = {
    "PST": -480, "PDT": -420, "MST": -420, "MDT": -360, "CST": -360, "CDT": -300, "EST": -300, "EDT": -240,
    "HST": -600, "HDT": -600, "AKST": -540, "AKDT": -480, "AST": -240, "ADT": -180, "NST": -210, "NDT": -150,
    "CET": 60, "CEST": 120, "IST": 120, "IDT": 180, "JST": 540, "JDT": 540, "EET": 120, "EEST": 180, "UTC": 0,
    "BST": 60, "NZST": 720, "NZDT": 780, "ACST": 570, "ACDT": 570, "AEST": 600, "AEDT": 660, "CAT": 120, "EAT": 180,
    "PKT": 300, "PKST": 300, "KST": 540, "WET": 0, "WEST": 60, "MSK": 180, "HKT": 480, "HKST": 480, "SST": -660,
    "HAST": -600, "HADT": -540, "WAT": 60, "WIB": 420, "SAST": 120, "WIT": 540, "AWST": 480, "AWDT": 480,
    "COORDINATED UNIVERSAL TIME": 0, "GREENWICH MEAN TIME": 0,
}  # fmt: skip
_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000

_Time = Callable[[str, dict[str, int]], int]


class Parser:
    """Reads texts of one pattern. Years of two digits lie between 80 years before and 20 years after its creation."""

    def __init__(self, parts: Sequence[Token]) -> None:
        self._takes = re.compile(
            "".join(_expression(*each) for each in zip(parts, [*parts[1:], None], strict=True)), re.IGNORECASE
        )
        today = dt.datetime.now(dt.UTC)
        century = dt.date(today.year - 80, today.month, min(today.day, 28))
        fields = list(enumerate((part for part in parts if part.letter), 1))
        of_kinds = [[each for each in fields if each[1].letter in kind] for kind in _TIMES]
        self._pieces = [
            _Piece(those, time, century) for those, time in zip(of_kinds, _TIMES.values(), strict=True) if those
        ]
        self._fixed = self._pieces if self._pieces and _fix(parts, self._pieces) else []

    def parse(self, text: str) -> int:
        """Milliseconds since the epoch. Raises ValueError."""
        total = 0
        for piece in self._fixed:
            key = text[piece.start : piece.stop]
            if piece.more is not None:
                key += text[piece.more[0] : piece.more[1]]
            found = piece.by_place.get(key)
            if found is None:
                break
            total += found
        else:
            if self._fixed:
                return total
        match = self._takes.match(text)
        if match is None:
            raise ValueError("The text does not match the pattern.")
        total = 0
        all_groups = match.groups()
        for piece in self._pieces:
            groups = piece.pick(all_groups)
            found = piece.by_groups.get(groups)
            if found is None:
                found = piece.learn(groups)
            total += found
            if self._fixed and match.end() == len(text):
                piece.learn_place(match, found)
        return total


class _Piece:
    """Fields whose time adds up with that of the other pieces, and a cache of their times.

    Args:
        fields: with the numbers of their groups.
        time: returns milliseconds from the letters, in the pattern's order, and the value of each.
        century: the first day of the hundred years that years of two digits lie in.

    Attributes:
        numbers: of the groups.
        pick: picks the piece's groups out of all groups.
        by_groups: times by the content of the groups.
        by_place: times by the text between `start` and `stop`, and in `more`, the second range where there is one.
        spans: where the groups stand in texts of fixed widths: number, begin, end.
    """

    def __init__(self, fields: Sequence[tuple[int, Token]], time: _Time, century: dt.date) -> None:
        self.numbers = [number for number, _ in fields]
        self.pick = itemgetter(*(number - 1 for number in self.numbers))
        self.by_groups: dict[str | tuple[str, ...], int] = {}
        self.by_place: dict[str, int] = {}
        self.start = -1
        self.stop: int | None = None
        self.more: tuple[int, int | None] | None = None
        self.spans: list[tuple[int, int, int | None]] = []
        self._fields = [part for _, part in fields]
        self._letters = "".join(part.letter for part in self._fields)
        self._time = time
        self._century = century

    def learn(self, groups: str | tuple[str, ...]) -> int:
        """The time of the groups, which is cached. Raises ValueError."""
        said: dict[str, int] = {}
        again = None
        for part, text in zip(self._fields, (groups,) if isinstance(groups, str) else groups, strict=True):
            value = said[part.letter] = _value(part, text)
            if part.letter == "y" and part.count <= 2 and len(text) == 2 and text.isdigit():
                first = self._century.year
                said["y"] = value + first // 100 * 100 + (100 if value < first % 100 else 0)
                again = said["y"] + 100 if said["y"] == first else None
        found = self._time(self._letters, said)
        if again is not None and found < (self._century.toordinal() - EPOCH_DAY) * DAY_MS:
            found = self._time(self._letters, {**said, "y": again})
        if len(self.by_groups) >= _MOST_PIECES:
            self.by_groups.clear()
        self.by_groups[groups] = found
        return found

    def learn_place(self, match: re.Match[str], found: int) -> None:
        """Cache the time of the text at the piece's position, if its fields have their usual widths."""
        if any(match.span(number) != (start, stop or match.end()) for number, start, stop in self.spans):
            return
        if len(self.by_place) >= _MOST_PIECES:
            self.by_place.clear()
        key = match.string[self.start : self.stop]
        if self.more is not None:
            key += match.string[self.more[0] : self.more[1]]
        self.by_place[key] = found


def _fix(parts: Sequence[Token], pieces: Sequence[_Piece]) -> bool:
    """Set the position of each piece in a text. False if one has no fixed width, or lies in more than two ranges."""
    at = number = 0
    piece = last = None
    for index, part in enumerate(parts, 1):
        width = _width(part)
        if width is None and index < len(parts):
            return False
        stop = None if index == len(parts) else at + (width or 0)
        if part.letter:
            number += 1
        if part.letter or piece is None:
            piece = next(piece for piece in pieces if max(number, 1) in piece.numbers)
        if part.letter:
            piece.spans.append((number, at, stop))
        if piece.start < 0:
            piece.start, piece.stop = at, stop
        elif piece is last and piece.more is None:
            piece.stop = stop
        elif piece is last or piece.more is None:
            piece.more = (at if piece.more is None else piece.more[0], stop)
        else:
            return False
        at, last = stop or at, piece
    return True


def _day(letters: str, said: dict[str, int]) -> int:
    """Milliseconds up to a day. A missing month or day is the first one, a missing year is 1970."""
    year, month = said.get("y", 1970), said.get("M", 1)
    if letters.rfind("D") > letters.rfind("d"):
        if year == 1582:
            raise ValueError(JULIAN)
        day = day_of(year, 1, said["D"])
    elif "d" in said or "E" not in said:
        day = day_of(year, month, said.get("d", 1))
    else:  # the first such day of the month
        day = day_of(year, month, 7)
        day -= (weekday(day) - said["E"]) % 7
    return day * DAY_MS


def _hours(letters: str, said: dict[str, int]) -> int:
    """Milliseconds of hours and minutes. If a pattern has hours of 24 and hours of 12, the later one counts."""
    of_day = max(letters.rfind("H"), letters.rfind("k"))
    of_half = max(letters.rfind("K"), letters.rfind("h"))
    half = of_half
    if of_half >= 0 and "a" in said:
        half = max(half, letters.rfind("a"))
    elif of_day >= 0:  # without AM or PM, hours of 24 win
        half = -1
    hours = said["m"] * _MINUTE_MS if "m" in said else 0
    if of_day > half:
        return hours + said[letters[of_day]] * _HOUR_MS
    if of_half >= 0:
        hours += said[letters[of_half]] * _HOUR_MS
    return hours + said.get("a", 0) * 12 * _HOUR_MS


def _rest(letters: str, said: dict[str, int]) -> int:
    """Milliseconds of a second, and of the time zone."""
    zone = max((letter for letter in said if letter != "S"), key=letters.rfind, default="")
    return said.get("S", 0) - said.get(zone, 0) * _MINUTE_MS


#: The time of each piece, by its letters.
_TIMES: Final[dict[str, _Time]] = {
    "yMdDE": _day,
    "HkKhma": _hours,
    "s": lambda _, said: said["s"] * 1000,
    "SzZX": _rest,
}


def _value(part: Token, text: str) -> int:
    """The value of a field's text."""
    letter = part.letter
    if letter == "E" or (letter == "M" and part.count > 2):
        return _index(WEEKDAYS, text) if letter == "E" else _index(MONTHS, text) + 1
    if letter == "a":
        return int(text[0] in "pP")
    if letter in "zZX":
        return _zone(text)
    value = _int(text)
    return 0 if (letter, value) in (("k", 24), ("h", 12)) else value


def _width(part: Token) -> int | None:
    """How many characters a field nearly always has."""
    if not part.letter:
        return len(part.text)
    if part.letter == "M" and part.count > 2:
        return 3 if part.count == 3 else None
    if part.letter in "EXz":
        return 3 if part.letter in "Ez" and part.count <= 3 else None
    if part.letter in "Za":
        return 5 if part.letter == "Z" else 2
    if part.letter == "y" and part.count == 2:
        return 2
    return part.count if part.count > 1 else None


# The regular expression for each part of a pattern, and the values of its matches.


def _expression(part: Token, following: Token | None) -> str:
    letter = part.letter
    if not letter:
        return f"(?-i:{re.escape(part.text)})"
    if letter == "M" and part.count > 2:
        return _names(MONTHS)
    if letter == "E":
        return _names(WEEKDAYS)
    if letter == "a":
        return "(?>(AM|PM))"
    if letter in "zZ":
        names = "|".join(_ZONES)
        return rf"[ \t]*+(?>([-+](?:[01]\d|2[0-3])[0-5]\d|GMT(?![-+])|GMT[-+](?:[01]?\d|2[0-3]):[0-5]\d|{names}))"
    if letter == "X":
        rest = ("", r"[0-5]\d", r":[0-5]\d")[part.count - 1]
        return rf"(?-i:[ \t]*+(Z|[-+](?:[01]\d|2[0-3]){rest}))"
    if following is not None and _is_number(following):
        return _number_of_width(part.count)
    return r"[ \t]*+(-?\d++)"


def _names(names: Sequence[str]) -> str:
    return f"(?>({'|'.join([*names, *(name[:3] for name in names)])}))"


def _is_number(part: Token) -> bool:
    return bool(part.letter) and part.letter not in "EaXzZ" and not (part.letter == "M" and part.count > 2)


def _number_of_width(width: int) -> str:
    """A number followed directly by another one, so it ends after `width` characters, including leading blanks."""
    ways = [
        rf"[ \t]{{{blanks}}}(?:-\d{{1,{width - blanks - 1}}}|\d{{1,{width - blanks}}})"
        if width - blanks > 1
        else rf"[ \t]{{{blanks}}}\d"
        for blanks in range(width)
    ]
    return rf"(?=(?s:.{{{width}}}))(?>({'|'.join(ways)}))"


def _index(names: Sequence[str], found: str) -> int:
    return next(i for i, name in enumerate(names) if name[:3].lower() == found[:3].lower())


def _int(group: str) -> int:
    """A number as Java's `intValue` gives it."""
    value = int(group)
    if not -(1 << 63) <= value < 1 << 63:
        return (1 << 31) - 1 if value > 0 else -(1 << 31)
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _zone(group: str) -> int:
    """Minutes ahead of UTC."""
    known = _ZONES.get(group.upper())
    if known is not None:
        return known
    digits = group.upper().removeprefix("GMT")
    if digits in ("", "Z"):
        return 0
    if ":" in digits:
        hours, minutes = map(int, digits[1:].split(":"))
    else:
        hours, minutes = int(digits[1:3]), int(digits[3:] or 0)
    return (hours * 60 + minutes) * (-1 if digits[0] == "-" else 1)
