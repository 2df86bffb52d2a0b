"""Configurations as they are written, before a definition makes values of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

V = TypeVar("V")


def prefixed(config: Mapping[str, V], prefix: str) -> dict[str, V]:
    """The keys that start with the prefix, without it."""
    return {key[len(prefix) :]: value for key, value in config.items() if key.startswith(prefix)}


def comma_separated(text: str | None) -> list[str]:
    """The words between commas, without blanks and empty ones."""
    return [word for each in (text or "").split(",") if (word := each.strip())]
