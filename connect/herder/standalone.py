"""The herder of standalone mode: all connectors on this worker, configurations and states in memory.

Each change of a connector (its configuration, a pause, a restart) is one piece of work; those of one connector are
done one after another, those of different connectors side by side, so that one that hangs keeps nobody else waiting.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from connect.errors import ConnectError
from connect.herder import offsets as changes
from connect.herder.automatic_restarts import AutomaticRestarts
from connect.herder.background import Ending
from connect.herder.connector_work import ConnectorWork
from connect.herder.current_operations import CurrentOperations
from connect.herder.dead_letters import DeadLetters
from connect.herder.errors import AlreadyExistsError, NotFoundError
from connect.herder.health import health_of, readiness_of
from connect.herder.lag import ConnectorLag, LagWatch
from connect.herder.model import Change, ConnectorInfo, ConnectorState, Health, OffsetEntry, TargetState
from connect.herder.restart_policy import RestartPolicy
from connect.herder.restarts import RestartPlan, plan_restart
from connect.herder.secret_keys import refuse_masks
from connect.herder.views import (
    STATES,
    as_written,
    connector_info,
    connector_plugin,
    connector_state,
    plugin_version,
)
from connect.herder.worker import Worker, secrets_of
from connect.herder.worker_metrics import WorkerMetrics
from connect.herder.worker_queries import WorkerQueries
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.pipeline.findings import KeyDefinition, Validation
from connect.settings.definition import Config
from connect.settings.resolver import Resolver
from connect.storage import ConnectorStatus, OffsetStore, RestartNote, State, TaskStatus
from connect.telemetry.levels import levels

log = logging.getLogger("connect.herder")

_AT_ONCE = 32

T = TypeVar("T")


@dataclass(slots=True)
class _DesiredConnector:
    """A connector as its user wants it; `tasks` are the configurations that it cut its work into.

    Variables are in place in all of them: each start looks them up.
    """

    config: dict[str, str]
    target: TargetState
    tasks: list[dict[str, str]] = field(default_factory=list)


class StandaloneHerder:
    """Turns desired states into running connectors: a `connect.herder.herder.Herder`. Safe to use from many threads.

    Args:
        raw, config, resolver, offsets: see `Worker`.

    Raises:
        ConnectError: the policy for client overrides cannot be loaded.
    """

    def __init__(self, raw: Mapping[str, str], config: Config, resolver: Resolver, offsets: OffsetStore) -> None:
        self.worker = Worker(raw, config, resolver, offsets, listener=self, task_failed=self._task_failed)
        self._queries = WorkerQueries(self.worker)
        self._lag = LagWatch(self.worker)
        self._metrics = WorkerMetrics(self.worker, self._lag)
        self._desired: dict[str, _DesiredConnector] = {}
        self._lock = threading.Lock()
        self._operations = CurrentOperations()
        self._work = ConnectorWork(_AT_ONCE, self._operations, self._failed)
        self._restarts = AutomaticRestarts(
            self.worker.statuses,
            self.worker.id,
            policy=lambda name: RestartPolicy.of(raw, self._desired_of(name).config),
            wanted=self._wanted,
            live=lambda: True,
            submit=self._work.submit,
            restart=self._restart_by_itself,
        )
        self._started = False

    def start(self) -> None:
        """Begin. Call it from the main thread."""
        self.worker.start()
        self._lag.start()
        self._started = True

    def stop(self) -> None:
        """Stop every connector and the worker. Tasks and connectors together get the graceful time (P11)."""
        deadline = time.monotonic() + self.worker.graceful
        ending = Ending(self.worker.graceful)
        self._queries.close()
        self._lag.stop()
        self._restarts.close()
        self._work.ending()
        self.worker.tasks.stop(self.worker.tasks.all(), self.worker.graceful)
        self.worker.connectors.stop_all(deadline)
        self.worker.hosts.close()  # work that waits for a connector ends with it
        self._work.close()
        self.worker.stop(ending)

    # Reads.

    def kafka_cluster_id(self) -> str | None:
        return self._queries.kafka_cluster_id()

    def health(self) -> Health:
        return health_of(self.worker, started=self._started)

    def readiness(self) -> Health:
        return readiness_of(self.health())

    def busy_with(self) -> str:
        return self._operations.describe()

    def connectors(self) -> list[str]:
        with self._lock:
            return sorted(self._desired)

    def info(self, name: str) -> ConnectorInfo:
        desired = self._desired_of(name)
        return connector_info(self.worker.plugins, name, desired.config, len(desired.tasks))

    def status(self, name: str) -> ConnectorState:
        desired = self._desired_of(name, "No status found for connector {}")
        return connector_state(self.worker.plugins, self.worker.statuses, name, desired.config)

    def task_configs(self, name: str) -> list[dict[str, str]]:
        desired = self._desired_of(name)
        return [dict(config) for config in desired.tasks]

    def active_topics(self, name: str) -> list[str]:
        return self.worker.topics.of(name)

    def reset_active_topics(self, name: str) -> None:
        self.worker.topics.reset(name)

    # All requests belong here.

    def leader_url(self) -> None:
        return None

    def owner_url(self, name: str, task: int | None = None) -> None:
        return None

    # Measurements.

    def metrics(self) -> WorkerMetrics:
        return self._metrics

    def lag(self, name: str) -> Future[ConnectorLag]:
        config = self._desired_of(name).config
        return self._queries.submit(lambda: self._lag.of(name, {**self.worker.resolved(config).values, "name": name}))

    # Dead letters.

    def dead_letters(self, name: str, ask: Callable[[DeadLetters], T]) -> Future[T]:
        return self._queries.dead_letters(name, self._desired_of(name).config, ask)

    # Changes.

    def put_connector(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, *, replace: bool = True
    ) -> Future[Change]:
        """See `Herder`. The future ends when the connector is started, or FAILED."""
        return self._work.turn(name, lambda: self._put_checked(name, dict(config), target, replace=replace))

    def run_checked(self, name: str, config: Mapping[str, str], target: TargetState) -> Future[Change]:
        """Run a connector whose configuration was validated already."""
        return self._work.turn(name, lambda: self._put_config(name, dict(config), target))

    def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        def change() -> ConnectorInfo:
            merged = {**self._desired_of(name).config, **patch}
            config = {key: value for key, value in merged.items() if value is not None}
            return self._put_checked(name, config, None, replace=True).info

        return self._work.turn(name, change)

    def delete_connector(self, name: str) -> Future[None]:
        return self._work.turn(name, lambda: self._delete(name))

    def pause(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.PAUSED)

    def resume(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.STOPPED)

    def restart_connector(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> Future[ConnectorState]:
        """See `Herder`. The tasks run on that are not asked for, unless the connector cuts its work in another way."""
        self._desired_of(name, "Unknown connector: {}")
        plan = plan_restart(self.status(name), include_tasks=include_tasks, only_failed=only_failed)
        if plan.connector:
            self._restarts.cancel(name, None)
            self.worker.statuses.put(plan.state.connector)
        for status in plan.state.tasks:
            if status.task in plan.tasks:
                self._restarts.cancel(name, status.task)
                self.worker.statuses.put(status)
        work = self._follow_up(name, f"restarting connector {name}", lambda desired: self._restart(name, desired, plan))
        if include_tasks or only_failed:
            return _done(plan.state)
        answer: Future[ConnectorState] = Future()
        work.add_done_callback(lambda _: answer.set_result(plan.state))
        return answer

    def restart_task(self, name: str, number: int) -> Future[None]:
        desired = self._desired_of(name, "Unknown connector: {}")
        if number not in range(len(desired.tasks)):
            raise NotFoundError(f"Unknown task: {name}-{number}")
        self._restarts.cancel(name, number)
        return self._follow_up(
            name, f"restarting task {name}-{number}", lambda desired: self._restart_task(name, desired, number)
        )

    # Offsets.

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        config = self._desired_of(name).config
        return self._queries.submit(changes.read_offsets, self.worker, name, config)

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        return self._change_offsets(name, lambda config: changes.alter_offsets(self.worker, name, config, entries))

    def reset_offsets(self, name: str) -> Future[str]:
        return self._change_offsets(name, lambda config: changes.reset_offsets(self.worker, name, config))

    def _change_offsets(self, name: str, change: Callable[[Mapping[str, str]], str]) -> Future[str]:
        def checked() -> str:
            desired = self._desired_of(name)
            changes.refuse_unless_stopped(name, desired.target, len(self.worker.tasks.of(name)))
            with self._operations.enter(f"changing offsets of connector {name}"):
                return change(desired.config)

        return self._work.turn(name, checked)

    # Plug-ins, loggers.

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        return self._queries.validate(config)

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        return self._queries.plugin_settings(name, version)

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        return levels.set(namespace, level)

    # The host's listener.

    def reconfigure(self, connector: str) -> None:
        """A connector wants its task configurations made anew."""
        if not self._work.is_ending and connector in self._desired:
            self._follow_up(
                connector, f"reconfiguring connector {connector}", lambda desired: self._reconfigure(connector, desired)
            )

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None:
        """A connector raised an error by itself, or its process is gone."""
        if self._work.is_ending or connector not in self._desired:
            return
        log.error("%s", summary, extra={"about": connector})
        self.worker.connectors.lost(connector)
        self._failed(connector, trace, kind)

    def connector_lost(self, connector: str) -> None:
        """The process that the connector shared is gone: start it in one of its own. Its tasks run on."""
        if not self._work.is_ending and self.worker.connectors.get(connector) is not None:
            self.worker.connectors.lost(connector)
            self._follow_up(connector, f"starting connector {connector}", partial(self._revive, connector))

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Stored offsets, for a connector that asks."""
        return self.worker.source_offsets(connector, partitions)

    # The work, one piece at a time for each connector.

    def _desired_of(self, name: str, unknown: str = "Connector {} not found") -> _DesiredConnector:
        with self._lock:
            desired = self._desired.get(name)
        if desired is None:
            raise NotFoundError(unknown.format(name))
        return desired

    def _follow_up(self, name: str, what: str, work: Callable[[_DesiredConnector], None]) -> Future[None]:
        """Do something for a connector if it still exists then; what goes wrong makes it FAILED."""

        def run() -> None:
            with self._lock:
                desired = self._desired.get(name)
            if desired is not None:
                work(desired)

        return self._work.submit(name, what, run)

    def _aim(self, name: str, target: TargetState) -> Future[None]:
        self._desired_of(name, "Unknown connector {}").target = target
        self._restarts.cancel_all(name)
        self._follow_up(name, f"making connector {name} {target.value}", lambda desired: self._follow(name, desired))
        return _done(None)

    def _put_checked(self, name: str, config: dict[str, str], target: TargetState | None, *, replace: bool) -> Change:
        with self._operations.enter(f"validating the configuration of connector {name}"):
            self._queries.refuse_if_wrong(name, config)
        if not replace and name in self._desired:
            raise AlreadyExistsError(f"Connector {name} already exists")
        return self._put_config(name, config, target)

    def _put_config(self, name: str, config: dict[str, str], target: TargetState | None) -> Change:
        with self._lock:
            desired = self._desired.get(name)
            created = desired is None
            if desired is None:
                desired = self._desired[name] = _DesiredConnector(config, target or TargetState.STARTED)
            else:
                desired.config = config
                desired.target = target or desired.target
        self._restarts.cancel_all(name)
        self._work.or_fail(name, f"starting connector {name}", lambda: self._apply(name, desired))
        return Change(created, self.info(name))

    def _apply(self, name: str, desired: _DesiredConnector) -> None:
        """Start the connector with its configuration, and its tasks as they follow from it."""
        self._start(name, desired)
        self._run_tasks(name, desired, anew=True)

    def _start(self, name: str, desired: _DesiredConnector) -> None:
        if desired.target is TargetState.STOPPED:
            self.worker.connectors.stop(name)
        else:
            refuse_masks(self.worker, desired.config)
            resolved = self.worker.resolved(desired.config)
            ref = connector_plugin(self.worker.plugins, resolved.values)
            self.worker.connectors.start(name, ref, resolved.values, secrets_of(resolved))
        self._put_state(name, STATES[desired.target])

    def _revive(self, name: str, desired: _DesiredConnector) -> None:
        """Start the connector again; its tasks stay unless it cuts the work in another way now."""
        self._start(name, desired)
        self._run_tasks(name, desired, anew=False)

    def _restart(self, name: str, desired: _DesiredConnector, plan: RestartPlan) -> None:
        if plan.connector:
            self._revive(name, desired)
        for number in plan.tasks:
            self._restart_task(name, desired, number)

    def _follow(self, name: str, desired: _DesiredConnector) -> None:
        """Do what the target state says."""
        if desired.target is TargetState.STOPPED:
            self._stop_tasks(name)
            desired.tasks = []
            self.worker.connectors.stop(name)
        elif self.worker.connectors.get(name) is None or not self.worker.tasks.of(name):
            self._apply(name, desired)
        else:
            self.worker.tasks.pause(name, paused=desired.target is TargetState.PAUSED)
        self._put_state(name, STATES[desired.target])

    def _reconfigure(self, name: str, desired: _DesiredConnector) -> None:
        if self.worker.connectors.get(name) is not None:
            self._run_tasks(name, desired, anew=False)

    def _run_tasks(self, name: str, desired: _DesiredConnector, *, anew: bool) -> None:
        """Run the tasks that the connector wants: all of them anew, or only when it cuts the work in another way."""
        if desired.target is TargetState.STOPPED:
            self._stop_tasks(name)
            desired.tasks = []
            return
        started = self.worker.connectors.get(name)
        assert started is not None
        configs = self.worker.connectors.cut(name)
        task_class = started.ref.task or started.task_class
        cut = as_written([{**config, "task.class": task_class} for config in configs], desired.config)
        # What variables stand for may be something else by now: that alone is no reason to disturb tasks that run.
        running = {number: task.written for number, task in self.worker.tasks.of(name).items()}
        if not anew and running == {number: (desired.config, config) for number, config in enumerate(cut)}:
            return
        self._stop_tasks(name)
        desired.tasks = cut
        for number in range(len(cut)):
            self._start_task(name, desired, number, started.version)

    def _stop_tasks(self, name: str) -> None:
        numbers = list(self.worker.tasks.of(name))
        self.worker.tasks.stop([(name, number) for number in numbers], self.worker.graceful)
        self._restarts.forget((name, number) for number in numbers)
        for number in numbers:
            self.worker.statuses.forget(name, number)

    def _restart_task(self, name: str, desired: _DesiredConnector, number: int) -> None:
        if number >= len(desired.tasks):
            return
        before = self.worker.tasks.of(name).get(number)
        version = None if before is None else before.version
        self.worker.tasks.stop([(name, number)], self.worker.graceful)
        try:
            self._start_task(name, desired, number, version)
        except (ConnectError, ValueError) as error:
            log.error("%s", error, extra={"about": f"{name}-{number}"})
            trace = traceback.format_exc()
            self._restarts.failed(
                name,
                number,
                kind_of(error),
                lambda note: self.worker.statuses.put(
                    TaskStatus(name, number, State.FAILED, self.worker.id, trace, 0, version, note)
                ),
            )

    def _start_task(self, name: str, desired: _DesiredConnector, number: int, version: str | None) -> None:
        """Start a task with what its variables stand for now. Its connector need not run for that."""
        worker, committed = self.worker, desired.tasks[number]
        connector, task = worker.resolved(desired.config), worker.resolved(committed)
        ref = connector_plugin(worker.plugins, connector.values)
        spec = worker.spec(
            name,
            number,
            ref,
            task.values,
            connector.values,
            (*secrets_of(connector), *secrets_of(task)),
            paused=desired.target is TargetState.PAUSED,
        )
        worker.tasks.start(spec, version or ref.version, (desired.config, committed))

    def _delete(self, name: str) -> None:
        self._desired_of(name)
        self._stop_tasks(name)
        try:
            self.worker.connectors.stop(name)
        except ConnectError as error:
            log.warning("%s", error, extra={"about": name})
        finally:
            with self._lock:
                self._desired.pop(name, None)
            self._restarts.forget([(name, None)])
            self.worker.hosts.forget(name)
            self.worker.statuses.forget(name)

    def _failed(self, name: str, trace: str, kind: ErrorKind) -> None:
        self._restarts.failed(name, None, kind, lambda note: self._put_state(name, State.FAILED, trace, note))

    def _task_failed(self, name: str, number: int, kind: ErrorKind, tell: Callable[[RestartNote | None], None]) -> None:
        self._restarts.failed(name, number, kind, tell)

    def _wanted(self, name: str, number: int | None) -> Mapping[str, str] | None:
        """How a connector or a task of it is to run; None when it is not."""
        with self._lock:
            desired = self._desired.get(name)
            if desired is None or desired.target is not TargetState.STARTED:
                return None
            if number is None:
                return desired.config
            return desired.tasks[number] if number < len(desired.tasks) else None

    def _restart_by_itself(self, name: str, number: int | None) -> None:
        desired = self._desired_of(name)
        if number is None:
            self._revive(name, desired)
        else:
            self._restart_task(name, desired, number)

    def _put_state(self, name: str, state: State, trace: str | None = None, restart: RestartNote | None = None) -> None:
        with self._lock:
            desired = self._desired.get(name)
        if desired is None:  # deleted in between
            return
        started = self.worker.connectors.get(name)
        version = started.version if started is not None else plugin_version(self.worker.plugins, desired.config)
        self.worker.statuses.put(ConnectorStatus(name, state, self.worker.id, trace, 0, version, restart))


def _done(result: T) -> Future[T]:
    done: Future[T] = Future()
    done.set_result(result)
    return done
