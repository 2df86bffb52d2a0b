"""The definitions of a plug-in's settings (KIP-769), read in its host process."""

from __future__ import annotations

from connect.errors import PluginNotFoundError
from connect.herder.errors import BadRequestError, HerderError, NotFoundError
from connect.herder.worker import Worker
from connect.pipeline.findings import KeyDefinition
from connect.plugins import PluginKind, PluginRef
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError, ConnectorHosts

#: The kinds of plug-ins that the REST interface lists.
LISTED = (
    PluginKind.SINK,
    PluginKind.SOURCE,
    PluginKind.TRANSFORMATION,
    PluginKind.PREDICATE,
    PluginKind.CONVERTER,
    PluginKind.HEADER_CONVERTER,
)

_TIMEOUT_S = 30.0


def plugin_settings(worker: Worker, name: str, version: str | None = None) -> list[KeyDefinition]:
    """The definitions of a plug-in's settings, a connector's followed by those of all connectors of its kind.

    Args:
        name: as for `Plugins.find`.
        version: a version, a range, None or "latest".

    Raises:
        NotFoundError: there is no such plug-in.
        BadRequestError: no such version is installed, or the range is invalid.
        HerderError: it cannot be loaded.
    """
    ref = _find(worker, name, version)
    try:
        found = described(worker.hosts, ref, _TIMEOUT_S)
    except ConnectorCallError as error:
        raise HerderError(f"Plug-in {ref.name} cannot be loaded: {error}") from error
    for key in found:
        if key.name == "connector.plugin.version":
            key.default_value = ref.version
    return found


def described(hosts: ConnectorHosts, ref: PluginRef, timeout: float) -> list[KeyDefinition]:
    """The same for a plug-in that was found: its host imports it. Raises ConnectorCallError, also after `timeout`."""
    request = messages.DescribeSettings(ref.target, ref.folder, ref.kind.value)
    return hosts.call(ref, "", request, timeout, list[KeyDefinition])


def _find(worker: Worker, name: str, version: str | None) -> PluginRef:
    try:
        worker.plugins.find(LISTED, name)
    except PluginNotFoundError as error:
        raise NotFoundError(f"Unknown plugin {name}. {error}") from error
    try:
        return worker.plugins.find(LISTED, name, version)
    except (PluginNotFoundError, ValueError) as error:
        raise BadRequestError(str(error)) from error
