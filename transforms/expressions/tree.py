"""What a parsed expression is made of. `at` is where it begins in its text, from 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: What a reference starts from: the value, the key, the headers, or the record's topic, partition, offset, timestamp.
ROOTS = ("value", "key", "headers", "record")
RECORD = ("topic", "partition", "offset", "timestamp")


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, of a type that `kinds` knows."""

    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A part of the record: `("address", "city")` of the value. Whole numbers in the path count list items from 1."""

    at: int
    root: str
    path: tuple[str | int, ...]

    def __str__(self) -> str:
        return ".".join((self.root, *map(str, self.path)))


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function by its name in `functions`."""

    at: int
    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """CASE: the result of the first condition that is true, else the default."""

    at: int
    whens: tuple[tuple[Node, Node], ...]
    default: Node


Node = Literal | Ref | Call | Case


class ExpressionError(ValueError):
    """A text is not an expression, or its types do not match.

    Args:
        message: what is wrong.
        at: the position in the text, from 0; None when it is unknown.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at

    def within(self, text: str) -> str:
        """The message with its position in the text."""
        if self.at is None:
            return self.message
        line = text.count("\n", 0, self.at) + 1
        column = self.at - (text.rfind("\n", 0, self.at) + 1) + 1
        place = f"line {line}, column {column}" if "\n" in text else f"column {column}"
        near = text[self.at : self.at + 20].split("\n", 1)[0]
        return f'at {place}, "{near}": {self.message}' if near else f"at the end: {self.message}"
