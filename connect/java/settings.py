"""Java's definitions of settings as Python ones, and Java's validation of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.java.jvm import from_java, java, to_map, translated
from connect.settings import ConfigValue, Definition
from connect.settings.setting import REQUIRED, Importance, Kind, Setting

#: Secrets are passed through as text, and masked by their kind.
_KINDS: Final = frozenset(kind.value for kind in Kind)


def definition_of(config_def: Any) -> Definition:
    """The settings of a ConfigDef. None has a validator here: Java checks values, see `values_of`."""
    return Definition(_setting(key) for key in config_def.configKeys().values())


def _setting(key: Any) -> Setting[Any]:
    kind = str(key.type().name())
    return Setting(
        name=str(key.name),
        kind=Kind(kind) if kind in _KINDS else Kind.STRING,
        default=_default(key, kind) if key.hasDefault() else REQUIRED,
        doc=str(key.documentation or ""),
        importance=Importance(str(key.importance.name())),
        group=None if key.group is None else str(key.group),
        order=int(key.orderInGroup),
        width=str(key.width.name()),
        display_name=None if key.displayName is None else str(key.displayName),
        dependents=tuple(map(str, key.dependents or ())),
        internal=bool(key.internalConfig),
    )


def _default(key: Any, kind: str) -> Any:
    value = key.defaultValue
    if value is None:
        return None
    if kind == "PASSWORD":
        return str(value.value())
    if kind == "CLASS":
        return str(value.getName()) if hasattr(value, "getName") else str(value)
    return from_java(value)


def values_of(plugin: Any, config: Mapping[str, str], what: str) -> list[ConfigValue]:
    """A Java connector's validation of each of its keys.

    Raises:
        ConnectError: its `validate` fails.
    """
    found = translated(lambda: plugin.validate(to_map(config)), what)
    return [_value(each) for each in found.configValues()]


def values_by(config_def: Any, config: Mapping[str, str], what: str) -> list[ConfigValue]:
    """A ConfigDef's validation of each key: of converters, transformations and predicates."""
    found = translated(lambda: config_def.validate(to_map(config)), what)
    return [_value(each) for each in found]


def _value(found: Any) -> ConfigValue:
    value = found.value()
    if value is not None and isinstance(value, java("org.apache.kafka.common.config.types.Password")):
        text: str | None = str(value.value())
    else:
        text = None if value is None else _text(value)
    return ConfigValue(
        str(found.name()),
        text,
        errors=_texts(found.errorMessages()),
        recommended=[from_java(each) for each in found.recommendedValues() or ()],
        visible=bool(found.visible()),
    )


def _text(value: Any) -> str:
    if isinstance(value, java("java.util.List")):
        return ",".join(str(each) for each in value)
    if hasattr(value, "getName") and isinstance(value, java("java.lang.Class")):
        return str(value.getName())
    return str(value)


def _texts(messages: Sequence[Any] | None) -> list[str]:
    return [str(each) for each in messages or ()]
