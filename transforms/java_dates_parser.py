"""Reading dates by a pattern as Java's `SimpleDateFormat` does.

The pattern becomes one regular expression, which takes a text from left to right without ever going back, as Java does.
That costs several microseconds a text, so it is cut into pieces whose times add up (a day, hour and minute, a second,
the rest), and what each piece says is remembered: cut by position where every field has a fixed width, else by a
regular expression.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Final

from transforms.java_calendar import DAY_MS, day_from
from transforms.java_dates_pattern import MONTHS, WEEKDAYS, Token

_MOST_PIECES: Final = 100_000
_KINDS: Final = tuple(map(frozenset, ("GyYMLwWDdFEu", "HkKhm", "a", "s", "SzZX")))
_DAY: Final = _KINDS[0]
#: Minutes by the names of time zones. Some begin with another, and Java takes the first that fits.
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


#: A part of a pattern and the one behind it, on which it depends how much a number takes.
_Followed = tuple[Token, Token | None]


class Parser:
    """Reads texts of one pattern. Years of two digits lie within 80 years before and 20 years after its making."""

    def __init__(self, parts: Sequence[Token]) -> None:
        today = dt.datetime.now(dt.UTC)
        start = today.replace(day=min(today.day, 28), year=today.year - 80)
        followed = list(zip(parts, [*parts[1:], None], strict=True))
        self._whole = _Reader(followed, start)
        self._pieces = _pieces(followed, start)
        self._cut = None if self._pieces else _cut(followed, start)

    def parse(self, text: str) -> int:
        """Milliseconds since the epoch. Raises ValueError."""
        total = 0
        if self._cut is not None:
            found_by_cut = self._cut.read(text)
            if found_by_cut is not None:
                return found_by_cut
        for piece in self._pieces:
            key = text[piece.start : piece.stop]
            head = len(key)
            if piece.more is not None:
                key += text[piece.more[0] : piece.more[1]]
            found = piece.known.get(key)
            if found is None:
                found = piece.learn(key, head)
                if found is None:
                    break
            total += found
        else:
            if self._pieces:
                return total
        result = self._whole.read(text)
        if result is None:
            raise ValueError("The text does not follow the pattern.")
        return result[0]


class _Reader:
    """One regular expression, and what its groups mean."""

    def __init__(self, parts: Sequence[_Followed], century: dt.datetime) -> None:
        self._century = century
        self._fields = [part for part, _ in parts if part.letter]
        self._takes = re.compile("".join(_expression(*each) for each in parts), re.IGNORECASE)

    def read(self, text: str) -> tuple[int, int] | None:
        """The time that a text says and where the pattern ended; None when it does not follow the pattern."""
        match = self._takes.match(text)
        if match is None:
            return None
        date: dict[str, int] = {}
        clock: dict[str, int] = {}
        ambiguous = False
        for part, group in zip(self._fields, match.groups(), strict=True):
            letter = part.letter
            if letter in _DAY:
                value = _day_field(part, group)
                if letter in "yY" and part.count <= 2 and len(group) == 2 and group.isdigit():
                    ambiguous = value == self._century.year % 100
                    value += self._century.year // 100 * 100 + (100 if value < self._century.year % 100 else 0)
                letter = {"L": "M", "u": "E"}.get(letter, letter)
                date.pop(letter, None)  # what is said again is said last
                date[letter] = value
            else:
                clock.pop(letter, None)
                clock[letter] = _clock_field(part, group)
        ms = _clock(clock)
        time = day_from(date) * DAY_MS + ms
        if ambiguous and time < self._century.timestamp() * 1000:
            letter = "Y" if "Y" in date else "y"
            date[letter] += 100
            time = day_from(date) * DAY_MS + ms
        return time, match.end()

    def end(self, text: str) -> int:
        """How much of a text the pattern takes; -1 when the text does not follow it."""
        match = self._takes.match(text)
        return -1 if match is None else match.end()


class _Piece:
    """A part of the text whose time adds up with that of the others, and what is known of its contents."""

    def __init__(self, start: int, stop: int | None, century: dt.datetime) -> None:
        self.start = start
        self.stop = stop
        self.more: tuple[int, int | None] | None = None
        self.parts: list[_Followed] = []
        self.parts_of_head = 0
        self.known: dict[str, int] = {}
        self._century = century
        self._reader: _Reader | None = None
        self._head: _Reader | None = None

    def learn(self, key: str, head: int) -> int | None:
        """The time of a new content; None where it does not follow the pattern to its end.

        Where the piece lies in two places, the first `head` characters are of the first one.
        """
        if self._reader is None:
            self._reader = _Reader(self.parts, self._century)
            if self.more is not None:
                self._head = _Reader(self.parts[: self.parts_of_head], self._century)
        if self._head is not None and self._head.end(key) != head:
            return None
        found = self._reader.read(key)
        if found is None or found[1] != len(key):
            return None
        if len(self.known) >= _MOST_PIECES:
            self.known.clear()
        self.known[key] = found[0]
        return found[0]


def _pieces(parts: Sequence[_Followed], century: dt.datetime) -> list[_Piece]:
    """The pattern in pieces of fixed widths; none where there is no such cut."""
    letters = {part.letter for part, _ in parts if part.letter}
    if not letters or (letters & set("Hk") and letters & set("Kha")):  # of those hours one kind counts
        return []
    pieces: dict[frozenset[str], _Piece] = {}
    at = 0
    kind = last = frozenset[str]()
    for part, following in parts:
        if part.letter or not last:
            named = part if part.letter else following
            assert named is not None
            kind = next(kind for kind in _KINDS if named.letter in kind)
        width = _width(part)
        stop = None if following is None else at + width if width is not None else -1
        if stop == -1:
            return []
        piece = pieces.get(kind)
        if piece is None:
            piece = pieces[kind] = _Piece(at, stop, century)
        elif kind is last:
            if piece.more is None:
                piece.stop = stop
            else:
                piece.more = (piece.more[0], stop)
        elif piece.more is None:
            piece.more = (at, stop)
            piece.parts_of_head = len(piece.parts)
        else:
            return []
        piece.parts.append((part, following))
        at = stop if stop is not None else at
        last = kind
    return list(pieces.values())


class _Cut:
    """Cuts texts of various widths into pieces, by a regular expression with a group for each."""

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        groups = 1
        numbers = []
        expressions = []
        for piece in pieces:
            numbers.append(groups)
            groups += 1 + sum(1 for part, _ in piece.parts if part.letter)
            expressions.append(f"({''.join(_expression(*each) for each in piece.parts)})")
        self._takes = re.compile("".join(expressions), re.IGNORECASE)
        self._numbers = numbers
        self._pieces = pieces

    def read(self, text: str) -> int | None:
        """The time that a text says; None where it does not follow the pattern, or its pieces do not add up."""
        match = self._takes.match(text)
        if match is None:
            return None
        total = 0
        for piece, key in zip(self._pieces, match.group(*self._numbers, 0), strict=False):
            found = piece.known.get(key)
            if found is None:
                found = piece.learn(key, len(key))
                if found is None:
                    return None
            total += found
        return total


def _cut(parts: Sequence[_Followed], century: dt.datetime) -> _Cut | None:
    """The pattern in pieces of any width, each in one place; None where there is no such cut."""
    letters = {part.letter for part, _ in parts if part.letter}
    if not letters or (letters & set("Hk") and letters & set("Kha")):  # of those hours one kind counts
        return None
    pieces: dict[frozenset[str], _Piece] = {}
    last = None
    for part, following in parts:
        kind = last
        if part.letter or last is None:
            named = part if part.letter else following
            assert named is not None
            kind = next(kind for kind in _KINDS if named.letter in kind)
        assert kind is not None
        if kind is not last and kind in pieces:
            return None
        pieces.setdefault(kind, _Piece(0, None, century)).parts.append((part, following))
        last = kind
    return _Cut(list(pieces.values()))


def _width(part: Token) -> int | None:
    """How many characters a field nearly always has."""
    if not part.letter:
        return len(part.text)
    if part.letter in "ML" and part.count > 2:
        return 3 if part.count == 3 else None
    if part.letter in "EGXz":
        return 3 if part.letter in "Ez" and part.count <= 3 else None
    if part.letter in "Za":
        return 5 if part.letter == "Z" else 2
    if part.letter == "y" and part.count == 2:
        return 2
    return part.count if part.count > 1 else None


# What a pattern's parts take from a text, and what that means.


def _expression(part: Token, following: Token | None) -> str:
    letter = part.letter
    if not letter:
        return f"(?-i:{re.escape(part.text)})"
    if letter in "ML" and part.count > 2:
        return _names(MONTHS)
    if letter == "E":
        return _names(WEEKDAYS)
    if letter == "G":
        return "(?>(BC|AD|Before Christ|Anno Domini))"
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
    return bool(part.letter) and part.letter not in "GEaXzZ" and not (part.letter in "ML" and part.count > 2)


def _number_of_width(width: int) -> str:
    """A number in front of another one, which ends after so many characters, blanks before it counted."""
    ways = [
        rf"[ \t]{{{blanks}}}(?:-\d{{1,{width - blanks - 1}}}|\d{{1,{width - blanks}}})"
        if width - blanks > 1
        else rf"[ \t]{{{blanks}}}\d"
        for blanks in range(width)
    ]
    return rf"(?=(?s:.{{{width}}}))(?>({'|'.join(ways)}))"


def _day_field(part: Token, group: str) -> int:
    if part.letter in "ML" and part.count > 2:
        return _index(MONTHS, group) + 1
    if part.letter == "E":
        return _index(WEEKDAYS, group)
    if part.letter == "G":
        return int(group[0] in "aA")
    value = _int(group)
    if part.letter == "u":
        return value % 7 if 1 <= value <= 7 else value - 1
    return value


def _index(names: Sequence[str], found: str) -> int:
    return next(i for i, name in enumerate(names) if name[:3].lower() == found[:3].lower())


def _int(group: str) -> int:
    """A number as Java's `intValue` gives it."""
    value = int(group)
    if not -(1 << 63) <= value < 1 << 63:
        return (1 << 31) - 1 if value > 0 else -(1 << 31)
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _clock_field(part: Token, group: str) -> int:
    letter = part.letter
    if letter == "a":
        return int(group[0] in "pP")
    if letter in "zZX":
        return _zone(group)
    value = _int(group)
    if (letter == "k" and value == 24) or (letter == "h" and value == 12):
        return 0
    return value


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


def _clock(fields: dict[str, int]) -> int:
    """Milliseconds of the day. Of hours of 24 and hours with AM or PM those count that were said last."""
    order = {letter: place for place, letter in enumerate(fields)}
    of_day = [letter for letter in "Hk" if letter in fields]
    of_half = [letter for letter in "Kh" if letter in fields]
    hour_at = max((order[letter] for letter in of_day), default=-1)
    half_at = max((order[letter] for letter in of_half), default=-1)
    # Without AM or PM an hour of twelve gives way to one of 24.
    if of_half and "a" in order:
        half_at = max(half_at, order["a"])
    elif of_day:
        half_at = -1
    ms = 0
    if hour_at > half_at:
        ms = fields[max(of_day, key=order.__getitem__)] * _HOUR_MS
    else:
        if of_half:
            ms = fields[max(of_half, key=order.__getitem__)] * _HOUR_MS
        ms += fields.get("a", 0) * 12 * _HOUR_MS
    ms += fields.get("m", 0) * _MINUTE_MS + fields.get("s", 0) * 1000 + fields.get("S", 0)
    zones = [letter for letter in "zZX" if letter in fields]
    if zones:
        ms -= fields[max(zones, key=order.__getitem__)] * _MINUTE_MS
    return ms
