"""The connectors that run on this worker: started in their host processes, asked for task configurations, stopped."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from connect.errors import ConnectError
from connect.herder.measures import Startups
from connect.herder.views import tasks_max
from connect.plugins import PluginRef
from connect.worker import messages
from connect.worker.hosts import ConnectorCallError, ConnectorHosts, ConnectorProcessEnded

log = logging.getLogger("connect.herder")

#: How long one call of a connector may take before its process is given up.
CALL_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class StartedConnector:
    """A connector that runs.

    Attributes:
        ref: its plug-in.
        task_class: "module:Class" of its tasks.
        version: of the plug-in.
        config: with secrets filled in.
        secrets: texts that must not appear in logs.
        engine: what runs its tasks.
        spreads: whether the engine has one task for it, and distributes the work itself.
    """

    ref: PluginRef
    task_class: str
    version: str | None
    config: Mapping[str, str]
    secrets: tuple[str, ...]
    engine: str
    spreads: bool


class Connectors:
    """All connectors of this worker. Calls block until the connector answers; raise `ConnectorCallError`."""

    def __init__(self, hosts: ConnectorHosts, startups: Startups, engine_default: str) -> None:
        self._engine_default = engine_default
        self._hosts = hosts
        self._startups = startups
        self._started: dict[str, StartedConnector] = {}

    def get(self, name: str) -> StartedConnector | None:
        """A connector that runs, or None."""
        return self._started.get(name)

    def names(self) -> list[str]:
        """The names of those that run."""
        return sorted(self._started)

    def start(self, name: str, ref: PluginRef, config: Mapping[str, str], secrets: tuple[str, ...]) -> StartedConnector:
        """Create and start a connector. A running one of the same name is stopped first, as far as it lets itself."""
        try:
            self.stop(name)
        except ConnectorCallError as error:  # its process has let it go, or was killed
            log.warning("While it stopped: %s", error, extra={"about": name})
        self._startups.began()
        try:
            request = messages.StartConnector(ref.target, ref.folder, dict(config), list(secrets), self._engine_default)
            answer = self._hosts.call(ref, name, request, CALL_TIMEOUT_S, messages.ConnectorStarted)
        except BaseException:
            self._startups.failed()
            raise
        self._startups.succeeded()
        version = answer.version or ref.version
        started = StartedConnector(ref, answer.task_class, version, config, secrets, answer.engine, answer.spreads)
        self._started[name] = started
        return started

    def cut(self, name: str) -> list[dict[str, str]]:
        """Ask a connector for its task configurations.

        An engine that distributes the work itself gets one task.

        Raises:
            ConnectError: there are more than tasks.max allows, and the limit is enforced (KIP-1004).
        """
        started = self._started[name]
        limit = 1 if started.spreads else tasks_max(started.config)
        request = messages.CutTasks(limit)
        configs = self._hosts.call(started.ref, name, request, CALL_TIMEOUT_S, list[dict[str, str]])
        if len(configs) > limit and (started.config.get("tasks.max.enforce") or "true").strip().lower() != "false":
            raise ConnectError(
                f'Connector "{name}" cut its work into {len(configs)} tasks, though {_allows(limit, started)}.'
                ' The connector is at fault; "tasks.max.enforce": "false" lets it.'
            )
        return configs

    def stop(self, name: str, timeout: float | None = None) -> None:
        """Stop a connector. Does nothing when it does not run; one whose process ends meanwhile has stopped, too."""
        started = self._started.pop(name, None)
        if started is not None:
            within = CALL_TIMEOUT_S if timeout is None else timeout
            try:
                self._hosts.call(started.ref, name, messages.StopConnector(), within, type(None))
            except ConnectorProcessEnded as error:
                log.warning("While it stopped: %s", error, extra={"about": name})

    def lost(self, name: str) -> None:
        """The connector's process is gone."""
        self._started.pop(name, None)


def _allows(limit: int, started: StartedConnector) -> str:
    return f'on the engine "{started.engine}" there is one' if started.spreads else f'"tasks.max" is {limit}'
