"""Finds all errors of a connector's configuration at once, before anything starts.

It runs plug-in code (imports, validators, recommenders, a connector's own `validate`), so it belongs into the
connector's host process, never into the worker's. It does not raise for what a user wrote or a plug-in does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, Literal

from connect import settings
from connect.api import Connector
from connect.api.engine import JAVA_ENGINE, WORKER
from connect.errors import ConfigError, ConnectError, PluginNotFoundError, one_line
from connect.kafka.clients.checks import check_client
from connect.kafka.clients.override_rules import refused
from connect.kafka.clients.settings import ClientSettingError, task_client_settings, task_java_settings
from connect.kafka.clients.settings import Kind as ClientKind
from connect.pipeline.build import SIMPLE_HEADERS, converter_config
from connect.pipeline.error_checks import check_dead_letters, check_errors, writes_aside
from connect.pipeline.exactly_once_checks import check_exactly_once
from connect.pipeline.findings import Findings, Remark, Validation
from connect.plugins import CONVERTERS, PluginKind, PluginRef, Plugins, load
from connect.plugins.engines import chosen_engine, load_engine
from connect.settings import ConfigValue, Definition
from connect.settings.connector_keys import (
    COMMON,
    SINK,
    SOURCE,
    topic_creation,
    topic_creation_doubts,
    topics_at_fault,
)
from connect.settings.definition import text
from connect.settings.raw import comma_separated, prefixed
from connect.settings.validators import did_you_mean

_CLIENTS: tuple[ClientKind, ...] = ("producer", "consumer", "admin")
_OVERRIDES = tuple(f"{client}.override." for client in _CLIENTS)


def validate(
    plugins: Plugins,
    worker: Mapping[str, str],
    config: Mapping[str, str],
    *,
    secret_keys: Collection[str] = (),
) -> Validation:
    """Validate every key of a connector, and the keys of the worker that it depends on.

    Args:
        plugins: where classes are found.
        worker: its configuration, with variables filled in.
        config: the connector's, likewise.
        secret_keys: keys of the connector whose values came from a config provider: never shown.
    """
    config = {key: value for key, value in config.items() if value is not None}
    found = Findings(config, secret_keys)
    for key, message in (forbidden := dict(refused(config))).items():
        found.error(key, message)
    clients = {key: value for key, value in config.items() if key not in forbidden}
    kind, connector = _connector_class(found, plugins, config)
    keys = {"source": SOURCE, "sink": SINK, None: COMMON}[kind]
    found.declare(keys, keys.validate(config))
    if kind == "source":
        _check_topic_creation(found, worker, config)
        check_dead_letters(found, config)
    if kind == "sink":
        _check_sink(found, worker, config, clients)
    chain = _Chain(plugins, _engine(connector, config, worker))
    for key in CONVERTERS:
        _check_converter(found, chain, worker, config, key)
    for alias in dict.fromkeys(comma_separated(config.get("transforms"))):
        _check_transformation(found, chain, config, alias)
    for alias in dict.fromkeys(comma_separated(config.get("predicates"))):
        _check_aliased(found, chain, config, "predicates", alias, PluginKind.PREDICATE, _PREDICATE)
    if connector is not None:
        _check_needs(found, connector)
        _check_connector(found, connector, config)
        _check_engine(found, connector, worker, config)
    if kind == "source" and connector is not None:
        check_exactly_once(found, connector, worker, clients)
    if kind is not None:
        _check_client(found, "producer" if kind == "source" else "consumer", worker, clients)
        _warn_of_unknown(found, config)
    if any(key.startswith("admin.override.") for key in config):
        _check_client(found, "admin", worker, clients)
    return found.result(config.get("connector.class", ""), kind)


def misspelt_keys(
    plugins: Plugins, worker: Mapping[str, str], config: Mapping[str, str], kind: Literal["source", "sink"]
) -> list[Remark]:
    """The keys of a chain without a connector that nothing reads and that resemble one, or name no alias."""
    found = Findings(config, ())
    found.declare({"source": SOURCE, "sink": SINK}[kind], ())
    _check_topic_creation(found, {}, config)
    chain = _Chain(plugins, WORKER)
    for key in CONVERTERS:
        _check_converter(found, chain, worker, config, key)
    for alias in comma_separated(config.get("transforms")):
        _check_transformation(found, chain, config, alias)
    for alias in comma_separated(config.get("predicates")):
        _check_aliased(found, chain, config, "predicates", alias, PluginKind.PREDICATE, _PREDICATE)
    remarks = Findings(config, ())
    remarks.known = found.known
    _warn_of_unknown(remarks, config)
    return remarks.result("", kind).warnings


def _connector_class(
    found: Findings, plugins: Plugins, config: Mapping[str, str]
) -> tuple[Literal["source", "sink"] | None, type[Connector] | None]:
    if not (name := config.get("connector.class", "").strip()):
        return None, None
    kinds = (PluginKind.SOURCE, PluginKind.SINK)
    version = config.get("connector.plugin.version")
    find = partial(plugins.find, language=config.get("connector.language") or None)
    loaded = _class(find, kinds, name, version, lambda message: found.error("connector.class", message))
    if loaded is None:
        return None, None
    return ("source" if loaded[0] is PluginKind.SOURCE else "sink"), loaded[1]


# The connector itself.


def _check_needs(found: Findings, connector: type[Connector]) -> None:
    missing = {install for module, install in connector.needs.items() if find_spec(module.partition(".")[0]) is None}
    for install in sorted(missing):
        found.error("connector.class", f"{connector.__name__} lacks packages. Install them: pip install '{install}'.")


def _check_connector(found: Findings, connector: type[Connector], config: Mapping[str, str]) -> None:
    declared = _settings(connector, lambda message: found.error("connector.class", message))
    try:
        values = _checked(connector().validate(config))
    except (Exception, SystemExit) as error:
        values = declared.validate(config)
        known = isinstance(error, ConfigError) and error.key in declared
        if isinstance(error, ConfigError) and known:
            if not any(value.name == error.key and value.errors for value in values):
                found.error(error.key, error.message)
        else:
            found.error(
                "connector.class",
                f"{connector.__name__} could not check the configuration: {type(error).__name__}: {one_line(error)}",
            )
    found.declare(declared, values)
    found.declare(connector.process_settings, connector.process_settings.validate(config))


def _check_engine(
    found: Findings, connector: type[Connector], worker: Mapping[str, str], config: Mapping[str, str]
) -> None:
    try:
        name = chosen_engine(connector, config, worker)
    except ConfigError as error:
        found.error(error.key, error.message)
        return
    if name == WORKER:
        return
    try:
        engine = load_engine(name)
    except ImportError as error:
        found.error("engine", f"{name} is not installed: {one_line(error)}.")
        return
    found.declare(engine.settings, engine.settings.validate(config))
    found.known.update(key for key in config if engine.knows(key))
    for key, message in engine.check(connector, config):
        found.error(key, message)


def _checked(values: Any) -> list[ConfigValue]:
    """A plug-in's result, checked for its type."""
    checked = []
    for value in values:
        if not isinstance(value, ConfigValue):
            raise TypeError(f"validate returned a {type(value).__name__} where a ConfigValue belongs")
        errors = [str(error) for error in value.errors]
        recommended, warnings = list(value.recommended), list(value.warnings)
        checked.append(ConfigValue(value.name, text(value.value), errors, recommended, bool(value.visible), warnings))
    return checked


def _check_topic_creation(found: Findings, worker: Mapping[str, str], config: Mapping[str, str]) -> None:
    mine = [key for key in config if key.startswith("topic.creation.")]
    found.known.update(mine)
    if worker.get("topic.creation.enable", "true").strip().lower() == "false":
        for key in mine:
            found.warn(key, "has no effect: the worker makes no topics (topic.creation.enable=false).")
        return
    keys = topic_creation(config)
    found.declare(keys, keys.validate(config))
    for key, message in topic_creation_doubts(config) if mine else ():
        found.warn(key, message)


def _check_sink(
    found: Findings, worker: Mapping[str, str], config: Mapping[str, str], clients: Mapping[str, str]
) -> None:
    for key, message in topics_at_fault(config):
        found.error(key, message)
    if writes_aside(config):
        _check_client(found, "producer", worker, clients)
    check_errors(found, config)


# Converters, transformations, predicates.


def _engine(connector: type[Connector] | None, config: Mapping[str, str], worker: Mapping[str, str]) -> str:
    """The engine that runs the chain; the worker's where another check says what is wrong."""
    try:
        return WORKER if connector is None else chosen_engine(connector, config, worker)
    except ConfigError:
        return WORKER


@dataclass(frozen=True)
class _Chain:
    """Finds the classes of a connector's chain.

    Attributes:
        engine: that runs it. The worker's runs classes of both languages, the others those of their own.
    """

    plugins: Plugins
    engine: str

    def find(self, kinds: Iterable[PluginKind], name: str, version: str | None) -> PluginRef:
        """Raises PluginNotFoundError: it does not exist, or only in a language that the engine does not run."""
        if self.engine == JAVA_ENGINE:
            with suppress(PluginNotFoundError):
                return self.plugins.find(kinds, name, version, "java")
        ref = self.plugins.find(kinds, name, version)
        if self.engine == WORKER or ref.language == ("java" if self.engine == JAVA_ENGINE else "python"):
            return ref
        if self.engine == JAVA_ENGINE and ref.name.startswith(_IN_BOTH):
            return ref
        raise _OtherLanguageError(
            f'"{name}" is a class of {ref.language.capitalize()}, which "engine": "{self.engine}" does not run. '
            f'Write "engine": "{WORKER}": it runs classes of both languages.'
        )


class _OtherLanguageError(PluginNotFoundError):
    """A class exists only in a language that the engine does not run."""


#: Classes that Kafka Connect has and we have, alike.
_IN_BOTH: Final = "org.apache.kafka.connect."


def _check_converter(
    found: Findings, chain: _Chain, worker: Mapping[str, str], config: Mapping[str, str], key: str
) -> None:
    prefix = f"{key}."
    own = bool(config.get(key))
    if not own:
        found.known |= (mine := {k for k in config if k.startswith(prefix)})
        for sub_key in sorted(mine - {f"{prefix}plugin.version"}):
            found.warn(sub_key, f"has no effect: the worker's {key} is used with the worker's settings. Set {key} too.")

    def error(sub_key: str, message: str) -> None:
        (found.error if own else found.worker_error)(sub_key, message)

    try:
        default = SIMPLE_HEADERS if key == "header.converter" else None
        name, sub_config = converter_config(worker, config, key, default)
    except ConfigError as missing:
        found.error(key, missing.message)
        return
    version = sub_config.get("plugin.version")

    def elsewhere(message: str) -> None:
        found.error(key, message if own else f"{message} Or set {key} for this connector: this is the worker's.")

    loaded = _class(chain.find, [CONVERTERS[key]], name, version, lambda message: error(key, message), elsewhere)
    if loaded is None:
        found.known |= {k for k in config if k.startswith(prefix)}
        return
    declared = _settings(loaded[1], lambda message: error(key, message))
    values = declared.validate({**sub_config, "converter.type": key.partition(".")[0]})
    if own:
        found.declare(declared, values, prefix)
    else:
        for value in values:
            for message in value.errors:
                found.worker_error(prefix + value.name, message)


_PREDICATE = settings.define(
    settings.Class("type", importance="HIGH", width="LONG", doc="Its class.", validator=settings.non_empty),
    settings.String("plugin.version", default=None, doc="Which versions of it may be used."),
)
_TRANSFORMATION = _PREDICATE | settings.define(
    settings.String(
        "predicate", default=None, doc="The alias of the predicate that chooses the records. Empty: all records."
    ),
    settings.Boolean("negate", default=False, doc="Whether the predicate is inverted."),
)


def _check_transformation(found: Findings, chain: _Chain, config: Mapping[str, str], alias: str) -> None:
    prefix = f"transforms.{alias}."
    _check_aliased(found, chain, config, "transforms", alias, PluginKind.TRANSFORMATION, _TRANSFORMATION)
    predicate = config.get(f"{prefix}predicate", "").strip()
    if predicate and predicate not in comma_separated(config.get("predicates")):
        found.error(f"{prefix}predicate", f'there is no predicate "{predicate}". Add it to the key "predicates".')
    if not predicate and f"{prefix}negate" in config:
        found.error(f"{prefix}negate", f"has nothing to negate. Set {prefix}predicate, or remove this key.")


def _check_aliased(
    found: Findings,
    chain: _Chain,
    config: Mapping[str, str],
    what: str,
    alias: str,
    kind: PluginKind,
    common: Definition,
) -> None:
    prefix, group = f"{what}.{alias}.", f"{what.capitalize()}: {alias}"
    own = prefixed(config, prefix)
    found.declare(common, common.validate(own), prefix, group)
    loaded = None
    if name := own.get("type", "").strip():
        version = own.get("plugin.version")
        loaded = _class(chain.find, [kind], name, version, lambda message: found.error(f"{prefix}type", message))
    if loaded is None:
        found.known |= {prefix + key for key in own}  # nobody knows which keys are right
        return
    declared = _settings(loaded[1], lambda message: found.error(f"{prefix}type", message))
    found.declare(declared, declared.validate(own), prefix, group)


def _class(
    find: Callable[[Iterable[PluginKind], str, str | None], PluginRef],
    kinds: Iterable[PluginKind],
    name: str,
    version: str | None,
    error: Callable[[str], None],
    elsewhere: Callable[[str], None] | None = None,
) -> tuple[PluginKind, type[Any]] | None:
    """A plug-in's kind and class; None when there is none, and `error` was called with the reason.

    `elsewhere` is called instead where there is one in another language only.
    """
    try:
        ref = find(kinds, name.strip(), version)
        return ref.kind, load(ref)
    except _OtherLanguageError as problem:
        (elsewhere or error)(one_line(problem))
    except (ConnectError, ValueError) as problem:
        error(one_line(problem))
    except (Exception, SystemExit) as problem:  # importing a plug-in runs its code
        error(f'Plug-in "{name}" could not be loaded: {type(problem).__name__}: {one_line(problem)}')
    return None


def _settings(plugin: type[Any], error: Callable[[str], None]) -> Definition:
    if isinstance(declared := plugin.settings, Definition):
        return declared
    error(f"{plugin.__name__}.settings is a {type(declared).__name__}. Make it with connect.settings.define(...).")
    return Definition()


# Clients.


def _check_client(found: Findings, client: ClientKind, worker: Mapping[str, str], config: Mapping[str, str]) -> None:
    """The errors of a client's settings. They are translated again without each wrong one, to find them all."""
    worker_left, left = dict(worker), dict(config)
    told: set[str] = set()
    while True:
        try:
            translated = task_client_settings(client, worker_left, left)
            _check_made(client, worker_left, left, translated.keys)
            break
        except ClientSettingError as problem:
            if problem.key in told:  # its default is wrong as well
                return
            told.add(problem.key)
            mine = problem.key in left
            (found.error if mine else found.worker_error)(problem.key, problem.message)
            if (left if mine else worker_left).pop(problem.key, None) is None:
                return
    for warning in translated.warnings:
        key, _, message = warning.partition(": ")
        (found.warn if key in config else found.worker_warning)(key, message)


def _check_made(
    client: ClientKind, worker: Mapping[str, str], config: Mapping[str, str], written: Mapping[str, str]
) -> None:
    try:
        check_client(task_java_settings(client, worker, config))
    except ClientSettingError as problem:
        raise ClientSettingError(written.get(problem.key, problem.key), problem.message) from problem


# Keys that nobody knows.


def _warn_of_unknown(found: Findings, config: Mapping[str, str]) -> None:
    """A key that resembles a known one is probably a mistake; any other may be for another program, as in Kafka."""
    for key in config:
        if key in found.known or key.startswith(_OVERRIDES):
            continue
        what, _, rest = key.partition(".")
        alias = rest.partition(".")[0]
        if what in {"transforms", "predicates"} and alias and alias not in comma_separated(config.get(what)):
            found.warn(key, f'has no effect: "{alias}" is not among the aliases in {what}. Add it there.')
        elif near := did_you_mean(key, found.known):
            found.warn(key, f"is not known. Did you mean {near}?")
        else:
            found.unknown.append(key)
