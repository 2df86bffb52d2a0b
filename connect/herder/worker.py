"""What all herders run on: configuration, plug-ins, processes and stores, created in one place and started in order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from connect.api.engine import JAVA_ENGINE
from connect.herder.connectors import Connectors
from connect.herder.ending import Ending
from connect.herder.listeners import advertised
from connect.herder.measures import Measures
from connect.herder.membership import Membership
from connect.herder.offset_stores import OffsetStores, exactly_once
from connect.herder.task_answers import MayBegin
from connect.herder.tasks import TaskFailed, Tasks
from connect.herder.topics import ActiveTopics
from connect.kafka.admin.groups import remove_member
from connect.kafka.clients.settings import task_java_settings
from connect.kafka.writing.fencing import abort_left_open
from connect.pipeline.build import folders_of_chain
from connect.pipeline.findings import Validation
from connect.plugins import PluginKind, PluginRef, Plugins
from connect.settings.definition import Config
from connect.settings.isolation_keys import PACKED, JavaProcessOptions, isolation, java_process
from connect.settings.recovery_keys import recovery
from connect.settings.resolver import Resolved, Resolver
from connect.settings.worker_keys import RunOptions
from connect.storage import MemoryStatusStore, OffsetStore
from connect.telemetry.levels import levels
from connect.telemetry.redaction import redactor
from connect.worker import messages
from connect.worker.hosts import ConnectorHosts, HostListener
from connect.worker.spares import Spares
from connect.worker.supervisor import Supervisor

log = logging.getLogger("connect.herder")

#: How long the brokers may take to abort what a dead task left open.
_ABORT_S = 5.0


class Worker:
    """Runs connectors and tasks in processes of their own; a herder decides which.

    Args:
        raw: the worker's properties, providers' values filled in and brokers known.
        config: the same, parsed.
        resolver: fills providers' values into connectors' configurations.
        offsets: of sources. Started and closed with the worker.
        statuses: where states are stored. The same.
        member: until when the worker certainly owns its tasks, and the generation of its group.
    """

    def __init__(
        self,
        raw: Mapping[str, str],
        config: Config,
        resolver: Resolver,
        offsets: OffsetStore,
        statuses: MemoryStatusStore,
        member: Membership,
    ) -> None:
        self.raw = dict(raw)
        self.config = config
        self.options = RunOptions.parse(config)
        self.resolver = resolver
        self.offsets = offsets
        self.stores = OffsetStores(self.raw, config, offsets)
        self.id = advertised(raw).address
        self.statuses = statuses
        self.topics = ActiveTopics(config, self.statuses)
        self.measures = Measures(config)
        self.plugin_path: list[str] = [str(Path(folder).absolute()) for folder in config["plugin.path"] or []]
        self.plugins = Plugins.discover(self.plugin_path)
        self._spares = Spares(JavaProcessOptions.parse(config).spare_processes, self.raw)
        self.supervisor = Supervisor(entitled_until=member.live_until, spares=self._spares)
        level = logging.getLogger("connect").getEffectiveLevel()
        self.hosts = ConnectorHosts(self.plugin_path, level)
        self.connectors = Connectors(self.hosts, self.measures.connectors, self.options.default_engine)
        self.tasks = Tasks(
            self.supervisor,
            self.stores,
            self.statuses,
            self.topics,
            self.measures,
            self.id,
            lambda: max(0, member.role.generation),
            lambda left, connector: remove_member(self.raw, connector, left.group, left.member_id, left.instance_id),
            self._abort_left_open,
        )

    @property
    def graceful(self) -> float:
        """Seconds that all tasks together have to end."""
        return self.options.graceful

    def start(self, listener: HostListener, task_failed: TaskFailed, may_begin: MayBegin) -> None:
        """Start the process supervisor, and read offsets and states. Call it from the main thread.

        Args:
            listener: receives events of connectors.
            task_failed, may_begin: see `Tasks.listen`.

        Raises:
            ConnectError: offsets or states cannot be read.
        """
        self.hosts.listen(listener)
        self.tasks.listen(task_failed, may_begin)
        self.supervisor.start()
        levels.listen(self._level_changed)
        self.offsets.start()
        self.statuses.start()

    def stop(self, ending: Ending) -> None:
        """End all tasks, then everything else."""
        self.tasks.stop(self.tasks.all(), self.graceful)
        levels.forget(self._level_changed)
        self.supervisor.close()
        self.hosts.close()
        self.tasks.close(ending)
        self.stores.close()
        self.offsets.close()
        self.resolver.close()
        self.statuses.close(ending.left())

    def _level_changed(self, logger: str, level: str) -> None:
        """Plug-ins log in processes of their own, which get the level too."""
        message = messages.SetLevel(logger, level)
        self.supervisor.tell(message)
        self.hosts.tell(message)

    def resolved(self, config: Mapping[str, str]) -> Resolved:
        """A connector's configuration with providers' values filled in; from now on logs hide its secrets.

        Raises:
            ConfigError: a variable has no value.
        """
        found = self.looked_up(config)
        found.check()
        return found

    def looked_up(self, config: Mapping[str, str]) -> Resolved:
        """The same, for reading only: `Resolved.unresolved` lists variables without a value."""
        found = self.resolver.resolve(config)
        redactor.remember(secrets_of(found))
        return found

    def expect(self, connector: str, ref: PluginRef, config: Mapping[str, str]) -> None:
        """A connector may start here soon: the JVM of its first task begins beside that of the connector itself.

        Raises:
            ConfigError: `java.isolation` has a value that it does not know.
        """
        if ref.language == "java" and java_process(self.raw, config, connector, 0, ref.folder).takes_spare:
            self._spares.expect(JAVA_ENGINE, ref.folder)

    def spec(
        self,
        connector: str,
        number: int,
        ref: PluginRef,
        config: Mapping[str, str],
        connector_config: Mapping[str, str],
        secrets: Sequence[str],
        *,
        paused: bool,
        commit: int = -1,
    ) -> messages.TaskSpec:
        """What a task starts with; its connector need not run here. Configurations have secrets filled in.

        `commit` is the generation of the connector's tasks, see `ConfigState.commits`.
        """
        source = ref.kind is PluginKind.SOURCE
        is_java = ref.language == "java"
        java = java_process(self.raw, connector_config, connector, number, ref.folder) if is_java else None
        recover = recovery(self.raw, connector_config)
        offsets = self.stores.topic(connector_config) if source else None
        transactional = source and exactly_once(self.config)
        return messages.TaskSpec(
            connector=connector,
            task=number,
            kind="source" if source else "sink",
            connector_class=ref.target,
            folder=ref.folder,
            config=dict(config),
            connector_config=dict(connector_config),
            worker_config=self.raw,
            plugin_path=self.plugin_path,
            secrets=list(secrets),
            paused=paused,
            lease_until=self.supervisor.lease_until(),
            log_level=logging.getLogger("connect").getEffectiveLevel(),
            log_levels=levels.asked(),
            offsets_topic=None if offsets is None else offsets.topic,
            own_offsets=offsets is not None and offsets.own,
            transactional_id=self.transactional_id(connector, number) if transactional else None,
            isolation=PACKED if java else isolation(self.raw, connector_config),
            pack=java.shared_by if java else "",
            spare=JAVA_ENGINE if java and java.takes_spare else "",
            commit=commit,
            stalled_after=recover.stalled_after,
            restart_stalled=recover.restart_stalled,
        )

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Stored offsets of a connector that runs here."""
        started = self.connectors.get(connector)
        store = self.offsets if started is None else self.stores.of(started.config)
        return store.get(connector, partitions)

    def transactional_id(self, connector: str, number: int) -> str:
        """The transactional id of a source task, as Kafka Connect names it."""
        return f"{self.config['group.id']}-{connector}-{number}"

    def _abort_left_open(self, task: messages.TaskSpec, may_go_on: Callable[[], bool]) -> bool:
        assert task.transactional_id is not None
        java = task_java_settings("producer", self.raw, task.connector_config)
        return abort_left_open(java, task.transactional_id, _ABORT_S, may_go_on)

    def validate(self, ref: PluginRef | None, config: Resolved, timeout: float = 30.0) -> Validation:
        """Validate a connector's configuration in its host process. Raises `ConnectorCallError`."""
        folders = folders_of_chain(self.plugins, self.raw, config.values)
        return self.hosts.validate(ref, self.raw, config.values, config.secret_keys, timeout, folders)


def secrets_of(config: Resolved) -> tuple[str, ...]:
    """The values of a configuration that came from providers."""
    return tuple(sorted({config.values[key] for key in config.secret_keys if config.values[key]}))
