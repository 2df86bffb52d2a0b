r"""Finds `${...}`, and variables, `${alias:path:key}`, in time that is linear in a text's length.

Variables are the matches of Kafka's own pattern, ``\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}``: the alias ends at the first
colon, the path at the second, the key at the first closing brace. On hostile texts that pattern takes the fourth power
of their length, and blocks the process meanwhile.

https://github.com/apache/kafka/blob/4.3/clients/src/main/java/org/apache/kafka/common/config/ConfigTransformer.java
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple


class Variable(NamedTuple):
    """A variable and its position in the text.

    Attributes:
        begin, end: text[begin:end] is all of it.
        alias: of the provider. Kafka's pattern accepts an empty one too, which no provider has.
        path: empty in `${alias:key}`.
    """

    begin: int
    end: int
    alias: str
    path: str
    key: str


class Enclosed(NamedTuple):
    """What is between `${` and the first closing brace; text[begin:end] is all of it."""

    begin: int
    end: int
    inside: str


def enclosed(text: str) -> Iterator[Enclosed]:
    r"""All from left to right, none overlapping another: the matches of the pattern ``\$\{([^}]*)\}``."""
    at = 0
    while (begin := text.find("${", at)) >= 0 and (close := text.find("}", begin + 2)) >= 0:
        at = close + 1
        yield Enclosed(begin, at, text[begin + 2 : close])


def replaced(text: str, by: Callable[[str], str]) -> str:
    """The text with each `${inside}` replaced by the function's result for its inside."""
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
