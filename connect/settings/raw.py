"""Configurations as they are written, before a definition makes values of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

V = TypeVar("V")

#: What Java trims: a no-break space, for example, is part of the value.
BLANKS: Final = "".join(map(chr, range(33)))


def trimmed(config: Mapping[str, str]) -> dict[str, str]:
    """The same without blanks around the values, of which a properties file keeps those at the ends of lines.

    As Kafka's readers of configurations take them away. For who reads values without a definition.
    """
    return {key: value.strip(BLANKS) for key, value in config.items()}


def prefixed(config: Mapping[str, V], prefix: str) -> dict[str, V]:
    """The keys that start with the prefix, without it."""
    return {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)}


def comma_separated(text: str | None) -> list[str]:
    """The words between commas, without blanks and empty ones."""
    return [word for each in (text or "").split(",") if (word := each.strip())]
