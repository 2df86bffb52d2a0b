"""What becomes of a setting of Java's clients: the kinds of rules in the table of `java_keys`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from connect.errors import ConfigError

Kind = Literal["producer", "consumer", "admin"]


class ClientSettingError(ConfigError):
    """A client setting has a wrong value, or asks for something that librdkafka cannot do."""


@dataclass(frozen=True)
class Mapped:
    """Takes effect: goes to the setting of librdkafka called `name` (several are separated by a blank).

    `words` are the values that librdkafka spells in another way.
    """

    name: str
    words: Mapping[str, str] = field(default_factory=dict)

    def entries(self, key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
        value = self.words.get(value.strip().lower(), value.strip())
        return dict.fromkeys(self.name.split(), value)


@dataclass(frozen=True)
class Computed:
    """Takes effect: `compute(key, value, all Java settings)` returns settings of librdkafka as text."""

    compute: Callable[[str, str, Mapping[str, str]], dict[str, str]]

    def entries(self, key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
        return self.compute(key, value, java)


@dataclass(frozen=True)
class OfRuntime:
    """Takes effect in the loops of this project, not in librdkafka: `Translated.runtime` has the whole number."""


@dataclass(frozen=True)
class NoEffect:
    """Has no effect, and does no harm: one warning that says why. `unless` are values that need no warning."""

    reason: str
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """Would silently change behaviour: an error with advice. `unless` are values that request nothing."""

    advice: str
    unless: tuple[str, ...] = ()


Rule = Mapped | Computed | OfRuntime | NoEffect | Refused


def whole_number(key: str, value: str) -> int:
    """The value as a number, or an error that names the key."""
    try:
        return int(value.strip())
    except ValueError:
        raise ClientSettingError(key, f'"{value}" is not a whole number') from None


def listed(value: str) -> list[str]:
    """The items of a comma-separated list, as Java's clients read it."""
    return [item.strip() for item in value.split(",") if item.strip()]
