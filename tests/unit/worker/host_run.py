"""A worker's connector hosts, for tests: what connectors say is noted, and their processes are known."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from connect.errors import ConnectError
from connect.pipeline.error_kinds import ErrorKind
from connect.plugins import PluginKind, PluginRef
from connect.worker import messages
from connect.worker.hosts import ConnectorHosts
from connect.worker.processes import start_server
from tests.support.waiting import until

PLUGINS = str(Path(__file__).with_name("plugins"))
WITHIN_S = 30.0
TRYING = PluginRef(name="trying", kind=PluginKind.SOURCE, target="trying:TryingConnector", aliases=(), folder=PLUGINS)
MISSING = PluginRef(name="missing", kind=PluginKind.SOURCE, target="trying:Missing", aliases=(), folder=PLUGINS)


class Listener:
    """Notes what connectors say."""

    def __init__(self) -> None:
        self.events: list[tuple[str, ...]] = []
        self.offset_error: str | None = None

    def reconfigure(self, connector: str) -> None:
        self.events.append(("reconfigure", connector))

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None:
        self.events.append(("failed", connector, summary, trace))

    def connector_lost(self, connector: str) -> None:
        self.events.append(("lost", connector))

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        if self.offset_error:
            raise ConnectError(self.offset_error)
        return [{"position": 7} for _ in partitions]


class Run:
    """Hosts, and calls on the connectors in them."""

    def __init__(self) -> None:
        start_server()
        self.listener = Listener()
        self.hosts = ConnectorHosts([PLUGINS], logging.INFO)
        self.hosts.listen(self.listener)
        self.pids: set[int] = set()

    def start(self, name: str, ref: PluginRef = TRYING, timeout: float = WITHIN_S, **config: str) -> Any:
        config = {key.replace("__", "."): value for key, value in config.items()}
        request = messages.StartConnector(ref.target, ref.folder, config, ["hunter22"], "worker")
        return self.hosts.call(ref, name, request, timeout, messages.ConnectorStarted)

    def choices(self, key: str, timeout: float = WITHIN_S, **config: str) -> messages.Listed:
        config = {key.replace("__", "."): value for key, value in config.items()}
        request = messages.ListChoices(TRYING.target, TRYING.folder, key, config, ["hunter22"], 3)
        return self.hosts.call_apart(TRYING, request, timeout, messages.Listed)

    def pid(self, name: str) -> int:
        """The process in which a connector is."""
        configs = self.hosts.call(TRYING, name, messages.CutTasks(1), WITHIN_S, list[dict[str, str]])
        pid = int(configs[0]["pid"])
        self.pids.add(pid)
        return pid

    def close(self) -> None:
        self.hosts.close()
        until(lambda: not any(map(psutil.pid_exists, self.pids)))
