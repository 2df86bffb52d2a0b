"""Rules of the filtered stream, which are also search queries, from the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from connect import ConfigError
from connectors.twitter import keys
from connectors.twitter.keys import TwitterOptions

_JOIN: Final = " OR "
#: What may stand in a rule without quotes, as one word.
_PLAIN: Final = re.compile(r"[#@$]?\w+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        value: in X's form.
        label: identifies it in the tags of records; may be empty.
        key: the configuration key that it comes from.
    """

    value: str
    label: str
    key: str


def configured(options: TwitterOptions) -> list[Rule]:
    """Every rule of the keys, each once.

    Raises:
        ConfigError: one cannot be a rule, whatever X decides.
    """
    longest = options.rule_max_length
    rules = [Rule(value, name, keys.RULE_PREFIX + name) for name, value in options.labelled_rules().items()]
    rules += [Rule(value, "", "twitter.rules") for value in options.rules if value]
    words = [_keyword(value) for value in options.filter_keywords if value]
    rules += [Rule(value, "keywords", "filter.keywords") for value in joined(words, longest)]
    if options.mode != keys.TIMELINES:
        users = [f"from:{value}" for value in options.filter_user_ids if value]
        rules += [Rule(value, "users", "filter.userIds") for value in joined(users, longest)]
    found: dict[str, Rule] = {}
    for rule in rules:
        if problem := _problem(rule.value):
            raise ConfigError(rule.key, f'"{_short(rule.value)}" is not a rule: {problem}.')
        found.setdefault(rule.value, rule)
    return list(found.values())


def joined(parts: Iterable[str], longest: int) -> list[str]:
    """Alternatives, joined as far as the length allows."""
    groups: list[str] = []
    for part in parts:
        if groups and len(groups[-1]) + len(_JOIN) + len(part) <= longest:
            groups[-1] += _JOIN + part
        else:
            groups.append(part)
    return groups


def queries(rules: Iterable[str], longest: int) -> list[str]:
    """Rules as alternatives of as few queries as possible. A rule of its own stays as it is."""
    values = list(rules)
    if len(values) == 1:
        return values
    return joined((f"({value})" for value in values), longest)


def _keyword(phrase: str) -> str:
    """An entry of filter.keywords: all of its words, none of which means anything else to X."""
    words = [
        word if _PLAIN.fullmatch(word) and word not in ("OR", "AND", "NOT") else _quoted(word)
        for word in phrase.split()
    ]
    return words[0] if len(words) == 1 else f"({' '.join(words)})"


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _problem(value: str) -> str | None:
    """The obvious errors of a rule."""
    depth, quoted, escaped = 0, False, False
    for char in value:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = quoted
        elif char == '"':
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if depth < 0:
                break
    if quoted:
        return "a quotation mark is not closed"
    if depth:
        return "its brackets do not match"
    if "\n" in value or "\r" in value:
        return "it has a line break"
    return None


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:80]}..."
