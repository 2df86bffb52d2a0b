"""What a configuration may hold: typed settings with defaults, validators and what a form needs to show them.

The model of Kafka's `ConfigDef` (KIP-26, KIP-769). A plug-in declares its settings once; parsing, validation,
documentation pages and forms come from the declaration:

    SETTINGS = settings.define(
        settings.String("topic", doc="Where lines go.", validator=settings.non_empty),
        settings.Int("batch.size", default=2000, doc="Lines per poll."),
    )
    config = SETTINGS.parse({"topic": "lines"})
    config["batch.size"]  # 2000
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from connect.errors import ConfigError


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
    """

    name: str
    value: str | None = None
    errors: list[str] = field(default_factory=list)
    recommended: list[Any] = field(default_factory=list)
    visible: bool = True


class Config(Mapping[str, Any]):
    """Parsed values by key. `raw` is what the user wrote."""

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
    """

    def __init__(self, declared: Iterable[Setting] = ()) -> None:
        self._settings: dict[str, Setting] = {}
        for setting in declared:
            if setting.name in self._settings:
                raise ValueError(f"Setting {setting.name} is declared twice.")
            self._settings[setting.name] = setting

    def __iter__(self) -> Iterator[Setting]:
        return iter(self._settings.values())

    def __len__(self) -> int:
        return len(self._settings)

    def __contains__(self, name: object) -> bool:
        return name in self._settings

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def __or__(self, other: Definition) -> Definition:
        """These settings and the other's; the other's win where both have a key."""
        return Definition((self._settings | other._settings).values())

    def replaced(self, name: str, **changes: Any) -> Definition:
        """The same settings with one of them changed, such as another default. KeyError if there is no such setting."""
        self[name]
        return Definition(replace(s, **changes) if s.name == name else s for s in self)

    def parse(self, raw: Mapping[str, Any]) -> Config:
        """Typed values for every declared key.

        Raises:
            ConfigError: for the first key that is missing or wrong.
        """
        return Config({setting.name: setting.value(raw) for setting in self}, raw)

    def validate(self, raw: Mapping[str, Any]) -> list[ConfigValue]:
        """Find out about every declared key at once. Never raises, whatever a user wrote or a validator does."""
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


def define(*declared: Setting) -> Definition:
    """Declare settings, in the order in which forms and pages show them."""
    return Definition(declared)


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


# Parsing what users write.

#: What Java trims: a no-break space, for example, is part of the value.
_BLANKS: Final = "".join(map(chr, range(33)))


def _boolean(name: str, raw: Any) -> bool | None:
    if raw is None or isinstance(raw, bool):
        return raw
    word = str(raw).strip(_BLANKS).lower()
    if word not in ("true", "false"):
        raise ConfigError(name, f'"{raw}" is not a boolean. Write true or false.')
    return word == "true"


def _whole(bits: int) -> Callable[[str, Any], int | None]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def parse(name: str, raw: Any) -> int | None:
        if raw is None:
            return None
        written = str(raw).strip(_BLANKS)
        digits = written[1:] if written[:1] in ("-", "+") else written
        if isinstance(raw, bool) or not (digits.isascii() and digits.isdigit()):
            meant = _meant(written)
            proposal = f" Write {meant}." if meant is not None and low <= meant <= high else ""
            raise ConfigError(name, f'"{raw}" is not a whole number.{proposal}')
        digits = digits.lstrip("0")[:40] or "0"  # Python refuses to read thousands of them
        value = -int(digits) if written[0] == "-" else int(digits)
        if not low <= value <= high:
            raise ConfigError(name, f"{_short(written)} is out of range, which is {low} to {high}.")
        return value

    return parse


def _meant(written: str) -> int | None:
    """The whole number that people mean by 3k, 1_000 or 5.0."""
    plain = written.replace("_", "").replace(",", "").lower()
    factor = {"k": 1000, "m": 1_000_000}.get(plain[-1:], 1)
    try:
        number = float(plain[:-1] if factor > 1 else plain) * factor
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def _short(written: str) -> str:
    return written if len(written) <= 40 else f"{written[:40]}..."


def _double(name: str, raw: Any) -> float | None:
    if raw is None:
        return None
    try:
        if isinstance(raw, bool) or "_" in str(raw):  # Python would take them
            raise ValueError
        return float(raw)
    except (TypeError, ValueError):
        raise ConfigError(name, f'"{raw}" is not a number.') from None


def _string(name: str, raw: Any) -> str | None:
    return None if raw is None else str(raw).strip(_BLANKS)


def _list(name: str, raw: Any) -> list[str] | None:
    if raw is None:
        return None
    if isinstance(raw, list | tuple):
        return [str(item) for item in raw]
    written = str(raw).strip(_BLANKS)
    return [item.strip(" \t\n\v\f\r") for item in written.split(",")] if written else []


def _password(name: str, raw: Any) -> Secret | None:
    return raw if raw is None or isinstance(raw, Secret) else Secret(str(raw).strip(_BLANKS))


_PARSERS: Final[Mapping[Kind, Callable[[str, Any], Any]]] = {
    Kind.BOOLEAN: _boolean,
    Kind.STRING: _string,
    Kind.INT: _whole(32),
    Kind.SHORT: _whole(16),
    Kind.LONG: _whole(64),
    Kind.DOUBLE: _double,
    Kind.LIST: _list,
    Kind.CLASS: _string,
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
            raise ValueError(f'"{value}" is not one of {", ".join(allowed)}.')

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
