"""What a setting's value may be, beyond its type."""

from __future__ import annotations

import re
from typing import Any, Final

from connect.settings.setting import Validator

#: https://kafka.apache.org/43/documentation.html: Topic.validate
LEGAL_TOPIC: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")


def topic_name(name: str, value: str) -> None:
    """What can be the name of a topic."""
    non_empty(name, value)
    if not LEGAL_TOPIC.fullmatch(value):
        raise ValueError(f'"{value}" cannot be the name of a topic: those have up to 249 letters, digits, ., _ and -.')


def topic_names(name: str, value: list[str]) -> None:
    """What can be the names of topics."""
    for each in filter(None, value):
        topic_name(name, each)


def non_empty(name: str, value: Any) -> None:
    """A text with something in it."""
    if not value:
        raise ValueError("must not be empty.")


def one_of(*allowed: str, ignore_case: bool = False) -> Validator:
    """One of these words."""

    def check(name: str, value: Any) -> None:
        known = {word.lower() for word in allowed} if ignore_case else set(allowed)
        if (str(value).lower() if ignore_case else value) not in known:
            raise ValueError(f'"{value}" is not one of {", ".join(word for word in allowed if word)}.')

    return check


def at_least(low: float) -> Validator:
    """A number not below `low`."""

    def check(name: str, value: Any) -> None:
        if value < low:
            raise ValueError(f"{value} is too small; the least is {low}.")

    return check


def between(low: float, high: float) -> Validator:
    """A number from `low` to `high`, both included."""

    def check(name: str, value: Any) -> None:
        if not low <= value <= high:
            raise ValueError(f"{value} is not between {low} and {high}.")

    return check
