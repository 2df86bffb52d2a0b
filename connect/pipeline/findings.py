"""The validation of a connector's configuration: plain data, in the shape of Kafka's REST API.

https://kafka.apache.org/documentation/#connect_rest, PUT /connector-plugins/{plugin}/config/validate (KIP-26, KIP-769)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from connect.errors import MASK
from connect.settings import ConfigValue, Definition, Importance, Kind, Listed, Setting
from connect.settings.definition import text
from connect.settings.raw import prefixed
from connect.telemetry.redaction import Redactor

#: A key and what to say about it.
Remark = tuple[str, str]


class KeyDefinition(msgspec.Struct):
    """The definition of a key for a form.

    Attributes:
        order: the position in the group, -1 without a group.
        listed: see `connect.settings.Setting`.
    """

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    width: str
    display_name: str
    dependents: list[str]
    order: int
    listed: Listed | None = None


class KeyValue(msgspec.Struct):
    """The value of a key, and its errors. A secret's value is `[hidden]`."""

    name: str
    value: str | None = None
    recommended_values: list[str] = []
    errors: list[str] = []
    visible: bool = True


class Entry(msgspec.Struct):
    """One key. A key that only an error mentions has no definition."""

    definition: KeyDefinition | None
    value: KeyValue


class Validation(msgspec.Struct):
    """The validation of one configuration.

    Attributes:
        connector_class: as the user wrote it.
        kind: None when the class cannot be found or loaded.
        entries: the keys that the runtime, the connector, its converters, transformations and predicates know, and
            those at fault.
        warnings: keys of the connector that are probably a mistake, or have no effect.
        said_at_start: those of them that the connector's start logs, too: keys of other projects that do nothing here.
        worker_errors: keys of the worker without which this connector cannot run: its converters, its clients. Every
            connector that uses them finds the same.
        worker_warnings: as warnings.
        unknown: keys that nothing here declares, without those that resemble a known one. As in Kafka they may be for
            another program, and a plug-in may read what it does not declare.
    """

    connector_class: str
    kind: Literal["source", "sink"] | None
    entries: list[Entry]
    warnings: list[Remark]
    worker_errors: list[Remark]
    worker_warnings: list[Remark]
    said_at_start: list[str] = []
    unknown: list[str] = []

    @property
    def ok(self) -> bool:
        """Whether the connector can be started."""
        return not self.error_count and not self.worker_errors

    @property
    def error_count(self) -> int:
        """The number of errors of the connector's own keys."""
        return sum(len(entry.value.errors) for entry in self.entries)

    @property
    def groups(self) -> list[str]:
        """The groups of the keys, in order of first appearance."""
        groups = (entry.definition.group for entry in self.entries if entry.definition)
        return list(dict.fromkeys(group for group in groups if group))

    def errors(self) -> list[Remark]:
        """Every error of the connector's own keys."""
        return [(entry.value.name, error) for entry in self.entries for error in entry.value.errors]


class Findings:
    """Collects findings, key by key.

    Args:
        config: the configuration that is validated.
        secret_keys: keys whose values are never to be shown, beside those that are declared as passwords.

    Attributes:
        known: keys that something declares.
        unknown: see `Validation`.
    """

    def __init__(self, config: Mapping[str, str], secret_keys: Iterable[str]) -> None:
        self._config = config
        self._secret_keys = set(secret_keys)
        self._entries: dict[str, Entry] = {}
        self._orders: dict[str, int] = {}
        self._warnings: dict[Remark, None] = {}
        self._worker_errors: dict[Remark, None] = {}
        self._worker_warnings: dict[Remark, None] = {}
        self._said_at_start: dict[str, None] = {}
        self.known: set[str] = set()
        self.unknown: list[str] = []

    def declare(
        self, definition: Definition, values: Iterable[ConfigValue], prefix: str = "", group: str | None = None
    ) -> None:
        """Add settings, and the validation of their values. An existing key keeps its definition.

        Args:
            prefix: goes before the names of settings and values.
            group: instead of the settings' own.
        """
        for setting in definition:
            key = prefix + setting.name
            self.known.add(key)
            if setting.kind is Kind.PASSWORD:
                self._secret_keys.add(key)
            if not setting.internal and key not in self._entries:
                self._entries[key] = Entry(self._shown(setting, prefix, group or setting.group), KeyValue(key))
        own = prefixed(self._config, prefix)
        self.known.update(prefix + name for name in definition.others.aliases)
        self.known.update(prefix + key for key in own if definition.knows(key))
        self._secret_keys.update(prefix + setting.name for setting in _other_passwords(definition))
        for key, message in definition.remarks(own):
            self.warn(prefix + key, message)
            self._said_at_start[prefix + key] = None
        for value in values:
            name = str(value.name)
            self._merge(prefix + name, value, prefix + definition.written_as(name, own))

    def error(self, key: str, message: str) -> None:
        """A key is wrong."""
        errors = self._entry(key).value.errors
        if message not in errors:
            errors.append(message)

    def warn(self, key: str, message: str) -> None:
        """A key is probably a mistake."""
        self._warnings[key, message] = None

    def worker_error(self, key: str, message: str) -> None:
        """A key of the worker is wrong."""
        self._worker_errors[key, message] = None

    def worker_warning(self, key: str, message: str) -> None:
        """A key of the worker is probably a mistake."""
        self._worker_warnings[key, message] = None

    def result(self, connector_class: str, kind: Literal["source", "sink"] | None) -> Validation:
        """All of it, without a secret."""
        redactor, patterns = Redactor(), Redactor()
        redactor.remember(self._config[key] for key in self._secret_keys & self._config.keys())
        for key, entry in self._entries.items():
            entry.value.errors = [redactor.redact(message) for message in entry.value.errors]
            if key in self._secret_keys:
                entry.value.value = None if entry.value.value is None else MASK
                entry.value.recommended_values = []
            elif entry.value.value is not None:
                # A password inside a URL. Secrets of other keys are no reason to tear holes into a value.
                entry.value.value = patterns.redact(entry.value.value, whole=True)

        def redacted(remarks: Iterable[Remark]) -> list[Remark]:
            return [(key, redactor.redact(message)) for key, message in remarks]

        return Validation(
            connector_class,
            kind,
            list(self._entries.values()),
            redacted(self._warnings),
            redacted(self._worker_errors),
            redacted(self._worker_warnings),
            list(self._said_at_start),
            self.unknown,
        )

    def _entry(self, key: str) -> Entry:
        return self._entries.setdefault(key, Entry(None, KeyValue(key)))

    def _merge(self, key: str, found: ConfigValue, written_as: str) -> None:
        errors = [str(error) for error in found.errors]
        for warning in found.warnings:
            self.warn(written_as, str(warning))
        if written_as != key:
            for error in errors:
                self.error(written_as, error)
            errors = []
        if key not in self._entries and key in self.known and not errors:
            return  # an internal setting
        value = self._entry(key).value
        value.value = text(found.value)
        value.recommended_values = [text(item) or "" for item in found.recommended]
        value.visible = bool(found.visible)
        value.errors += [error for error in errors if error not in value.errors]

    def _shown(self, setting: Setting[Any], prefix: str, group: str | None) -> KeyDefinition:
        order = -1
        if group:
            order = self._orders[group] = self._orders.get(group, 0) + 1
            order = order if setting.order is None else setting.order
        return KeyDefinition(
            name=prefix + setting.name,
            type=setting.kind.value,
            required=setting.required,
            default_value=None if setting.required else text(setting.default),
            importance=setting.importance.value,
            documentation=setting.doc,
            group=group,
            width=setting.width,
            display_name=setting.display_name or prefix + setting.name,
            dependents=[prefix + name for name in setting.dependents],
            order=order,
            listed=setting.listed,
        )


def definitions(*declared: Definition) -> list[KeyDefinition]:
    """The definitions of all these settings in order. The first one of a key counts."""
    found = Findings({}, ())
    for definition in declared:
        found.declare(definition, ())
        # Whoever shows a configuration has to know those, too.
        found.declare(Definition(_other_passwords(definition)), ())
    return [entry.definition for entry in found.result("", None).entries if entry.definition is not None]


def _other_passwords(definition: Definition) -> list[Setting[Any]]:
    """Other projects' names of the definition's passwords."""
    named = ((name, definition[alias.key]) for name, alias in definition.others.aliases.items())
    return [
        Setting(name, Kind.PASSWORD, None, f"Another name of {setting.name}.", Importance.LOW)
        for name, setting in named
        if setting.kind is Kind.PASSWORD
    ]
