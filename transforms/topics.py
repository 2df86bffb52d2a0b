"""Renaming topics: each distinct name is computed once."""

from __future__ import annotations

import re
from collections.abc import Callable

from connect.data.column import Column, Constant, Dictionary, Plain
from connect.errors import ConfigError
from connect.settings.java_regex import java_regex

_MOST_NAMES = 10_000


class Renamed(dict[str, str]):
    """The new name of each topic, computed when a topic is first seen."""

    def __init__(self, rename: Callable[[str], str]) -> None:
        super().__init__()
        self._rename = rename

    def __missing__(self, topic: str) -> str:
        if len(self) >= _MOST_NAMES:
            self.clear()
        new = self[topic] = self._rename(topic)
        return new

    def column(self, topics: Column[str]) -> Column[str]:
        """The new names of a column of topics; the column itself where none changes."""
        if isinstance(topics, Constant):
            new = self[topics.value]
            return topics if new == topics.value else Constant(new, len(topics))
        if isinstance(topics, Dictionary):
            distinct = [self[topic] for topic in topics.distinct]
            return topics if distinct == topics.distinct else Dictionary(topics.codes, distinct)
        old = topics.to_list()
        names = list(map(self.__getitem__, old))
        return topics if names == old else Plain(names)


def replacing(regex: str, replacement: str, key: str) -> Callable[[str], str | None]:
    """A function that renames as Java's RegexRouter does: None for a name that does not match as a whole.

    Args:
        regex: a Java pattern that `java_regex` reads.
        replacement: `$1` and `${name}` in it stand for groups.
        key: the setting that holds the replacement, for the message.

    Raises:
        ConfigError: the replacement names a group that does not exist.
    """
    pattern = java_regex(regex)
    try:
        expand = java_replacement(pattern, replacement)
    except ValueError as error:
        raise ConfigError(key, str(error)) from None
    # As in Java, only the first match is replaced, which may be shorter than the name: a|ab finds the a in ab.
    return lambda name: pattern.sub(expand, name, count=1) if pattern.fullmatch(name) else None


def regular_expression(name: str, value: str) -> None:
    """Validates a setting that holds a Java pattern."""
    java_regex(value)


def java_replacement(pattern: re.Pattern[str], replacement: str) -> Callable[[re.Match[str]], str]:
    r"""A function that returns what Java's `Matcher.replaceFirst` puts in place of a match.

    `$1` and `${name}` stand for groups; after a `\` every character stands for itself.

    Raises:
        ValueError: the replacement names a group that the pattern does not have, or is incomplete.
    """
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        char = replacement[at]
        if char == "\\":
            if at + 1 == len(replacement):
                raise ValueError(f'"{replacement}" ends with a backslash. Write two of them, or none.')
            parts.append(replacement[at + 1])
            at += 2
        elif char == "$":
            group, at = _group(pattern, replacement, at + 1)
            parts.append(group)
        else:
            parts.append(char)
            at += 1

    def expand(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return expand


def _group(pattern: re.Pattern[str], replacement: str, at: int) -> tuple[int, int]:
    """The number of the group that a reference names, and the position after the reference."""
    if named := re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}").match(replacement, at):
        if named[1] not in pattern.groupindex:
            raise ValueError(f'"{replacement}" names the group {named[1]}, which the pattern does not have.')
        return pattern.groupindex[named[1]], named.end()
    first = replacement[at : at + 1]
    if not ("0" <= first <= "9"):
        raise ValueError(f'"{replacement}" has a $ without a group after it. Write \\$ for the character itself.')
    number, at = int(first), at + 1
    if number > pattern.groups:
        raise ValueError(f'"{replacement}" names group {number}, but the pattern has {pattern.groups}.')
    # As many digits as name an existing group: $12 is group 1 and a 2 if there is no group 12.
    while "0" <= replacement[at : at + 1] <= "9" and number * 10 + int(replacement[at]) <= pattern.groups:
        number, at = number * 10 + int(replacement[at]), at + 1
    return number, at
