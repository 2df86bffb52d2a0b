"""The settings of a configuration, with what a form needs to show them and their names in other projects.

The model of Kafka's `ConfigDef` (KIP-26, KIP-769). A plug-in declares its settings once; parsing, validation,
documentation pages and forms come from the declaration:

    SETTINGS = settings.define(
        settings.String("topic", doc="Where lines go.", validator=settings.non_empty),
        settings.Int("batch.size", default=2000, doc="Lines per poll."),
    )
    config = SETTINGS.parse({"topic": "lines"})
    config["batch.size"]  # 2000

`connect.settings.options` has them as a class with typed attributes. Names of these keys in other projects, and their
keys without effect here, are declared as well: see `connect.settings.other_keys`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect.errors import ConfigError
from connect.settings.other_keys import Alias, OtherKeys, WithoutEffect
from connect.settings.raw import prefixed
from connect.settings.setting import Kind, Setting


@dataclass(slots=True)
class ConfigValue:
    """The validation of one key.

    Attributes:
        name: the key.
        value: as text, None when there is none; a secret's is masked.
        errors: one sentence each; empty without errors.
        recommended: values to offer.
        visible: whether the setting matters, given the others.
        warnings: one sentence each, about what may not be as intended.
    """

    name: str
    value: str | None = None
    errors: list[str] = field(default_factory=list)
    recommended: list[Any] = field(default_factory=list)
    visible: bool = True
    warnings: list[str] = field(default_factory=list)


class Config(Mapping[str, Any]):
    """Parsed values by key. `raw` is what the user wrote, with this project's names beside those of others."""

    __slots__ = ("_values", "raw")

    def __init__(self, values: Mapping[str, Any], raw: Mapping[str, Any]) -> None:
        self._values = values
        self.raw = raw

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def prefixed(self, prefix: str) -> dict[str, Any]:
        """The user's keys that start with the prefix, without it."""
        return prefixed(self.raw, prefix)


class Definition:
    """A set of settings.

    Unknown keys are passed on untouched, as in Kafka: converters and plug-ins share maps.

    Attributes:
        others: keys of other projects that mean one of the settings, or nothing here.
    """

    def __init__(self, declared: Iterable[Setting[Any]] = (), others: OtherKeys | None = None) -> None:
        self._settings: dict[str, Setting[Any]] = {}
        for setting in declared:
            if setting.name in self._settings:
                raise ValueError(f"Setting {setting.name} is declared twice.")
            self._settings[setting.name] = setting
        self.others = others or OtherKeys()
        for name, alias in self.others.aliases.items():
            if name in self._settings or alias.key not in self._settings:
                raise ValueError(f"{name} cannot be another name of {alias.key}: one is a setting, the other is not.")

    def __iter__(self) -> Iterator[Setting[Any]]:
        return iter(self._settings.values())

    def __len__(self) -> int:
        return len(self._settings)

    def __contains__(self, name: object) -> bool:
        return name in self._settings

    def __getitem__(self, name: str) -> Setting[Any]:
        return self._settings[name]

    def __or__(self, other: Definition) -> Definition:
        """The union; for keys of both the other's settings win, and so do its names of other projects.

        A setting of one is not an alias of the other.
        """
        both = self._settings | other._settings
        return Definition(both.values(), (self.others | other.others).without(both))

    def replaced(self, name: str, **changes: Any) -> Definition:
        """The same settings with one of them changed, such as another default. KeyError if there is no such setting."""
        self[name]
        return Definition((s.replaced(**changes) if s.name == name else s for s in self), self.others)

    def of_connector(self) -> Definition:
        """A worker's settings as a connector has them: by default what its worker says."""
        return Definition(s.replaced(default=None, doc=f"{s.doc} By default the worker's.") for s in self)

    def with_others(
        self,
        aliases: Mapping[str, str | Alias] | None = None,
        without_effect: Mapping[str, str | WithoutEffect] | None = None,
    ) -> Definition:
        """The same settings with more names of other projects. Arguments and errors as for `define`."""
        return Definition(self, self.others | OtherKeys(aliases, without_effect))

    def knows(self, key: str) -> bool:
        """Whether a key is one of the settings, or a known key of another project."""
        return key in self._settings or key in self.others

    def named(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """A configuration with the settings' own names beside those of other projects.

        `parse` and `validate` do that themselves; this is for code that reads a configuration without them.
        """
        return self.others.named(raw)

    def remarks(self, raw: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Keys of a configuration that do nothing here, and a clause about each that follows its name."""
        whys = ((key, self.others.without_effect_of(key, self._settings)) for key in raw)
        return [(key, f"has no effect: {why.why}.") for key, why in whys if why and why.is_meant_by(raw[key])]

    def written_as(self, name: str, raw: Mapping[str, Any]) -> str:
        """The key under which a setting's value stands in a configuration: its name, unless only an alias is there."""
        if raw.get(name):
            return name
        aliases = (other for other, alias in self.others.aliases.items() if alias.key == name and raw.get(other))
        return next(aliases, name)

    def parse(self, raw: Mapping[str, Any]) -> Config:
        """Typed values for every declared key.

        Raises:
            ConfigError: for the first key that is missing or wrong.
        """
        named = self.named(raw)
        return Config({setting.name: setting.value(named) for setting in self}, named)

    def validate(
        self,
        raw: Mapping[str, Any],
        contradictions: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]] | None = None,
    ) -> list[ConfigValue]:
        """Validate every declared key. Never raises, whatever a user wrote or a validator does.

        Args:
            raw: as it is written.
            contradictions: from the values by key, without wrong ones, to the keys that contradict others, with what to
                do about each.
        """
        raw = self.named(raw)
        values: dict[str, Any] = {}
        found: dict[str, ConfigValue] = {}
        for setting in self:
            entry = found[setting.name] = ConfigValue(setting.name)
            try:
                values[setting.name] = setting.value(raw)
            except ConfigError as error:
                entry.errors.append(error.message)
            except Exception as error:  # plug-ins raise anything
                entry.errors.append(f"its validator failed: {type(error).__name__}: {error}")
            if setting.name in values:
                entry.value = text(values[setting.name])
            elif setting.kind is not Kind.PASSWORD:
                entry.value = text(raw.get(setting.name))
        for key, why in contradictions(values) if contradictions is not None else ():
            found[key].errors.append(why)
        for setting in self:
            if setting.recommender is None:
                continue
            entry = found[setting.name]
            try:
                entry.recommended = list(setting.recommender.valid_values(setting.name, values))
                entry.visible = bool(setting.recommender.visible(setting.name, values))
            except Exception as error:  # plug-ins raise anything
                entry.errors.append(f"its recommender failed: {type(error).__name__}: {error}")
        return list(found.values())


def define(
    *declared: Setting[Any],
    aliases: Mapping[str, str | Alias] | None = None,
    without_effect: Mapping[str, str | WithoutEffect] | None = None,
) -> Definition:
    """Declare settings, in the order of forms and pages, and keys of other projects.

    Args:
        aliases: other projects' names of settings: the setting's name, or an `Alias` where values differ too.
        without_effect: why a key of another project does nothing here, or a `WithoutEffect`. A key that ends with `*`
            stands for all that begin with it. It may be one of the settings: then forms show it, too.

    Raises:
        ValueError: a setting is declared twice, or an alias is a setting itself or of none.
    """
    return Definition(declared).with_others(aliases, without_effect)


def text(value: Any) -> str | None:
    """A typed value as files and the REST API write it: `true`, `a,b`; a secret is masked, None is None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)
