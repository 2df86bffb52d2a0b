"""Keys of other projects' connectors: other names of settings, and keys that do nothing here.

A configuration from elsewhere should work, or say what of it does not. So a plug-in that knows the keys of its
originals declares them beside its own:

    SETTINGS = settings.define(
        settings.String("connection.user", default=None),
        settings.String("insert.mode", default="insert"),
        aliases={
            "connection.username": "connection.user",
            "outputMode": settings.Alias("insert.mode", words={"append": "insert"}),
        },
        without_effect={
            "connection.pool.*": "a task has one connection",
            "use.time.zone": settings.WithoutEffect("what has no zone is UTC's", unless=("UTC",)),
        },
    )

`Definition.parse` and `Definition.validate` read values under other names. A user who sets a key without effect is told
why: in the log as the plug-in starts, and among the warnings of a validation.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: How the name of all keys ends that begin alike.
_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a setting. The setting's own name wins where a configuration has both.

    Attributes:
        key: the setting's name.
        words: other projects' values, in lower case, and their equivalents here. Other values stay.
        value: makes the setting's value from theirs and the whole configuration, where words are not enough: theirs may
            be several keys. None leaves the setting unset; it does not raise, its result is validated as the setting
            is.
    """

    key: str
    words: Mapping[str, str] = field(default_factory=dict)
    value: Callable[[str, Mapping[str, Any]], str | None] | None = None

    def read(self, written: Any, raw: Mapping[str, Any]) -> Any:
        """The setting's value, as a user would write it."""
        if self.value is not None:
            return self.value(str(written), raw)
        return self.words.get(str(written).strip().lower(), written)


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """Why a key does nothing here.

    Attributes:
        why: a clause that ends without a full stop: "a task has one connection", "write db.timezone instead".
        unless: values, case-insensitive, that request what is done anyway and need no warning.
    """

    why: str
    unless: tuple[str, ...] = ()

    def is_meant_by(self, written: Any) -> bool:
        """Whether this value needs a warning."""
        return written is not None and str(written).strip().lower() not in {"", *map(str.lower, self.unless)}


class OtherKeys:
    """The keys of other projects that one definition knows.

    Attributes:
        aliases: by their name.
        without_effect: by the key; one that ends with `*` stands for all keys that begin with it.
    """

    def __init__(
        self,
        aliases: Mapping[str, str | Alias] | None = None,
        without_effect: Mapping[str, str | WithoutEffect] | None = None,
    ) -> None:
        self.aliases = {
            name: Alias(alias) if isinstance(alias, str) else alias for name, alias in (aliases or {}).items()
        }
        self.without_effect = {
            key: WithoutEffect(why) if isinstance(why, str) else why for key, why in (without_effect or {}).items()
        }

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key in self.aliases or self.without_effect_of(key, ()) is not None)

    def __or__(self, other: OtherKeys) -> OtherKeys:
        """The union; the other's win."""
        return OtherKeys(self.aliases | other.aliases, self.without_effect | other.without_effect)

    def without(self, keys: Mapping[str, Any]) -> OtherKeys:
        """These, but for aliases of that name."""
        return OtherKeys({n: a for n, a in self.aliases.items() if n not in keys}, self.without_effect)

    def named(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """The configuration with the settings' own names beside the others. The first of several aliases counts."""
        named: dict[str, Any] | None = None
        for name, alias in self.aliases.items():
            if _holds_nothing(raw.get(name)) or not _holds_nothing((named or raw).get(alias.key)):
                continue
            if (value := alias.read(raw[name], raw)) is not None:
                named = {**(named or raw), alias.key: value}
        return raw if named is None else named

    def without_effect_of(self, key: str, settings: Container[str]) -> WithoutEffect | None:
        """Why a key does nothing; None if it does something, or is unknown. A prefix never covers `settings`."""
        if (exact := self.without_effect.get(key)) is not None or key in settings or key in self.aliases:
            return exact
        begins = (name for name in self.without_effect if name.endswith(_ALL) and key.startswith(name[: -len(_ALL)]))
        return self.without_effect.get(next(begins, ""))


def _holds_nothing(value: Any) -> bool:
    return value is None or value == ""
