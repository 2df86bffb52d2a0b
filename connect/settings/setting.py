"""One configuration key: its type, its default, its valid values, and what a form needs to show it.

The model of Kafka's `ConfigDef` (KIP-26). `String`, `Int` and the others declare one. The type of the value follows
from the declaration: `Int("batch.size", default=2000)` is a `Setting[int]`, with `default=None` it is a `Setting[int |
None]`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Self, TypeVar, overload

from connect.errors import MASK, ConfigError
from connect.settings import _parsing
from connect.settings.raw import BLANKS

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D")
V = TypeVar("V")


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


class Listed(enum.Enum):
    """Who lists the values of a setting that exist now, for somebody who fills in a form."""

    #: The connector, see `Connector.choices`: tables of a database, buckets of a store.
    BY_CONNECTOR = "connector"
    #: The worker: topics of its cluster.
    TOPICS = "topics"


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()

#: Raises ValueError, saying what is wrong and what to write; never shows the value of a password.
Validator = Callable[[str, Any], None]


class Recommender:
    """Proposes values for a setting, given the others. Both methods may read `config`, values parsed so far."""

    def valid_values(self, name: str, config: Mapping[str, Any]) -> list[Any]:
        """Values to offer; may be empty."""
        return []

    def visible(self, name: str, config: Mapping[str, Any]) -> bool:
        """Whether the setting matters, given the others."""
        return True


class Secret:
    """A value that must not be shown: `str` and `repr` mask it, `reveal` returns it."""

    __slots__ = ("_value",)

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
        return MASK

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """One configuration key. As an attribute of `Options` it is the key's value in an instance.

    Attributes:
        name: the key, in Kafka's spelling (``batch.size``).
        kind: its type.
        default: already of the type (a list for LIST), `REQUIRED` when there is none; None is a default.
        doc: one or two sentences for the user.
        importance: HIGH, MEDIUM or LOW.
        validator: called with name and parsed value (not for None).
        convert: makes the value of an attribute of `Options` from the parsed value (not from None) or the default. It
            may raise ValueError, as a validator does. `Definition.parse` and forms use the user's values.
        group: heading in forms; None for none.
        order: its position in the group; None for the order of declaration.
        width: "NONE", "SHORT", "MEDIUM" or "LONG": its width in a form.
        display_name: for forms; by default the name.
        dependents: settings whose values or visibility depend on this one.
        recommender: proposes values, which follow from others of the configuration.
        listed: who lists values that exist outside of it; None for nobody.
        internal: written by the connector for its tasks; no form or page shows it.
    """

    name: str
    kind: Kind
    default: Any = REQUIRED
    doc: str = ""
    importance: Importance = Importance.MEDIUM
    validator: Validator | None = None
    convert: Callable[[Any], T_co] | None = None
    group: str | None = None
    order: int | None = None
    width: str = "NONE"
    display_name: str | None = None
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None
    listed: Listed | None = None
    internal: bool = False

    def __post_init__(self) -> None:
        if self.kind is Kind.PASSWORD and isinstance(self.default, str):
            object.__setattr__(self, "default", Secret(self.default))

    @overload
    def __get__(self, options: None, owner: type) -> Setting[T_co]: ...
    @overload
    def __get__(self, options: object, owner: type) -> T_co: ...
    def __get__(self, options: object | None, owner: type) -> Setting[T_co] | T_co:
        # Called for classes alone: an instance of `Options` holds the value under the attribute's name.
        if options is None:
            return self
        raise AttributeError(f"{self.name} has no value here.")

    def replaced(self, **changes: Any) -> Self:
        """The same setting with other attributes, such as another default."""
        return replace(self, **changes)

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
        """Run the validator, and the conversion.

        Raises:
            ConfigError: one of them refuses the value.
        """
        if value is None:
            return
        try:
            if self.validator is not None:
                self.validator(self.name, value)
            self.converted(value)
        except ConfigError:
            raise
        except ValueError as error:
            raise ConfigError(self.name, str(error)) from None

    def converted(self, value: Any) -> Any:
        """The value of an attribute of `Options` for a parsed value."""
        return value if self.convert is None or value is None else self.convert(value)

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


class _Declaration(Generic[T, D]):
    """Declares settings of one kind, whose values are T and whose defaults are written as D."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @overload
    def __call__(self, name: str, *, default: None, convert: Callable[[T], V], **more: Any) -> Setting[V | None]: ...
    @overload
    def __call__(self, name: str, *, default: None, **more: Any) -> Setting[T | None]: ...
    @overload
    def __call__(
        self, name: str, *, default: D | _Required = REQUIRED, convert: Callable[[T], V], **more: Any
    ) -> Setting[V]: ...
    @overload
    def __call__(self, name: str, *, default: D | _Required = REQUIRED, **more: Any) -> Setting[T]: ...
    def __call__(
        self,
        name: str,
        *,
        default: Any = REQUIRED,
        doc: str = "",
        importance: str | Importance = Importance.MEDIUM,
        dependents: Sequence[str] = (),
        **more: Any,
    ) -> Setting[Any]:
        """Declare a setting. The arguments are the attributes of `Setting`."""
        return Setting(name, self.kind, default, doc, Importance(importance), dependents=tuple(dependents), **more)


Boolean: Final = _Declaration[bool, bool](Kind.BOOLEAN)
String: Final = _Declaration[str, str](Kind.STRING)
Int: Final = _Declaration[int, int](Kind.INT)
Short: Final = _Declaration[int, int](Kind.SHORT)
Long: Final = _Declaration[int, int](Kind.LONG)
Double: Final = _Declaration[float, float](Kind.DOUBLE)
List: Final = _Declaration[list[str], list[str]](Kind.LIST)
Class: Final = _Declaration[str, str](Kind.CLASS)
Password: Final = _Declaration[Secret, str | Secret](Kind.PASSWORD)


def _password(name: str, raw: Any) -> Secret | None:
    return raw if raw is None or isinstance(raw, Secret) else Secret(str(raw).strip(BLANKS))


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


def seconds(milliseconds: float) -> float:
    """Convert the value of a key that ends in `.ms`."""
    return milliseconds / 1000
