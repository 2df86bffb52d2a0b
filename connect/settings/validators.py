"""Validators of settings' values, beyond their type: of plug-ins, and of workers' and connectors' own keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from connect.settings.limits import LONGEST_NAME
from connect.settings.setting import Validator

#: https://kafka.apache.org/43/documentation.html: Topic.validate
LEGAL_TOPIC: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")


def topic_name(name: str, value: str) -> None:
    """A valid topic name."""
    non_empty(name, value)
    if not LEGAL_TOPIC.fullmatch(value):
        raise ValueError(f'"{value}" cannot be the name of a topic: those have up to 249 letters, digits, ., _ and -.')


def topic_names(name: str, value: list[str]) -> None:
    """Valid topic names."""
    for each in filter(None, value):
        topic_name(name, each)


def non_empty(name: str, value: Any) -> None:
    """A text that is not empty."""
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


def no_control_characters(name: str, value: str) -> None:
    """A name that is safe in a log, a URL and a topic's record."""
    if not value:
        raise ValueError("must not be empty.")
    if found := [char for char in value if ord(char) < 32 or 127 <= ord(char) < 160]:
        raise ValueError(f"contains the control character {found[0]!r}. Take it out.")


def connector_name(name: str, value: str) -> None:
    """A connector name that is safe in a log, a URL, a record's key and an assignment."""
    no_control_characters(name, value)
    try:
        length = len(value.encode())
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which UTF-8 has not. Take it out.") from None
    if length > LONGEST_NAME:
        raise ValueError(f"has {length:,} bytes in UTF-8. Up to {LONGEST_NAME} may be.")


def unique(name: str, value: list[str]) -> None:
    """A list in which nothing is empty or written twice."""
    if "" in value:
        raise ValueError("has an empty entry. Remove the comma too many.")
    if twice := next((item for item, count in Counter(value).items() if count > 1), None):
        raise ValueError(f'names "{twice}" twice. Write it once.')


def urls(name: str, value: list[str]) -> None:
    """Addresses to listen on: http://:8083, https://host:8443."""
    for item in value:
        if not re.fullmatch(r"https?://[^/\s]*:\d+/?", item, re.IGNORECASE):
            raise ValueError(
                f'"{item}" is not an address to listen on. Write http://host:8083, or http://:8083 for all.'
            )


def servers(name: str, value: list[str]) -> None:
    """Brokers as host:port, or the one word `embedded`."""
    given = [item for item in value if item]
    if not given:
        raise ValueError("must not be empty. Write host:9092, or embedded for a broker on this machine.")
    if given == ["embedded"]:
        return
    for item in given:
        # A protocol may stand before a host, and an IPv6 address between brackets.
        match = re.fullmatch(r"(?:\w+://)?(?:\[[0-9a-fA-F:%.]+\]|[^\s:\[\]/]+):(\d+)", item)
        if not match:
            raise ValueError(
                f'"{item}" is not a host:port. Write something like {item.partition(":")[0] or "host"}:9092.'
            )
        if not 0 < int(match[1][:6]) < 65536:
            raise ValueError(f'"{item}" has no port from 1 to 65535.')


def replication_factor(name: str, value: int) -> None:
    """A number of replicas, or -1."""
    if value != -1 and value < 1:
        raise ValueError(f"{value} is not a number of replicas. Write 1 or more, or -1 for the broker's default.")


def partitions(name: str, value: int) -> None:
    """A number of partitions, or -1."""
    if value != -1 and value < 1:
        raise ValueError(f"{value} is not a number of partitions. Write 1 or more, or -1 for the broker's default.")


def did_you_mean(key: str, known: Iterable[str]) -> str | None:
    """The known key that this one probably means."""
    import difflib

    return next(iter(difflib.get_close_matches(key, sorted(known), n=1, cutoff=0.85)), None)
