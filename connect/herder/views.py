"""What users see of a connector, assembled from its configuration, its plug-in and its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connect.errors import ConfigError, ConnectError
from connect.herder.errors import NotFoundError
from connect.herder.model import ConnectorInfo, ConnectorState, ConnectorType, TargetState
from connect.plugins import PluginKind, PluginRef, Plugins
from connect.settings.variables import variables
from connect.storage import MemoryStatusStore, State, WaitNote
from connect.telemetry.outages import Wait

#: How a connector is that does what its user wants.
STATES: Final = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


def connector_plugin(plugins: Plugins, config: Mapping[str, str]) -> PluginRef:
    """The plug-in that a configuration names. Raises ConfigError, PluginNotFoundError, ValueError for its version."""
    name = (config.get("connector.class") or "").strip()
    if not name:
        raise ConfigError("connector.class", "is missing. Name the connector's class.")
    version, language = config.get("connector.plugin.version"), config.get("connector.language") or None
    return plugins.find((PluginKind.SOURCE, PluginKind.SINK), name, version, language)


def connector_type(plugins: Plugins, config: Mapping[str, str]) -> ConnectorType:
    """Whether it is a source or a sink; unknown where the plug-in is not installed."""
    try:
        return "source" if connector_plugin(plugins, config).kind is PluginKind.SOURCE else "sink"
    except (ConnectError, ValueError):
        return "unknown"


def plugin_version(plugins: Plugins, config: Mapping[str, str]) -> str | None:
    """The version of a connector's plug-in, None where the plug-in is not installed or has none."""
    try:
        return connector_plugin(plugins, config).version
    except (ConnectError, ValueError):
        return None


def connector_info(plugins: Plugins, name: str, config: Mapping[str, str], tasks: int) -> ConnectorInfo:
    """A connector as its user created it."""
    return ConnectorInfo(name, dict(config), range(tasks), connector_type(plugins, config))


def connector_state(
    plugins: Plugins, statuses: MemoryStatusStore, name: str, config: Mapping[str, str]
) -> ConnectorState:
    """The status of a connector and its tasks. Raises NotFoundError while nothing is known."""
    connector = statuses.connector(name)
    if connector is None:
        raise NotFoundError(f"No status found for connector {name}")
    return ConnectorState(name, connector, statuses.tasks(name), connector_type(plugins, config))


def heard(state: ConnectorState, wait: Wait | None, worker_id: str) -> ConnectorState:
    """The status as far as it is known: while this worker cannot read the others', their last states stand."""
    if wait is None:
        return state
    note = WaitNote(int(wait.since * 1000), f"This worker has no news of it: {wait.why}")
    tasks = [
        replace(task, waiting=note) if task.state is State.RUNNING and task.worker_id != worker_id else task
        for task in state.tasks
    ]
    return replace(state, tasks=tasks)


def as_written(configs: Sequence[Mapping[str, str]], connector: Mapping[str, str]) -> list[dict[str, str]]:
    """Task configurations with the variables that the connector's configuration has under the same keys.

    Values of config providers are not shown to anybody, and each task looks them up again.
    """
    written = {key: value for key, value in connector.items() if any(variables(value))}
    return [{key: written.get(key, value) for key, value in config.items()} for config in configs]


def tasks_max(config: Mapping[str, str]) -> int:
    """The maximum number of a connector's tasks. Raises ConfigError."""
    try:
        return max(1, int(config.get("tasks.max") or "1"))
    except ValueError:
        raise ConfigError("tasks.max", f'"{config["tasks.max"]}" is not a whole number.') from None
