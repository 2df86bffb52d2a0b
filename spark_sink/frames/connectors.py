"""A connector that a DataFrame is read from or written to: its configuration checked, and that of its one task."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

from connect.errors import ConfigError, ConnectError
from connect.plugins import PluginKind, Plugins
from connect.plugins.lifetime import Lifetime
from connect.plugins.loading import load_class
from connect.telemetry.metrics import Registry
from spark_sink.frames.options import BYTE_ARRAYS

CONNECTOR: Final = "connector.class"
#: Options that Spark adds.
SPARKS: Final = frozenset({"path", "checkpointlocation", "queryname"})
#: The configuration of a worker that nobody asks for anything.
WORKER: Final = {"bootstrap.servers": "localhost:9092", "key.converter": BYTE_ARRAYS, "value.converter": BYTE_ARRAYS}

_OTHER: Final = {
    PluginKind.SINK: "is a source connector. Write into a sink connector, or into a topic.",
    PluginKind.SOURCE: "is a sink connector. Read from a source connector, or from topics.",
}
_UNKNOWN: Final = (
    "is not an option of this format, nor a key of {}, its converters or its transformations. Leave it out; a "
    "connector of your own declares what it reads in `settings`."
)


class Configured(NamedTuple):
    """A connector's task.

    Attributes:
        task: its class, "module:Class".
        folder: its plug-in's folder; None if it is installed as a package.
        config: its configuration.
    """

    task: str
    folder: str | None
    config: dict[str, str]


def configured(config: Mapping[str, str], kind: PluginKind) -> Configured:
    """Validate a connector's configuration, and have the connector make that of one task.

    Raises:
        ConfigError: a key is wrong or unknown, or the connector is of the other kind.
        ConnectError: the connector does not start.
    """
    from connect.pipeline.validation import validate

    plugins = Plugins.discover([])
    found = validate(plugins, WORKER, config)
    if found.kind == ("source" if kind is PluginKind.SINK else "sink"):
        raise ConfigError(CONNECTOR, _OTHER[kind])
    wrong = [(entry.value.name, message) for entry in found.entries for message in entry.value.errors]
    for key, message in (*wrong, *found.warnings):
        raise ConfigError(key, message)
    for key in found.unknown:
        raise ConfigError(key, _UNKNOWN.format(config[CONNECTOR]))
    ref = plugins.find(kind, config[CONNECTOR])
    return Configured(*_cut(ref.target, ref.folder, config))


def _cut(target: str, folder: str | None, config: Mapping[str, str]) -> tuple[str, str | None, dict[str, str]]:
    made = load_class(target, folder)()
    made.context = _Context(config["name"])
    life = Lifetime(made)
    life.start(config)
    try:
        configs = made.task_configs(1)
        task = made.task_class()
    finally:
        life.end()
    if not configs:
        raise ConnectError(
            f"{type(made).__name__} has nothing to do: it gives no task a configuration. "
            "Check that what its keys name, such as tables, is there."
        )
    text = {str(key): str(value) for key, value in configs[0].items()}
    return f"{task.__module__}:{task.__qualname__}", folder, text


class _Context:
    """See `connect.api.connector.ConnectorContext`: of a connector that only configures its task."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.metrics = Registry().labelled(connector=name)
        self.exit_stack = ExitStack()

    def request_task_reconfiguration(self) -> None:
        """Tasks are recreated for each write."""

    def raise_error(self, error: Exception) -> None:
        raise error

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None
