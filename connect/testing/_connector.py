"""The connector of a run: validated, started, asked for its tasks' configurations, as a worker does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from connect.api.connector import Connector
from connect.api.metrics import PluginMetrics
from connect.data.batch import Batch
from connect.errors import ConfigError, ConnectError
from connect.pipeline import Chain, ErrorPolicy, Stage, Step
from connect.pipeline.build import converter, header_converter, transformations
from connect.pipeline.steps import Decode, DecodeHeaders, Encode, EncodeHeaders
from connect.plugins import Plugins
from connect.storage.memory_offsets import MemoryOffsetStore
from connect.telemetry.metrics import Registry

B = TypeVar("B", bound=Batch[Any])
C = TypeVar("C", bound=Connector)

_CONVERTERS = ("key.converter", "value.converter", "header.converter")


class Context:
    """See `connect.api.connector.ConnectorContext`.

    Attributes:
        reconfigure: whether the connector asked for its task configurations to be made anew.
        error: what it raised from a thread of its own.
    """

    def __init__(self, name: str, metrics: PluginMetrics, offsets: MemoryOffsetStore) -> None:
        self.name = name
        self.metrics = metrics
        self.reconfigure = False
        self.error: Exception | None = None
        self._offsets = offsets

    def request_task_reconfiguration(self) -> None:
        self.reconfigure = True

    def raise_error(self, error: Exception) -> None:
        self.error = error

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._offsets.get(self.name, [partition])[0]


class ConnectorRun(Generic[C]):
    """One connector through its life.

    Args:
        connector: a class, or an instance that is used again after each `stop`.
        config: as a user writes it; `name`, `connector.class` and `tasks.max` are filled in.
        offsets: of its source partitions.
        registry: where its metrics go.
    """

    def __init__(
        self, connector: C | type[C], config: Mapping[str, str], offsets: MemoryOffsetStore, registry: Registry
    ) -> None:
        self._given = connector
        cls = connector if isinstance(connector, type) else type(connector)
        defaults = {"name": "test", "connector.class": f"{cls.__module__}.{cls.__qualname__}", "tasks.max": "1"}
        self.config = {**defaults, **config}
        self.name = self.config["name"]
        self.connector: C = self._make()
        self.context = Context(self.name, registry.labelled(connector=self.name), offsets)

    def _make(self) -> C:
        return self._given() if isinstance(self._given, type) else self._given

    def start(self, *, check: bool = True) -> None:
        """Validate, unless told not to, and start.

        Raises:
            ConfigError: for the first setting that is wrong; the others are in its notes.
        """
        self.connector = self._make()
        self.connector.context = self.context
        wrong = [
            ConfigError(value.name, text) for value in self.connector.validate(self.config) for text in value.errors
        ]
        if wrong and check:
            for other in wrong[1:]:
                wrong[0].add_note(str(other))
            raise wrong[0]
        self.connector.start(self.config)

    def task_configs(self) -> list[dict[str, str]]:
        """One for each task, checked.

        Raises:
            ConnectError: there are more than `tasks.max`.
        """
        self.context.reconfigure = False
        most = int(self.config["tasks.max"])
        configs = self.connector.task_configs(most)
        if len(configs) > most:
            raise ConnectError(
                f"task_configs({most}) gives {len(configs)} configurations. It may give fewer, not more."
            )
        task = self.connector.task_class()
        return [{**config, "task.class": f"{task.__module__}.{task.__qualname__}"} for config in configs]


def converts(config: Mapping[str, str]) -> bool:
    """Whether a configuration names converters: then records of a run are bytes on Kafka's side."""
    return any(config.get(key) for key in _CONVERTERS)


def decoding_chain(config: Mapping[str, str], pause: Callable[[float], None]) -> Chain:
    """What lies between topics and a sink task."""
    plugins = Plugins.discover()
    steps: list[Step] = []
    if converts(config):
        steps += [
            Decode(converter(plugins, {}, config, "key.converter"), is_key=True),
            Decode(converter(plugins, {}, config, "value.converter"), is_key=False),
            DecodeHeaders(header_converter(plugins, {}, config)),
        ]
    return Chain([*steps, *transformations(plugins, config)], ErrorPolicy.from_config(config, pause))


def encoding_chain(config: Mapping[str, str], tap: Tap, pause: Callable[[float], None]) -> Chain:
    """What lies between a source task and topics. The tap sees what comes out of the transformations."""
    plugins = Plugins.discover()
    steps: list[Step] = [*transformations(plugins, config), tap]
    if converts(config):
        steps += [
            EncodeHeaders(header_converter(plugins, {}, config)),
            Encode(converter(plugins, {}, config, "key.converter"), is_key=True),
            Encode(converter(plugins, {}, config, "value.converter"), is_key=False),
        ]
    return Chain(steps, ErrorPolicy.from_config(config, pause))


class Tap:
    """A step that changes nothing and keeps the batch that went through last."""

    stage = Stage.TRANSFORMATION
    operation = "Tap"
    apply_one = None

    def __init__(self) -> None:
        self.batch: Any = None

    def run(self, batch: B) -> B:
        self.batch = batch
        return batch

    def close(self) -> None:
        """Nothing to release."""
