"""Properties of tables that exist, with Spark and without: which of the wanted ones a table lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from spark_sink.layout_keys import TABLE_PROPERTY

#: What the log says of a table whose protocol is another one.
PROTOCOL_CHANGED: Final = "Readers and writers of the table %s need more from now on: %s (before: %s)."

#: Properties that a table does not store, because they are about its protocol.
_READER: Final = "delta.minreaderversion"
_WRITER: Final = "delta.minwriterversion"
_FEATURE: Final = "delta.feature."


@dataclass(frozen=True, slots=True)
class Protocol:
    """What readers and writers of a table must know.

    Attributes:
        reader: the version that readers need.
        writer: the version that writers need.
        features: that they need, where versions do not say it.
    """

    reader: int
    writer: int
    features: frozenset[str] = frozenset()

    def __str__(self) -> str:
        also = f", with {', '.join(sorted(self.features))}" if self.features else ""
        return f"reader {self.reader}, writer {self.writer}{also}"

    def has(self, name: str, value: str) -> bool:
        """Whether this is the protocol that a property asks for."""
        name = name.lower()
        if name in (_READER, _WRITER):
            return value.strip().isdecimal() and int(value) <= (self.reader if name == _READER else self.writer)
        feature = name.removeprefix(_FEATURE)
        return feature != name and feature in {known.lower() for known in self.features}


def lacking(wanted: Mapping[str, str], there: Mapping[str, str], protocol: Protocol) -> dict[str, str]:
    """Those of the wanted properties that a table does not have, with their values.

    Delta's own names do not depend on case, nor do their values.

    Args:
        wanted: by name.
        there: those that the table stores.
        protocol: of the table.
    """
    known = dict(_comparable(*each) for each in there.items())
    missing = {}
    for name, value in wanted.items():
        key, compared = _comparable(name, value)
        if known.get(key) != compared and not protocol.has(name, value):
            missing[name] = value
    return missing


def told(missing: Mapping[str, str], there: Mapping[str, str]) -> str:
    """What is set, in words for the log."""
    known = {_comparable(name, value)[0]: value for name, value in there.items()}
    return ", ".join(
        f"{name}={value} (before: {known.get(_comparable(name, value)[0], 'not set')})"
        for name, value in missing.items()
    )


def at_fault(missing: Iterable[str], error: str) -> str:
    """The key of the property that an error is about: the one that it names, else the first one."""
    names = list(missing)
    return TABLE_PROPERTY + next((name for name in names if name.lower() in error.lower()), names[0])


def _comparable(name: str, value: str) -> tuple[str, str]:
    return (name.lower(), value.strip().lower()) if name.lower().startswith("delta.") else (name, value)
