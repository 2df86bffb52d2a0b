"""Creates the chain of a task from its connector's and its worker's configuration. Runs in the task's process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from connect.api.converter import Converter, HeaderConverter
from connect.api.plugin import Plugin
from connect.api.transformation import Predicate, Transformation
from connect.data.batch import SourceBatch
from connect.data.record import SinkRecord, SourceRecord
from connect.errors import ConfigError, PluginNotFoundError
from connect.pipeline.chain import Chain, Step
from connect.pipeline.dead_letters import EncodedRecord
from connect.pipeline.policy import ErrorPolicy
from connect.pipeline.steps import Decode, DecodeHeaders, Encode, EncodeHeaders, Transform
from connect.plugins import CONVERTERS, PluginKind, Plugins, load
from connect.settings.raw import comma_separated, prefixed

log = logging.getLogger(__name__)

SIMPLE_HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
#: How the keys of a connector begin that a chain, or whoever tries one, reads. The others are its tasks'.
OF_THE_CHAIN: Final = ("connector.", "errors.", "header.", "key.", "predicates", "topic", "transforms", "value.")


def sink_chain(
    plugins: Plugins, worker: Mapping[str, str], connector: Mapping[str, str], pause: Callable[[float], None]
) -> Chain:
    """Bytes -> values -> transformations.

    Args:
        plugins: where classes are looked up.
        worker, connector: their configurations, with secrets filled in.
        pause: see `ErrorPolicy`.

    Raises:
        ConfigError: a class or a setting is wrong.
    """
    steps: list[Step] = [
        Decode(converter(plugins, worker, connector, "key.converter"), is_key=True),
        Decode(converter(plugins, worker, connector, "value.converter"), is_key=False),
        DecodeHeaders(header_converter(plugins, worker, connector)),
        *transformations(plugins, connector),
    ]
    return Chain(steps, ErrorPolicy.from_config(connector, pause))


def source_chain(
    plugins: Plugins, worker: Mapping[str, str], connector: Mapping[str, str], pause: Callable[[float], None]
) -> Chain:
    """Transformations -> values -> bytes. Arguments and errors as for `sink_chain`."""
    steps: list[Step] = [
        *transformations(plugins, connector),
        EncodeHeaders(header_converter(plugins, worker, connector)),
        Encode(converter(plugins, worker, connector, "key.converter"), is_key=True),
        Encode(converter(plugins, worker, connector, "value.converter"), is_key=False),
    ]
    return Chain(steps, ErrorPolicy.from_config(connector, pause))


def transformation_chain(plugins: Plugins, connector: Mapping[str, str], pause: Callable[[float], None]) -> Chain:
    """Transformations alone, of records that are not bytes. Arguments and errors as for `sink_chain`."""
    return Chain(transformations(plugins, connector), ErrorPolicy.from_config(connector, pause))


def record_encoder(
    plugins: Plugins, worker: Mapping[str, str], connector: Mapping[str, str]
) -> Callable[[SinkRecord], EncodedRecord]:
    """Encodes a record that a sink task made itself, by the connector's converters. Errors as above."""
    steps: list[Step] = [
        EncodeHeaders(header_converter(plugins, worker, connector)),
        Encode(converter(plugins, worker, connector, "key.converter"), is_key=True),
        Encode(converter(plugins, worker, connector, "value.converter"), is_key=False),
    ]

    def encode(record: SinkRecord) -> EncodedRecord:
        batch = SourceBatch.of(
            [
                SourceRecord(
                    record.topic,
                    record.value,
                    record.value_schema,
                    record.key,
                    record.key_schema,
                    headers=record.headers,
                    timestamp=record.timestamp,
                )
            ]
        )
        for step in steps:
            batch = step.run(batch)
        raw: Any = batch.headers[0]  # bytes by now
        return EncodedRecord(batch.keys[0], batch.values[0], list(raw or ()), record.timestamp)

    return encode


def converter_config(
    worker: Mapping[str, str], connector: Mapping[str, str], key: str, default: str | None = None
) -> tuple[str, dict[str, str]]:
    """The class and the sub-keys of `key.converter`, `value.converter` or `header.converter`.

    A connector that names a class has its own sub-keys; one that does not gets the worker's class with the worker's
    sub-keys (KIP-75).

    Raises:
        ConfigError: neither names a class and there is no default.
    """
    owner = connector if connector.get(key) else worker
    name = owner.get(key) or default
    if not name:
        raise ConfigError(key, "is set neither in the connector nor in the worker. Name a converter class.")
    prefix = f"{key}."
    return name, prefixed(owner, prefix)


def folders_of_chain(plugins: Plugins, worker: Mapping[str, str], connector: Mapping[str, str]) -> set[str]:
    """The folders of plugin.path whose Python the chain of a configuration loads, as far as it is right."""
    wanted: list[tuple[PluginKind, Mapping[str, str]]] = []
    for key, kind in CONVERTERS.items():
        name, own = converter_config(worker, connector, key, SIMPLE_HEADERS)
        wanted.append((kind, {**own, "type": name}))
    for what, kind in (("transforms", PluginKind.TRANSFORMATION), ("predicates", PluginKind.PREDICATE)):
        aliases = comma_separated(connector.get(what))
        wanted += [(kind, prefixed(connector, f"{what}.{alias}.")) for alias in aliases]
    folders = set()
    for kind, config in wanted:
        with suppress(PluginNotFoundError, ValueError):
            ref = plugins.find(kind, config.get("type", ""), config.get("plugin.version"))
            if ref.folder is not None and ref.language == "python":
                folders.add(ref.folder)
    return folders


def converter(plugins: Plugins, worker: Mapping[str, str], connector: Mapping[str, str], key: str) -> Converter:
    """The configured converter of `key.converter` or `value.converter`."""
    name, config = converter_config(worker, connector, key)
    made: Converter = load(plugins.find(PluginKind.CONVERTER, name, config.get("plugin.version")))()
    is_key = key.startswith("key")
    _name_without_effect(made, config, f"{key}.")
    made.configure({**config, "converter.type": "key" if is_key else "value"}, is_key=is_key)
    return made


def header_converter(plugins: Plugins, worker: Mapping[str, str], connector: Mapping[str, str]) -> HeaderConverter:
    """The configured header converter; SimpleHeaderConverter when none is named."""
    name, config = converter_config(worker, connector, "header.converter", SIMPLE_HEADERS)
    made: HeaderConverter = load(plugins.find(PluginKind.HEADER_CONVERTER, name, config.get("plugin.version")))()
    _name_without_effect(made, config, "header.converter.")
    made.configure({**config, "converter.type": "header"})
    return made


def transformations(plugins: Plugins, connector: Mapping[str, str]) -> list[Step]:
    """The configured transformations, in order, each with its predicate."""
    steps: list[Step] = []
    for alias in comma_separated(connector.get("transforms")):
        prefix = f"transforms.{alias}."
        config = prefixed(connector, prefix)
        if not config.get("type"):
            raise ConfigError(f"{prefix}type", "is missing. Name the transformation's class.")
        made: Transformation = load(
            plugins.find(PluginKind.TRANSFORMATION, config["type"], config.get("plugin.version"))
        )()
        _name_without_effect(made, config, prefix)
        made.configure(made.settings.parse(config))
        chosen = config.get("predicate", "").strip()
        predicate = _predicate(plugins, connector, chosen, prefix) if chosen else None
        negate = config.get("negate", "false").strip().lower() == "true"
        steps.append(Transform(made, predicate, negate=negate, alias=alias))
    return steps


def _predicate(plugins: Plugins, connector: Mapping[str, str], alias: str, used_by: str) -> Predicate:
    if alias not in comma_separated(connector.get("predicates")):
        raise ConfigError(f"{used_by}predicate", f'there is no predicate "{alias}". Add it to the key "predicates".')
    prefix = f"predicates.{alias}."
    config = prefixed(connector, prefix)
    if not config.get("type"):
        raise ConfigError(f"{prefix}type", "is missing. Name the predicate's class.")
    made: Predicate = load(plugins.find(PluginKind.PREDICATE, config["type"], config.get("plugin.version")))()
    _name_without_effect(made, config, prefix)
    made.configure(made.settings.parse(config))
    return made


def _name_without_effect(plugin: Plugin, config: Mapping[str, str], prefix: str) -> None:
    """Log keys of other projects that do nothing here."""
    for key, message in plugin.settings.remarks(config):
        log.warning("%s%s %s", prefix, key, message)
