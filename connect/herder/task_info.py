"""Which classes a task is made of, and their versions: the texts among Kafka Connect's metrics."""

from __future__ import annotations

from collections.abc import Mapping

from connect.errors import ConnectError
from connect.herder.views import connector_plugin
from connect.pipeline.build import SIMPLE_HEADERS, converter_config
from connect.plugins import CONVERTERS, PluginKind, Plugins
from connect.settings.raw import comma_separated
from connect.worker.messages import TaskSpec


def about_task(plugins: Plugins, spec: TaskSpec, version: str | None) -> dict[str, str]:
    """The classes and versions of `connector-task-metrics`. What says no version has an empty one."""
    found = {**about_connector(plugins, spec.connector_config, spec.kind, version)}
    found["task-class"] = spec.config.get("task.class", "")
    found["task-version"] = version or ""
    for key, kind in CONVERTERS.items():
        default = SIMPLE_HEADERS if kind is PluginKind.HEADER_CONVERTER else None
        try:
            name, config = converter_config(spec.worker_config, spec.connector_config, key, default)
        except ConnectError:  # the task has failed of it
            continue
        shown = key.replace(".", "-")
        found[f"{shown}-class"], found[f"{shown}-version"] = _plugin(plugins, kind, name, config.get("plugin.version"))
    return found


def about_connector(plugins: Plugins, config: Mapping[str, str], kind: str, version: str | None) -> dict[str, str]:
    """The texts of `connector-metrics`, the status aside."""
    try:
        name = connector_plugin(plugins, config).name
    except (ConnectError, ValueError):
        name = config.get("connector.class", "")
    return {"connector-class": name, "connector-type": kind, "connector-version": version or ""}


def about_steps(plugins: Plugins, config: Mapping[str, str], what: str) -> dict[str, dict[str, str]]:
    """Class and version of each transformation (`what` is transform) or predicate (predicate) by its alias."""
    kind = PluginKind.TRANSFORMATION if what == "transform" else PluginKind.PREDICATE
    found = {}
    for alias in comma_separated(config.get(f"{what}s")):
        prefix = f"{what}s.{alias}."
        name = config.get(f"{prefix}type", "")
        written, version = _plugin(plugins, kind, name, config.get(f"{prefix}plugin.version"))
        found[alias] = {f"{what}-class": written, f"{what}-version": version}
    return found


def _plugin(plugins: Plugins, kind: PluginKind, name: str, wanted: str | None) -> tuple[str, str]:
    try:
        ref = plugins.find(kind, name, wanted)
    except (ConnectError, ValueError):
        return name, ""
    return ref.name, ref.version or ""
