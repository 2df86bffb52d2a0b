"""What it says of plug-ins: their settings, a validation, values that a key could have."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict

from connect.pipeline.findings import KeyDefinition, Validation
from connect.plugins import PluginRef


class Plugin(msgspec.Struct, rename={"class_": "class"}, omit_defaults=True):
    """A plug-in."""

    class_: str
    type: str
    version: str | None = None

    @classmethod
    def of(cls, ref: PluginRef) -> Plugin:
        return cls(ref.name, ref.kind.value, ref.version)


class ConfigKey(msgspec.Struct):
    """What may be written under a key."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: list[str]

    @classmethod
    def of(cls, found: KeyDefinition) -> ConfigKey:
        values = {name: value for name, value in asdict(found).items() if name not in {"order", "listed"}}
        return cls(**values, order_in_group=found.order)


class ConfigValue(msgspec.Struct):
    """What is written under a key, and what is wrong with it."""

    name: str
    value: str | None
    recommended_values: list[str]
    errors: list[str]
    visible: bool


class ConfigInfo(msgspec.Struct):
    """One key. There is no definition of a key that only an error speaks of."""

    definition: ConfigKey | None
    value: ConfigValue


class ConfigWarning(msgspec.Struct):
    """A key that has no effect, or another one than its author may think."""

    name: str
    message: str


class ConfigInfos(msgspec.Struct, omit_defaults=True):
    """All about one configuration. Kafka Connect knows no warnings; the field is there where there are any."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[ConfigInfo]
    warnings: list[ConfigWarning] = []

    @classmethod
    def of(cls, found: Validation, nulls: Sequence[str] = ()) -> ConfigInfos:
        """The worker's errors go to its keys.

        Args:
            nulls: keys that have null as their value, with which no connector is created.
        """
        configs = {
            entry.value.name: ConfigInfo(
                None if entry.definition is None else ConfigKey.of(entry.definition),
                ConfigValue(**asdict(entry.value)),
            )
            for entry in found.entries
        }
        for key, message in found.worker_errors:
            info = configs.setdefault(key, ConfigInfo(None, ConfigValue(key, None, [], [], True)))
            info.value.errors.append(f"In the worker's configuration: {message}")
        for key in nulls:
            info = configs.setdefault(key, ConfigInfo(None, ConfigValue(key, None, [], [], True)))
            info.value.errors.append("Null value can not be supplied as the configuration value.")
        groups = (info.definition.group for info in configs.values() if info.definition and info.definition.group)
        errors = sum(len(info.value.errors) for info in configs.values())
        warnings = [ConfigWarning(key, message) for key, message in found.warnings]
        return cls(found.connector_class, errors, list(dict.fromkeys(groups)), list(configs.values()), warnings)


class ListedKeys(msgspec.Struct):
    """The keys of a plug-in of which values can be listed."""

    keys: list[str]


class KeyChoices(msgspec.Struct):
    """The values that a key could have now: the first thousand. The message says why there are none."""

    key: str
    values: list[str]
    truncated: bool
    message: str | None
