"""A connector's pipeline, created in this process from files, for `connect try` and `connect test`.

Plug-in code runs in the command's own process, which ends with it; no worker is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.cli._secrets import remember
from connect.errors import ConfigError, ConnectError, PluginNotFoundError, one_line
from connect.pipeline.build import OF_THE_CHAIN, sink_chain, source_chain
from connect.pipeline.chain import Chain
from connect.pipeline.parked import RetrySettings
from connect.pipeline.samples import Kind
from connect.plugins import PluginKind, Plugins
from connect.settings.properties import load
from connect.settings.raw import comma_separated
from connect.settings.resolver import Resolver, Unresolved
from connect.telemetry.redaction import redactor

_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"


class WrongConfigError(ConnectError):
    """A configuration cannot be used; the message has the position."""

    exit_code = 2


_WORKER = "the worker's configuration"


@dataclass(frozen=True)
class WorkerSettings:
    """The worker's settings for a pipeline: default converters, plug-in folders, config providers, clients.

    Attributes:
        values: of the keys that have one.
        unresolved: errors of the others, which only clients use.
    """

    values: dict[str, str] = field(default_factory=dict, repr=False)
    resolver: Resolver = field(default_factory=lambda: Resolver({}))
    unresolved: Sequence[str] = ()

    @classmethod
    def of(cls, written: Mapping[str, str], where: Callable[[str], str] | None = None) -> WorkerSettings:
        """From a worker's properties. Raises WrongConfigError."""

        def told(wrong: Iterable[Unresolved]) -> list[str]:
            return [f"{where(one.key) if where else _WORKER}: {ConfigError(one.key, one.message)}" for one in wrong]

        resolver = Resolver.from_worker_config(written)
        found = resolver.resolve(written)
        # Passwords of the brokers are not here where pipelines are tested.
        of_chains = [one for one in found.unresolved if one.key.startswith((*OF_THE_CHAIN, "plugin."))]
        if wrong := told([*resolver.problems, *of_chains]):
            raise WrongConfigError("\n".join(wrong))
        resolved = found.usable()
        redactor.remember(resolved.values[key] for key in resolved.secret_keys)
        remember(resolved.values)
        return cls(resolved.values, resolver, told(found.unresolved))

    @classmethod
    def read(cls, path: str | None) -> WorkerSettings:
        """Read a worker's file; without one the defaults. Raises ConfigFileError, WrongConfigError."""
        if path is None:
            return cls()
        written = load(path)
        return cls.of(written, lambda key: str(written.place(key)))

    def resolved(self, config: Mapping[str, str], matters: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
        """A connector's configuration with its variables filled in.

        Args:
            matters: whether a key matters: others keep variables without a value.

        Raises:
            ConfigError: a key that matters has no value.
        """
        found = self.resolver.resolve(config)
        found.check(matters)
        redactor.remember(found.values[key] for key in found.secret_keys)
        remember(found.values)
        return found.values

    def with_brokers(self, servers: str | None) -> dict[str, str]:
        """The worker's settings for clients, with these brokers. Raises ConfigError, WrongConfigError."""
        if self.unresolved:
            raise WrongConfigError("\n".join(self.unresolved))
        values = {**self.values, **({"bootstrap.servers": servers} if servers else {})}
        if not values.get("bootstrap.servers"):
            raise ConfigError(
                "bootstrap.servers", "is not known. Name the brokers with --bootstrap-server, or --worker-config."
            )
        if values["bootstrap.servers"].strip() == "embedded":
            from connect.kafka.broker.embedded import status

            running = status()
            if running is None:
                raise ConnectError("No broker runs on this machine. Start it with `connect broker start`.")
            values["bootstrap.servers"] = running.bootstrap_servers
        return values


@dataclass(frozen=True)
class Pipeline:
    """The chain of one connector, as its tasks have it.

    Attributes:
        kind: of the connector.
        config: with variables filled in.
        note: for the user; may be empty.
    """

    kind: Kind
    chain: Chain
    config: dict[str, str] = field(repr=False)
    note: str = ""

    @property
    def dead_letters(self) -> str | None:
        """The topic for records that the connector gives up."""
        return self.config.get(_DEAD_LETTERS, "").strip() or None

    @property
    def retry_topic(self) -> str | None:
        """The first retry topic of a sink."""
        if self.kind == "source":
            return None
        settings = RetrySettings.of(self.config, self.config.get("name", ""))
        return settings.topics[0] if settings is not None else None

    @property
    def topic(self) -> str:
        """The topic of samples that name none: the first one that it consumes or writes, if known."""
        names = self.config.get("topics", "") or self.config.get("topic", "")
        return next(iter(comma_separated(names)), "samples")


def open_pipeline(
    config: Mapping[str, str],
    worker: WorkerSettings,
    where: Callable[[str], str],
    kind: Kind | None = None,
    plugins: Plugins | None = None,
) -> Pipeline:
    """Create the chain of a connector.

    Args:
        config: as written.
        worker: its settings.
        where: the position of a key, for errors.
        kind: of the connector, where its plug-in is not installed here.
        plugins: where classes are found; by default the worker's plugin.path.

    Raises:
        WrongConfigError: something is wrong with it; the message says where.
    """
    if plugins is None:
        plugins = Plugins.discover(comma_separated(worker.values.get("plugin.path")))
    try:
        # Passwords of the connector's own are not here where pipelines are tested.
        resolved = worker.resolved(config, lambda key: key.startswith(OF_THE_CHAIN))
        found, note = (kind, "") if kind else kind_of(plugins, resolved)
        make = sink_chain if found == "sink" else source_chain
        return Pipeline(found, make(plugins, worker.values, resolved, lambda _: None), resolved, note)
    except ConfigError as error:
        advice = ""
        if error.key.endswith(".converter") and not worker.values:
            advice = " Or give --worker-config: the worker's file says what connectors without own converters use."
        raise WrongConfigError(f"{where(error.key)}: {error}{advice}") from error
    except (ConnectError, ValueError) as error:
        said = one_line(error)
        # An error about a class quotes its name, and not the key that names it.
        key = next((name for name, value in config.items() if value and f'"{value}"' in said), "connector.class")
        raise WrongConfigError(f"{where(key)}: {said}") from error


def kind_of(plugins: Plugins, config: Mapping[str, str]) -> tuple[Kind, str]:
    """The kind of a connector; without its plug-in, by its keys."""
    name = config.get("connector.class", "").strip()
    if name:
        try:
            ref = plugins.find((PluginKind.SOURCE, PluginKind.SINK), name, config.get("connector.plugin.version"))
            return ("source" if ref.kind is PluginKind.SOURCE else "sink"), ""
        except PluginNotFoundError:
            pass
    kind: Kind = "sink" if config.get("topics") or config.get("topics.regex") else "source"
    if not name:
        return kind, ""
    why = "it has topics to consume" if kind == "sink" else "it has neither topics nor topics.regex"
    return (
        kind,
        f"{name} is not installed here; the command treats it as a {kind}, because {why} (--as decides otherwise).",
    )
