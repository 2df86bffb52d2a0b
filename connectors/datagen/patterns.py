"""Random texts that match a regular expression, by the column.

Supported are the elements of schemas for test data: characters, classes, groups, alternatives and repetitions.
Lookarounds and backreferences are refused. `*`, `+` and `{n,}` repeat at most eight times more than required.
"""

from __future__ import annotations

import string
from random import Random
from typing import Final, Protocol

from connectors.datagen.chance import below, chosen, lengths, pieces

_MORE: Final = 8
_PRINTABLE: Final = "".join(map(chr, range(32, 127)))
_CLASSES: Final = {
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_",
    "s": " ",
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Pattern(Protocol):
    """A part of an expression."""

    def column(self, chance: Random, count: int) -> list[str]:
        """This many matching texts."""


class Characters:
    """One of these characters, or `many` of them in a row."""

    def __init__(self, alphabet: str) -> None:
        self.alphabet = "".join(dict.fromkeys(alphabet))
        self._table: bytes | None = None
        if len(self.alphabet) <= 256 and self.alphabet.isascii():
            self._table = bytes(ord(self.alphabet[byte * len(self.alphabet) >> 8]) for byte in range(256))

    def column(self, chance: Random, count: int) -> list[str]:
        return list(self.run(chance, count))

    def run(self, chance: Random, count: int) -> str:
        """This many characters as one text."""
        if self._table is not None:
            return chance.randbytes(count).translate(self._table).decode("ascii")
        return "".join(chosen(chance, count, self.alphabet))


class Literal:
    """This text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def column(self, chance: Random, count: int) -> list[str]:
        return [self.text] * count


class Sequence:
    """Parts one after another."""

    def __init__(self, parts: list[Pattern]) -> None:
        self._parts = parts

    def column(self, chance: Random, count: int) -> list[str]:
        columns = [part.column(chance, count) for part in self._parts]
        return columns[0] if len(columns) == 1 else list(map("".join, zip(*columns, strict=True)))


class Either:
    """One of several."""

    def __init__(self, branches: list[Pattern]) -> None:
        self._branches = branches

    def column(self, chance: Random, count: int) -> list[str]:
        which = below(chance, count, len(self._branches))
        columns = [iter(branch.column(chance, which.count(at))) for at, branch in enumerate(self._branches)]
        return [next(columns[at]) for at in which]


class Repeated:
    """A part from `low` to `high` times."""

    def __init__(self, part: Pattern, low: int, high: int) -> None:
        self._part = part
        self._low = low
        self._high = high

    def column(self, chance: Random, count: int) -> list[str]:
        sizes = lengths(chance, count, self._low, self._high)
        if isinstance(self._part, Characters):
            texts: list[str] = pieces(self._part.run(chance, sum(sizes)), sizes)
            return texts
        return ["".join(group) for group in pieces(self._part.column(chance, sum(sizes)), sizes)]


def parse(expression: str) -> Pattern:
    """The pattern of an expression.

    Raises:
        ValueError: it cannot be parsed, or is not supported.
    """
    reader = _Reader(expression)
    pattern = reader.either()
    if not reader.done:
        raise ValueError(f'"{expression}" has a ")" too many at character {reader.at + 1}.')
    return pattern


class _Reader:
    def __init__(self, expression: str) -> None:
        self._text = expression
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self._text)

    def _peek(self) -> str:
        return self._text[self.at : self.at + 1]

    def _take(self) -> str:
        if self.done:
            raise ValueError(f'"{self._text}" ends too early.')
        self.at += 1
        return self._text[self.at - 1]

    def either(self) -> Pattern:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._take()
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Either(branches)

    def _sequence(self) -> Pattern:
        parts: list[Pattern] = []
        while not self.done and self._peek() not in "|)":
            if self._peek() in "^$":  # a text is made as a whole
                self._take()
                continue
            part = self._repeated(self._atom())
            if isinstance(part, Literal) and parts and isinstance(parts[-1], Literal):
                parts[-1] = Literal(parts[-1].text + part.text)
            else:
                parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(parts) if parts else Literal("")

    def _atom(self) -> Pattern:
        taken = self._take()
        if taken == "(":
            if self._peek() == "?":
                self._take()
                if self._take() != ":":
                    raise ValueError(f'"{self._text}": of what begins with "(?" only "(?:" is understood.')
            inner = self.either()
            if self.done or self._take() != ")":
                raise ValueError(f'"{self._text}" lacks a ")".')
            return inner
        if taken == "[":
            return Characters(self._class())
        if taken == ".":
            return Characters(_PRINTABLE)
        if taken == "\\":
            alphabet = self._escaped()
            return Literal(alphabet) if len(alphabet) == 1 else Characters(alphabet)
        if taken in "*+?{":
            raise ValueError(f'"{self._text}" has nothing to repeat at character {self.at}.')
        return Literal(taken)

    def _escaped(self) -> str:
        taken = self._take()
        if taken in _CLASSES:
            return _CLASSES[taken]
        if taken.lower() in _CLASSES:
            return "".join(char for char in _PRINTABLE if char not in _CLASSES[taken.lower()])
        if taken == "u":
            digits = self._text[self.at : self.at + 4]
            self.at += 4
            return chr(int(digits, 16))
        if taken in _CONTROLS:
            return _CONTROLS[taken]
        if taken.isalnum():
            raise ValueError(f'"{self._text}": "\\{taken}" is not understood.')
        return taken

    def _class(self) -> str:
        negated = self._peek() == "^"
        if negated:
            self._take()
        found = ""
        first = True
        while first or self._peek() != "]":
            first = False
            low = self._one()
            following = self._text[self.at + 1 : self.at + 2]
            if len(low) == 1 and self._peek() == "-" and following not in ("]", ""):
                self._take()
                high = self._one()
                if len(high) != 1 or high < low:
                    raise ValueError(f'"{self._text}": "{low}-{high}" is not a range of characters.')
                found += "".join(map(chr, range(ord(low), ord(high) + 1)))
            else:
                found += low
        self._take()
        if negated:
            found = "".join(char for char in _PRINTABLE if char not in found)
        if not found:
            raise ValueError(f'"{self._text}" has a class without a character.')
        return found

    def _one(self) -> str:
        taken = self._take()
        return self._escaped() if taken == "\\" else taken

    def _repeated(self, part: Pattern) -> Pattern:
        sign = self._peek()
        if sign not in ("*", "+", "?", "{"):
            return part
        self._take()
        if sign == "{":
            low, high = self._bounds()
        else:
            low, high = {"*": (0, _MORE), "+": (1, 1 + _MORE), "?": (0, 1)}[sign]
        if self._peek() in ("?", "+"):  # lazy or possessive: the same texts
            self._take()
        return part if low == high == 1 else Repeated(part, low, high)

    def _bounds(self) -> tuple[int, int]:
        end = self._text.find("}", self.at)
        written = self._text[self.at : end] if end > 0 else ""
        low, comma, high = written.partition(",")
        if not low.isdigit() or (high and not high.isdigit()):
            raise ValueError(f'"{self._text}": "{{{written}}}" says not how often. Write {{2}}, {{2,}} or {{2,5}}.')
        self.at = end + 1
        most = int(high) if high else int(low) + (_MORE if comma else 0)
        if most < int(low):
            raise ValueError(f'"{self._text}": "{{{written}}}" ends before it begins.')
        return int(low), most
