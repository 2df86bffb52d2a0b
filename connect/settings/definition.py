"""What a configuration may hold: typed settings with defaults, validators and what a form needs to show them.

The model of Kafka's `ConfigDef` (KIP-26, KIP-769). A plug-in declares its settings once; parsing, validation,
documentation pages and forms come from the declaration:

    SETTINGS = settings.define(
        settings.String("topic", doc="Where lines go.", validator=settings.non_empty),
        settings.Int("batch.size", default=2000, doc="Lines per poll."),
    )
    config = SETTINGS.parse({"topic": "lines"})
    config["batch.size"]  # 2000

What others call these keys, and which of theirs do nothing, is declared as well: see `connect.settings.other_keys`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connect.errors import ConfigError
from connect.settings import _parsing
from connect.settings.other_keys import Alias, OtherKeys, WithoutEffect


class Kind(enum.Enum):
    """A setting's type, by the name that the REST API shows."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - a kind of setting, no password


class Importance(enum.Enum):
    """How much a setting matters to someone who sets a connector up."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()

#: Raises ValueError, saying what is wrong and what to write; never shows the value of a password.
Validator = Callable[[str, Any], None]


class Recommender:
    """Proposes values for a setting, given the others. Both methods may look at `config`, values parsed so far."""

    def valid_values(self, name: str, config: Mapping[str, Any]) -> list[Any]:
        """Values to offer; empty when there is nothing to say."""
        return []

    def visible(self, name: str, config: Mapping[str, Any]) -> bool:
        """Whether the setting matters, given the others."""
        return True


class Secret:
    """A value that is not shown: `str` and `repr` mask it, `reveal` gives it."""

    __slots__ = ("_value",)

    MASK: Final = "[hidden]"

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself. Never log it."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        return self.MASK

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Setting:
    """One configuration key.

    Attributes:
        name: the key, in Kafka's spelling (``batch.size``).
        kind: its type.
        default: already of the type (a list for LIST), `REQUIRED` when there is none; None is a default.
        doc: one or two sentences for the user.
        importance: HIGH, MEDIUM or LOW.
        validator: called with name and parsed value (not for None).
        group: heading under which forms show it; None for none.
        order: its place in the group; None for the place at which it is declared.
        width: "NONE", "SHORT", "MEDIUM" or "LONG": how wide a form shows it.
        display_name: for forms; None takes the name.
        dependents: settings whose values or visibility depend on this one.
        recommender: proposes values.
        internal: written by the connector for its tasks; no form or page shows it.
    """

    name: str
    kind: Kind
    default: Any = REQUIRED
    doc: str = ""
    importance: Importance = Importance.MEDIUM
    validator: Validator | None = None
    group: str | None = None
    order: int | None = None
    width: str = "NONE"
    display_name: str | None = None
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None
    internal: bool = False

    def __post_init__(self) -> None:
        if self.kind is Kind.PASSWORD and isinstance(self.default, str):
            object.__setattr__(self, "default", Secret(self.default))

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is REQUIRED

    def parse(self, raw: Any) -> Any:
        """The typed value of what a user wrote.

        Raises:
            ConfigError: it is not of this type or not valid.
        """
        value = _PARSERS[self.kind](self.name, raw)
        self.check(value)
        return value

    def check(self, value: Any) -> None:
        """Run the validator.

        Raises:
            ConfigError: it says no.
        """
        if self.validator is None or value is None:
            return
        try:
            self.validator(self.name, value)
        except ConfigError:
            raise
        except ValueError as error:
            raise ConfigError(self.name, str(error)) from None

    def value(self, raw: Mapping[str, Any]) -> Any:
        """The typed value in a configuration, or the default. A key with the value None is not set.

        Raises:
            ConfigError: it is missing, not of this type or not valid.
        """
        given = raw.get(self.name)
        if given is not None:
            return self.parse(given)
        if self.default is REQUIRED:
            raise ConfigError(self.name, "is required and has no default.")
        return list(self.default) if isinstance(self.default, list) else self.default


@dataclass(slots=True)
class ConfigValue:
    """What validation found out about one key.

    Attributes:
        name: the key.
        value: as text, None when there is none; a secret's is masked.
        errors: one sentence each; empty when all is well.
        recommended: values to offer.
        visible: whether the setting matters, given the others.
        warnings: one sentence each, about what will not be as the user may think.
    """

    name: str
    value: str | None = None
    errors: list[str] = field(default_factory=list)
    recommended: list[Any] = field(default_factory=list)
    visible: bool = True
    warnings: list[str] = field(default_factory=list)


class Config(Mapping[str, Any]):
    """Parsed values by key. `raw` is what the user wrote, under our names too where it was another project's."""

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
        """What the user wrote under keys that start with the prefix, without it."""
        return {key[len(prefix) :]: value for key, value in self.raw.items() if key.startswith(prefix)}


class Definition:
    """A set of settings.

    Keys it does not know are let through untouched, as in Kafka: converters and plug-ins share maps.

    Attributes:
        others: keys of other projects that mean one of the settings, or nothing here.
    """

    def __init__(self, declared: Iterable[Setting] = (), others: OtherKeys | None = None) -> None:
        self._settings: dict[str, Setting] = {}
        for setting in declared:
            if setting.name in self._settings:
                raise ValueError(f"Setting {setting.name} is declared twice.")
            self._settings[setting.name] = setting
        self.others = others or OtherKeys()
        for name, alias in self.others.aliases.items():
            if name in self._settings or alias.key not in self._settings:
                raise ValueError(f"{name} cannot be another name of {alias.key}: one is a setting, the other is not.")

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._settings.values())

    def __len__(self) -> int:
        return len(self._settings)

    def __contains__(self, name: object) -> bool:
        return name in self._settings

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def __or__(self, other: Definition) -> Definition:
        """These settings and the other's, with others' keys for them; the other's win where both have a key.

        What is a setting of one is no alias of the other.
        """
        both = self._settings | other._settings
        return Definition(both.values(), (self.others | other.others).without(both))

    def replaced(self, name: str, **changes: Any) -> Definition:
        """The same settings with one of them changed, such as another default. KeyError if there is no such setting."""
        self[name]
        return Definition((replace(s, **changes) if s.name == name else s for s in self), self.others)

    def with_others(
        self,
        aliases: Mapping[str, str | Alias] | None = None,
        without_effect: Mapping[str, str | WithoutEffect] | None = None,
    ) -> Definition:
        """The same settings with more that is known of others' keys. Arguments and errors as for `define`."""
        return Definition(self, self.others | OtherKeys(aliases, without_effect))

    def knows(self, key: str) -> bool:
        """Whether a key is one of the settings, or one of others' that is understood or explained."""
        return key in self._settings or key in self.others

    def named(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """A configuration with the settings' own names beside what others call them.

        `parse` and `validate` do that themselves; this is for who reads a configuration without them.
        """
        return self.others.named(raw)

    def remarks(self, raw: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Keys of a configuration that do nothing here, and a sentence about each that goes on after its name."""
        whys = ((key, self.others.without_effect_of(key, self._settings)) for key in raw)
        return [(key, f"has no effect: {why.why}.") for key, why in whys if why and why.is_meant_by(raw[key])]

    def written_as(self, name: str, raw: Mapping[str, Any]) -> str:
        """The key that a setting's value stands under in a configuration: its name, unless it is only another's."""
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

    def validate(self, raw: Mapping[str, Any]) -> list[ConfigValue]:
        """Find out about every declared key at once. Never raises, whatever a user wrote or a validator does."""
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
    *declared: Setting,
    aliases: Mapping[str, str | Alias] | None = None,
    without_effect: Mapping[str, str | WithoutEffect] | None = None,
) -> Definition:
    """Declare settings, in the order in which forms and pages show them, and what is known of others' keys.

    Args:
        aliases: what others call a setting: the setting's name, or an `Alias` where values are called differently too.
        without_effect: why a key of others does nothing here, or a `WithoutEffect`. A key that ends with `*` stands for
            all that begin as it does. It may be one of the settings: then forms show it, too.

    Raises:
        ValueError: a setting is declared twice, or an alias is a setting itself or of none.
    """
    return Definition(declared).with_others(aliases, without_effect)


def _declare(kind: Kind) -> Callable[..., Setting]:
    def declare(
        name: str,
        *,
        default: Any = REQUIRED,
        doc: str = "",
        importance: str | Importance = Importance.MEDIUM,
        dependents: Sequence[str] = (),
        **attributes: Any,
    ) -> Setting:
        return Setting(name, kind, default, doc, Importance(importance), dependents=tuple(dependents), **attributes)

    declare.__doc__ = f"Declare a {kind.value} setting. The attributes are those of `Setting`."
    return declare


Boolean = _declare(Kind.BOOLEAN)
String = _declare(Kind.STRING)
Int = _declare(Kind.INT)
Short = _declare(Kind.SHORT)
Long = _declare(Kind.LONG)
Double = _declare(Kind.DOUBLE)
List = _declare(Kind.LIST)
Class = _declare(Kind.CLASS)
Password = _declare(Kind.PASSWORD)


def _password(name: str, raw: Any) -> Secret | None:
    return raw if raw is None or isinstance(raw, Secret) else Secret(str(raw).strip(_parsing.BLANKS))


_PARSERS: Final[Mapping[Kind, Callable[[str, Any], Any]]] = {
    Kind.BOOLEAN: _parsing.boolean,
    Kind.STRING: _parsing.string,
    Kind.INT: _parsing.whole(32),
    Kind.SHORT: _parsing.whole(16),
    Kind.LONG: _parsing.whole(64),
    Kind.DOUBLE: _parsing.double,
    Kind.LIST: _parsing.texts,
    Kind.CLASS: _parsing.string,
    Kind.PASSWORD: _password,
}


def text(value: Any) -> str | None:
    """A typed value as a file or the REST API writes it: `true`, `a,b`; a secret is masked, None is None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


# Validators.


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
