"""Validates the configuration of a connector: in the plug-in's process, then by the client override policy.

The policy (KIP-458, KIP-1188) is operator code and runs in the worker's process (see docs/security.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from connect.api.policy import AllOverrides, ClientConfigOverridePolicy, ClientConfigRequest
from connect.errors import ConnectError
from connect.herder.errors import BadRequestError
from connect.herder.views import connector_plugin
from connect.herder.worker import Worker, secrets_of
from connect.pipeline.build import SIMPLE_HEADERS
from connect.pipeline.findings import Entry, KeyValue, Remark, Validation
from connect.plugins import CONVERTERS, PluginKind, PluginRef, Plugins, load
from connect.settings.limits import excess, within_limits
from connect.settings.raw import comma_separated, prefixed
from connect.settings.resolver import Resolved, Unresolved
from connect.settings.variables import variables
from connect.telemetry.redaction import MASK, Redactor, names_a_secret, redactor, shown
from connect.worker.hosts import ConnectorCallError

_WHERE_ELSE = (
    "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
)
#: What stands in these becomes a part of the names of keys and groups, which are shown.
_ALIASES: Final = ("transforms", "predicates", "topic.creation.groups")

_Client = Literal["producer", "consumer", "admin"]
_CLIENTS: Final[tuple[_Client, ...]] = ("producer", "consumer", "admin")


def validate(worker: Worker, policy: ClientConfigOverridePolicy, config: Mapping[str, str]) -> Validation:
    """Find all errors of a configuration. Does not raise, whatever a user wrote or a plug-in does."""
    config = {key: value for key, value in config.items() if value is not None}
    problems = excess(config)
    if problems:  # nobody works on it
        config = within_limits(config)
    hidden_aliases = [Unresolved(key, message) for key, message in aliases_from_providers(config)]
    looked_up = worker.looked_up(_without(config, hidden_aliases))
    resolved = looked_up.usable()
    given = (*secrets_of(looked_up), *secrets_of(worker.looked_up(_variables_alone(resolved.secret_keys, config))))
    ref: PluginRef | None
    try:
        ref = connector_plugin(worker.plugins, resolved.values)
    except (ConnectError, ValueError):
        ref = None  # the validation says so itself
    try:
        found = worker.validate(ref, resolved)
    except ConnectorCallError as error:
        found = Validation(config.get("connector.class", ""), None, [], [], [], [])
        problems.append(("connector.class", str(error)))
    if found.kind is not None:
        problems += refused(policy, config.get("name", ""), found.kind, resolved.values)
    if found.kind == "sink" and "group.id" in worker.config:
        problems += _group_of_workers(worker.config["group.id"], resolved.values)
    _add(found, problems)
    _tell_unresolved(found, config, [*hidden_aliases, *looked_up.unresolved])
    _offer(found, worker, resolved.values)
    _hide(found, config, resolved, given)
    return found


def refuse_if_wrong(name: str, config: Mapping[str, str | None], validation: Validation) -> None:
    """Raise BadRequestError with all errors, worded as Kafka Connect words them; those of the worker last."""
    if not (config.get("connector.class") or "").strip():
        raise BadRequestError(f'Connector config of "{name}" contains no connector type. Set connector.class.')
    lines = [f"Invalid configuration {key}: {text}" for key, text in validation.errors()]
    lines += [f"Invalid configuration {key} (of the worker): {text}" for key, text in validation.worker_errors]
    lines += [
        f"Null value can not be supplied as the configuration value of {k}." for k, v in config.items() if v is None
    ]
    if lines:
        count = f"Connector configuration is invalid and contains the following {len(lines)} error(s):"
        raise BadRequestError("\n".join([count, *lines, _WHERE_ELSE]))


def _tell_unresolved(validation: Validation, config: Mapping[str, str], unresolved: Sequence[Unresolved]) -> None:
    """For a key whose variable has no value report only why: the plug-in validated the configuration without it.

    Args:
        config: as written. A key may have other variables, with values that are secret.
    """
    missing = {each.key for each in unresolved}
    for entry in validation.entries:
        if (key := entry.value.name) in missing:
            secret = names_a_secret(key) if entry.definition is None else entry.definition.type == "PASSWORD"
            entry.value.value, entry.value.errors = shown(config[key], secret=secret), []
    _add(validation, [(each.key, each.message) for each in unresolved])


def aliases_from_providers(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """The keys whose values become visible names although a config provider gives them, and what to do."""
    message = "has a variable of a config provider. These names become parts of keys, which are shown: write them out."
    return [(key, message) for key in _ALIASES if any(variables(config.get(key, "")))]


def _without(config: Mapping[str, str], unresolved: Sequence[Unresolved]) -> dict[str, str]:
    return {key: value for key, value in config.items() if key not in {each.key for each in unresolved}}


def _variables_alone(keys: Iterable[str], config: Mapping[str, str]) -> dict[str, str]:
    """Each variable of these keys by itself: a plug-in may split a value, and report its parts."""
    texts = {config[key][each.begin : each.end] for key in keys for each in variables(config[key])}
    return {text: text for text in texts}


def _hide(validation: Validation, config: Mapping[str, str], resolved: Resolved, given: Iterable[str]) -> None:
    """Remove values of config providers wherever a plug-in or the runtime has put them. Definitions hold none.

    Args:
        config: as written. Its keys, and literal values, may be read.
        given: the values.
    """
    secrets = Redactor()
    secrets.remember(given)
    hide = secrets.hide
    validation.connector_class = config.get("connector.class", "")
    for entry in validation.entries:
        value = entry.value
        key = value.name
        value.recommended_values = [hide(one) for one in value.recommended_values]
        value.errors = [hide(error) for error in value.errors]
        if key in resolved.secret_keys and (own := resolved.values[key]):  # too short, maybe, to be hidden everywhere
            word = re.compile(rf"(?<!\w){re.escape(own)}(?!\w)")
            value.errors = [word.sub(MASK, error) for error in value.errors]
        if value.value is not None and value.value != config.get(key):
            value.value = hide(value.value)
        if entry.definition is None and key not in config:
            value.name = hide(key)
    for remarks in (validation.warnings, validation.worker_errors, validation.worker_warnings):
        remarks[:] = [(key if key in config else hide(key), hide(message)) for key, message in remarks]


def _group_of_workers(group: str, config: Mapping[str, str]) -> list[tuple[str, str]]:
    """A sink must not consume in the group of the workers: its consumers would be taken for workers."""
    override, name = "consumer.override.group.id", config.get("name", "")
    if override in config:
        clashes, key, whose = config[override] == group, override, config[override]
    else:
        clashes, key, whose = f"connect-{name}" == group, "name", f"for sink connector named {name}"
    return [(key, f"Consumer group {whose} conflicts with Connect worker group {group}")] if clashes else []


def _offer(validation: Validation, worker: Worker, config: Mapping[str, str]) -> None:
    """Add what a form offers: the worker's converters as defaults, the other ones, and the installed versions.

    And for each transformation and predicate its class.
    """
    classes = {
        f"{what}.{alias}.type": kind for what, kind in _CHAIN.items() for alias in comma_separated(config.get(what))
    }
    for entry in validation.entries:
        key, definition, value = entry.value.name, entry.definition, entry.value
        if definition is None:
            continue
        if key in CONVERTERS:
            definition.default_value = worker.raw.get(key) or definition.default_value or _DEFAULTS.get(key)
            value.value = value.value or definition.default_value
            value.recommended_values = [ref.name for ref in worker.plugins.all(CONVERTERS[key])]
        elif key in classes:
            value.recommended_values = [ref.name for ref in worker.plugins.all(classes[key])]
        elif key.endswith(_VERSION) and (named := key.removesuffix(_VERSION)) in _CLASSES:
            name = config.get(_CLASSES[named]) or worker.raw.get(named) or _DEFAULTS.get(named, "")
            try:
                version = worker.plugins.find(_KINDS[named], name).version
            except ConnectError:
                continue
            definition.default_value = version
            value.value = value.value or version
            value.recommended_values = [] if version is None else [version]


_VERSION = ".plugin.version"
_CHAIN = {"transforms": PluginKind.TRANSFORMATION, "predicates": PluginKind.PREDICATE}
_DEFAULTS = {"header.converter": SIMPLE_HEADERS}
_CLASSES = {"connector": "connector.class", **{key: key for key in CONVERTERS}}
_KINDS = {"connector": (PluginKind.SOURCE, PluginKind.SINK), **{key: (kind,) for key, kind in CONVERTERS.items()}}


def _add(validation: Validation, problems: Iterable[Remark]) -> None:
    entries = {entry.value.name: entry for entry in validation.entries}
    for key, message in problems:
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = Entry(None, KeyValue(key))
            validation.entries.append(entry)
        entry.value.errors.append(redactor.redact(message))


def load_policy(plugins: Plugins, worker: Mapping[str, str]) -> ClientConfigOverridePolicy:
    """The policy that the worker's configuration names.

    Raises:
        PluginNotFoundError, PluginLoadError: there is none of this name, or it cannot be loaded.
        ConfigError: one of its own settings is wrong.
    """
    name = (worker.get("connector.client.config.override.policy") or "All").strip()
    policy: ClientConfigOverridePolicy = load(plugins.find(PluginKind.OVERRIDE_POLICY, name))()
    policy.configure(policy.settings.parse(worker))
    return policy


def refused(
    policy: ClientConfigOverridePolicy, name: str, kind: Literal["source", "sink"], config: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The overrides that the policy refuses: each key as it stands in the configuration, and why."""
    if isinstance(policy, AllOverrides):
        return []
    found = []
    for client in _CLIENTS:
        prefix = f"{client}.override."
        overrides = prefixed(config, prefix)
        if not overrides:
            continue
        request = ClientConfigRequest(name, kind, client, overrides)
        for value in policy.validate(request):
            found += [(prefix + value.name, error) for error in value.errors]
    return found
