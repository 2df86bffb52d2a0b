"""What a new configuration of a connector changes, key by key, without showing secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from connect.cli._secrets import shown
from connect.cli._table import coloured, plain
from connect.telemetry.redaction import MASK


@dataclass(frozen=True, slots=True)
class Change:
    """One key that differs.

    Attributes:
        before: the cluster's value in a form that may be shown; None if it has none.
        after: likewise, the new one.
        unsure: the cluster does not show its value, so the two may be the same.
    """

    key: str
    before: str | None
    after: str | None
    unsure: bool = False

    @property
    def sign(self) -> Literal["+", "-", "~"]:
        """Added, removed or changed."""
        if self.before is None:
            return "+"
        return "-" if self.after is None else "~"

    def __str__(self) -> str:
        match self.sign:
            case "+":
                text = str(self.after)
            case "-":
                text = str(self.before)
            case _ if self.unsure:
                text = f"{self.after} (the cluster does not show what it has; it may be the same)"
            case _ if self.before == self.after:
                text = f"{self.after} (changed)"
            case _:
                text = f"{self.before} -> {self.after}"
        return coloured(self.sign, plain(f"{self.sign} {self.key}={text}"))


def changes(before: Mapping[str, str], after: Mapping[str, str], secret: Collection[str] = ()) -> list[Change]:
    """The keys that differ, in order.

    Args:
        secret: the keys that are known to be PASSWORD.
    """
    return [
        Change(
            key,
            shown(key, before[key], secret) if key in before else None,
            shown(key, after[key], secret) if key in after else None,
            unsure=key in after and MASK in before.get(key, ""),
        )
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def with_stored(after: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """What to send: the new configuration, with stored values in place of masks.

    A cluster that masks its secrets gets its masks back, and knows what they stand for.

    Raises:
        KeyError: with the key whose mask has no stored value.
    """
    sent = dict(after)
    for key, value in after.items():
        if MASK in value:
            if key not in before or value not in {MASK, before[key], shown(key, before[key])}:
                raise KeyError(key)
            sent[key] = before[key]
    return sent
