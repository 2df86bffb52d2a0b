r"""Finds what stands in `${...}`, and variables, `${alias:path:key}`, in time that grows with a text's length.

Variables are what Kafka's own pattern matches, ``\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}``: the alias ends at the first
colon, the path at the second, the key at the first closing brace. On hostile texts it takes the fourth power of their
length, and whoever runs it can do nothing else meanwhile.

https://github.com/apache/kafka/blob/4.3/clients/src/main/java/org/apache/kafka/common/config/ConfigTransformer.java
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple


class Variable(NamedTuple):
    """A variable and where it stands in its text.

    Attributes:
        begin, end: text[begin:end] is all of it.
        alias: of the provider. Kafka's pattern takes an empty one too, which no provider has.
        path: empty in `${alias:key}`.
    """

    begin: int
    end: int
    alias: str
    path: str
    key: str


class Enclosed(NamedTuple):
    """What stands between `${` and the first brace that closes; text[begin:end] is all of it."""

    begin: int
    end: int
    inside: str


def enclosed(text: str) -> Iterator[Enclosed]:
    r"""All from left to right, none overlapping another: what the pattern ``\$\{([^}]*)\}`` finds."""
    at = 0
    while (begin := text.find("${", at)) >= 0 and (close := text.find("}", begin + 2)) >= 0:
        at = close + 1
        yield Enclosed(begin, at, text[begin + 2 : close])


def replaced(text: str, by: Callable[[str], str]) -> str:
    """The text with each `${inside}` replaced by what is said of its inside."""
    parts, at = [], 0
    for found in enclosed(text):
        parts += [text[at : found.begin], by(found.inside)]
        at = found.end
    return "".join([*parts, text[at:]])


def variables(text: str) -> Iterator[Variable]:
    """All variables from left to right. None overlaps another."""
    for begin, end, inside in enclosed(text):
        alias, colon, rest = inside.partition(":")
        if colon:  # without one before this brace no other beginning has one either
            path, second, key = rest.partition(":")
            yield Variable(begin, end, alias, path if second else "", key if second else rest)
