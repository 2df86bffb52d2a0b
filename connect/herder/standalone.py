"""The herder of standalone mode: connectors from files, all on this worker, configurations and states in memory.

Each change of a connector (its configuration, a pause, a restart) is one piece of work; those of one connector are
done one after another, those of different connectors side by side, so that one that hangs keeps nobody else waiting.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec

from connect.errors import ConfigError, ConnectError
from connect.herder.herder import TargetState
from connect.herder.worker import Worker, secrets_of
from connect.plugins import PluginKind, PluginRef
from connect.settings.definition import Config
from connect.settings.resolver import Resolver
from connect.storage import ConnectorStatus, OffsetStore, State, TaskStatus
from connect.worker.hosts import ConnectorCallError

log = logging.getLogger("connect.herder")

_AT_ONCE = 8


@dataclass(slots=True)
class _Wish:
    """A connector as its user wants it."""

    config: dict[str, str]
    target: TargetState
    turn: threading.Lock = field(default_factory=threading.Lock)
    deleted: bool = False


class StandaloneHerder:
    """Turns wishes into running connectors. Safe to use from many threads.

    Args:
        raw, config, resolver, offsets: see `Worker`.
    """

    def __init__(self, raw: Mapping[str, str], config: Config, resolver: Resolver, offsets: OffsetStore) -> None:
        self.worker = Worker(raw, config, resolver, offsets, listener=self)
        self._wishes: dict[str, _Wish] = {}
        self._lock = threading.Lock()
        self._work = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="herder")
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin. Call it from the main thread."""
        self.worker.start()

    def stop(self) -> None:
        """Stop every connector and the worker. Tasks and connectors together get the graceful time (P11)."""
        self._closing.set()
        deadline = time.monotonic() + self.worker.graceful
        self.worker.tasks.stop(self.worker.tasks.all(), self.worker.graceful)
        self.worker.connectors.stop_all(deadline)
        self.worker.hosts.close()  # work that waits for a connector ends with it
        self._work.shutdown(cancel_futures=True)
        self.worker.stop()

    # Wishes.

    def put_connector(self, name: str, config: Mapping[str, str], target: TargetState | None = None) -> Future[None]:
        """Create a connector, or give it another configuration. The future ends when it is started, or FAILED."""
        with self._lock:
            wish = self._wishes.get(name)
            if wish is None:
                wish = self._wishes[name] = _Wish(dict(config), target or TargetState.STARTED)
            else:
                wish.config = dict(config)
                wish.target = target or wish.target
        return self._submit(name, self._apply)

    def delete_connector(self, name: str) -> Future[None]:
        """Stop and forget a connector. Its offsets stay."""
        wish = self._wish(name)
        wish.deleted = True
        return self._submit(name, self._delete)

    def pause(self, name: str) -> Future[None]:
        """Let its tasks move nothing, but keep them."""
        return self._aim(name, TargetState.PAUSED)

    def resume(self, name: str) -> Future[None]:
        """Let it go on after a pause or a stop."""
        return self._aim(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> Future[None]:
        """End its tasks, keep its configuration (KIP-875)."""
        return self._aim(name, TargetState.STOPPED)

    def restart_connector(self, name: str) -> Future[None]:
        """Start the connector itself anew; its tasks run on unless it cuts the work in another way."""
        self._wish(name)
        return self._submit(name, self._apply)

    def restart_task(self, name: str, number: int) -> Future[None]:
        """Start one task anew, with the configuration that it had."""
        if number not in self.worker.tasks.of(name):
            raise ConnectError(f'Connector "{name}" has no task {number}.')
        return self._submit(name, lambda name, wish: self._restart_task(name, wish, number))

    # Views.

    def connectors(self) -> list[str]:
        """The names of all connectors."""
        with self._lock:
            return sorted(self._wishes)

    def config(self, name: str) -> dict[str, str]:
        """A connector's configuration, as it was written."""
        return dict(self._wish(name).config)

    def status(self, name: str) -> tuple[ConnectorStatus | None, list[TaskStatus]]:
        """How a connector and its tasks are."""
        self._wish(name)
        return self.worker.statuses.connector(name), self.worker.statuses.tasks(name)

    def offsets(self, name: str) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """The stored offsets of a source connector."""
        return self.worker.offsets.all(name)

    def validate(self, config: Mapping[str, str]) -> Any:
        """Check a configuration; see `connect.pipeline.validation`. Raises `ConnectError` for providers that fail."""
        resolved = self.worker.resolved(config)
        try:
            ref: PluginRef | None = self._plugin(resolved.values)
        except ConnectError:
            ref = None  # the validation says so itself
        return self.worker.validate(ref, resolved)

    # The host's listener.

    def reconfigure(self, connector: str) -> None:
        """A connector wants its task configurations made anew."""
        if not self._closing.is_set() and connector in self._wishes:
            self._submit(connector, self._reconfigure)

    def connector_failed(self, connector: str, summary: str, trace: str) -> None:
        """A connector raised an error by itself, or its process is gone."""
        if self._closing.is_set() or connector not in self._wishes:
            return
        log.error("%s", summary, extra={"about": connector})
        self.worker.connectors.lost(connector)
        self._put(connector, State.FAILED, trace)

    def connector_lost(self, connector: str) -> None:
        """The process that the connector shared is gone: start it in one of its own. Its tasks run on."""
        if not self._closing.is_set() and self.worker.connectors.get(connector) is not None:
            self.worker.connectors.lost(connector)
            self._submit(connector, self._revive)

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Stored offsets, for a connector that asks."""
        return self.worker.offsets.get(connector, partitions)

    # The work, one piece at a time for each connector.

    def _wish(self, name: str) -> _Wish:
        with self._lock:
            wish = self._wishes.get(name)
        if wish is None:
            raise ConnectError(f'There is no connector "{name}".')
        return wish

    def _aim(self, name: str, target: TargetState) -> Future[None]:
        self._wish(name).target = target
        return self._submit(name, self._follow)

    def _submit(self, name: str, work: Callable[[str, _Wish], None]) -> Future[None]:
        wish = self._wish(name)

        def run() -> None:
            with wish.turn:
                if self._closing.is_set():
                    return
                try:
                    work(name, wish)
                except Exception as error:
                    if self._closing.is_set():
                        return
                    log.error("%s", error, extra={"about": name}, exc_info=not isinstance(error, ConnectError))
                    trace = error.trace if isinstance(error, ConnectorCallError) else traceback.format_exc()
                    self._put(name, State.FAILED, trace)

        return self._work.submit(run)

    def _apply(self, name: str, wish: _Wish) -> None:
        """Start the connector with its configuration, and its tasks as they follow from it."""
        self._start(name, wish)
        self._run_tasks(name, wish, anew=True)

    def _start(self, name: str, wish: _Wish) -> None:
        resolved = self.worker.resolved(wish.config)
        ref = self._plugin(resolved.values)
        self.worker.connectors.start(name, ref, resolved.values, secrets_of(resolved))
        self._put(name, _STATES[wish.target])

    def _revive(self, name: str, wish: _Wish) -> None:
        """Start the connector again; its tasks stay unless it cuts the work in another way now."""
        self._start(name, wish)
        self._run_tasks(name, wish, anew=False)

    def _follow(self, name: str, wish: _Wish) -> None:
        """Do what the target state says."""
        if wish.target is TargetState.STOPPED:
            self._stop_tasks(name)
        elif self.worker.connectors.get(name) is None:
            self._apply(name, wish)
        elif self.worker.tasks.of(name):
            self.worker.tasks.pause(name, paused=wish.target is TargetState.PAUSED)
        else:
            self._run_tasks(name, wish, anew=True)
        self._put(name, _STATES[wish.target])

    def _reconfigure(self, name: str, wish: _Wish) -> None:
        if self.worker.connectors.get(name) is not None:
            self._run_tasks(name, wish, anew=False)

    def _run_tasks(self, name: str, wish: _Wish, *, anew: bool) -> None:
        """Run the tasks that the connector wants: all of them anew, or only when it cuts the work in another way."""
        if wish.target is TargetState.STOPPED:
            self._stop_tasks(name)
            return
        started = self.worker.connectors.get(name)
        assert started is not None
        limit = _tasks_max(started.config)
        configs = self.worker.connectors.task_configs(name, limit)
        if len(configs) > limit and (started.config.get("tasks.max.enforce") or "true").lower() != "false":
            raise ConnectError(
                f'Connector "{name}" cut its work into {len(configs)} tasks, though "tasks.max" is {limit}.'
                ' The connector is at fault; "tasks.max.enforce": "false" lets it.'
            )
        kind = "source" if started.ref.kind is PluginKind.SOURCE else "sink"
        paused = wish.target is TargetState.PAUSED
        specs = [
            self.worker.task_spec(name, number, kind, config, paused=paused) for number, config in enumerate(configs)
        ]
        running = self.worker.tasks.of(name)
        same = [task.process.spec.config for task in running.values()] == [spec.config for spec in specs]
        if same and not anew:
            return
        self._stop_tasks(name)
        for spec in specs:
            self.worker.tasks.start(spec, started.version)

    def _stop_tasks(self, name: str) -> None:
        numbers = list(self.worker.tasks.of(name))
        self.worker.tasks.stop([(name, number) for number in numbers], self.worker.graceful)
        for number in numbers:
            self.worker.statuses.forget(name, number)

    def _restart_task(self, name: str, wish: _Wish, number: int) -> None:
        task = self.worker.tasks.of(name)[number]
        self.worker.tasks.stop([(name, number)], self.worker.graceful)
        # As it was: its connector need not run for that.
        spec = msgspec.structs.replace(
            task.process.spec,
            paused=wish.target is TargetState.PAUSED,
            lease_until=self.worker.supervisor.lease_until(),
        )
        self.worker.tasks.start(spec, task.version)

    def _delete(self, name: str, wish: _Wish) -> None:
        self._stop_tasks(name)
        try:
            self.worker.connectors.stop(name)
        finally:
            with self._lock:
                self._wishes.pop(name, None)
            self.worker.hosts.forget(name)
            self.worker.statuses.forget(name)

    def _plugin(self, config: Mapping[str, str]) -> PluginRef:
        name = config.get("connector.class")
        if not name:
            raise ConfigError("connector.class", "is missing. Name the connector's class.")
        version = config.get("connector.plugin.version")
        return self.worker.plugins.find((PluginKind.SOURCE, PluginKind.SINK), name, version)

    def _put(self, name: str, state: State, trace: str | None = None) -> None:
        started = self.worker.connectors.get(name)
        version = started.version if started is not None else None
        self.worker.statuses.put(ConnectorStatus(name, state, self.worker.id, trace, 0, version))


_STATES = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


def _tasks_max(config: Mapping[str, str]) -> int:
    try:
        return max(1, int(config.get("tasks.max", "1")))
    except ValueError:
        raise ConfigError("tasks.max", f'"{config["tasks.max"]}" is not a whole number.') from None
