"""The files of standalone mode, read and checked: the worker's properties and one file for each connector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from connect.cli._problems import Problems
from connect.errors import ConfigError, ConnectError
from connect.kafka.clients.override_rules import refused_of_worker
from connect.pipeline.findings import Validation
from connect.settings.connector_files import ConnectorFile, load_connector
from connect.settings.definition import Config, Definition
from connect.settings.opentelemetry_keys import SIGNALS
from connect.settings.properties import ConfigFileError, Position, Properties, load
from connect.settings.raw import trimmed
from connect.settings.resolver import Resolver
from connect.settings.worker_keys import DISTRIBUTED, STANDALONE, unknown_keys
from connect.storage import FileOffsetStore, MemoryOffsetStore, OffsetStore
from connect.telemetry.otlp import is_installed
from connect.telemetry.redaction import redactor

OFFSET_FILE = "offset.storage.file.filename"


@dataclass(frozen=True)
class WorkerFile:
    """A worker's properties.

    Attributes:
        written: as they stand in the file.
        raw: with providers' values filled in, and without blanks around values.
        config: the same, parsed. A wrong key has its default, so that the connectors can be checked anyway.
        resolver: for connectors.
    """

    written: Properties
    raw: dict[str, str] = field(repr=False)
    config: Config = field(repr=False)
    resolver: Resolver

    def where(self, key: str) -> Position | str:
        """The position of a key, or the file if it does not have it."""
        return self.written.place(key)


#: A file with one of these is for a worker of a pool.
_OF_A_POOL: Final = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")


def is_distributed(written: Mapping[str, str]) -> bool:
    """Whether a worker's properties are for distributed mode."""
    return any(key in written for key in _OF_A_POOL)


def read_worker(path: str, problems: Problems, definition: Definition = STANDALONE) -> WorkerFile | None:
    """Read and check the worker's file by its mode's keys. None when it cannot be read at all."""
    written = _read(path, problems)
    if written is None:
        return None
    worker = worker_of(written, problems, definition)
    if worker.config[SIGNALS] and not is_installed():
        message = "needs the extra opentelemetry: `pip install connect-runtime[opentelemetry]`."
        problems.error(worker.where(SIGNALS), message, key=SIGNALS)
    return worker


def read_any_worker(path: str, problems: Problems, plugin_path: str | None = None) -> WorkerFile | None:
    """As `read_worker`, by the keys of the mode that the file is for. `plugin_path`: in place of the file's."""
    written = _read(path, problems)
    if written is None:
        return None
    if plugin_path:
        written = written.replaced("plugin.path", plugin_path)
    return worker_of(written, problems, DISTRIBUTED if is_distributed(written) else STANDALONE)


def _read(path: str, problems: Problems) -> Properties | None:
    try:
        written = load(path)
        in_json = next(iter(written), "").startswith("{")
        if in_json or ("connector.class" in written and "bootstrap.servers" not in written):
            raise ConfigFileError(f"{path}: this is a connector's file, not a worker's; name a worker's properties")
    except ConfigFileError as error:
        problems.unusable(path, error)
        return None
    return written


def worker_of(written: Properties, problems: Problems, definition: Definition) -> WorkerFile:
    """Check a worker's properties by its mode's keys."""
    _warn_of_duplicates(written.duplicates, problems)
    resolver = Resolver.from_worker_config(written)
    resolved = resolver.resolve(written)
    redactor.remember(resolved.values[key] for key in resolved.secret_keys)
    for wrong in resolver.problems:
        problems.error(written.place(wrong.key), wrong.message, key=wrong.key)
    for wrong in resolved.unresolved:
        problems.unknown(written.place(wrong.key), wrong.message, key=wrong.key)
    raw = trimmed(resolved.values)
    for value in definition.validate(raw):
        for message in value.errors:
            problems.error(written.place(value.name), message, key=value.name)
    for key, message in refused_of_worker(raw):
        problems.error(written.place(key), message, key=key)
    for key, message in (*resolver.doubts, *unknown_keys(written)):
        problems.warn(written.place(key), message, key=key)
    config = _parsed_where_possible(raw, definition)
    for folder in config["plugin.path"] or []:
        if not Path(folder).is_dir():
            message = f"there is no folder {folder}. Create it, or remove it here."
            problems.warn(written.place("plugin.path"), message, key="plugin.path")
    return WorkerFile(written, raw, config, resolver)


def read_connectors(paths: Sequence[str], problems: Problems) -> list[ConnectorFile]:
    """Read the connector files. Unreadable ones are left out."""
    found: list[ConnectorFile] = []
    for path in paths:
        try:
            file = load_connector(path)
        except ConfigFileError as error:
            problems.unusable(path, error)
            continue
        _warn_of_duplicates(file.duplicates, problems, file.name)
        if other := next((other for other in found if other.name == file.name), None):
            message = f"{other.where('name')} has this name already. Give one of the two connectors another."
            problems.error(file.where("name"), message, key="name", connector=file.name)
        found.append(file)
    return found


def open_offsets(worker: WorkerFile, problems: Problems) -> OffsetStore:
    """The worker's offset file; where it cannot be used, a store in memory, so that connectors can be checked."""
    if name := worker.config[OFFSET_FILE]:
        try:
            return FileOffsetStore(name)
        except ConnectError as error:
            problems.error(worker.where(OFFSET_FILE), str(error), key=OFFSET_FILE)
    return MemoryOffsetStore()


def take_validation(file: ConnectorFile, worker: WorkerFile, validation: Validation, problems: Problems) -> None:
    """Add the validation of one connector."""
    for key, message in validation.errors():
        problems.error(file.where(key), message, key=key, connector=file.name)
    for key, message in validation.warnings:
        again = key in validation.said_at_start
        problems.warn(file.where(key), message, key=key, connector=file.name, again=again)
    for key, message in validation.worker_errors:
        problems.error(worker.where(key), message, key=key)
    for key, message in validation.worker_warnings:
        problems.warn(worker.where(key), message, key=key)


def _parsed_where_possible(raw: Mapping[str, str], definition: Definition) -> Config:
    values = {}
    for setting in definition:
        try:
            values[setting.name] = setting.value(raw)
        except ConfigError:
            values[setting.name] = None if setting.required else setting.default
    return Config(values, raw)


def _warn_of_duplicates(
    duplicates: Mapping[str, list[Position]], problems: Problems, connector: str | None = None
) -> None:
    for key, places in duplicates.items():
        lines = " and ".join(str(place.line) for place in places[:-1])
        message = f"stands on line {lines} too, and only this last one counts. Remove what is not meant."
        problems.warn(places[-1], message, key=key, connector=connector)
