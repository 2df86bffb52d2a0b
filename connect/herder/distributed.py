"""The herder of distributed mode: a pool of workers that share connectors and tasks, and agree by Kafka alone.

What users want is in the config topic, written by the group's leader; every worker follows it and runs what the group
gives it. It knows which requests belong to the leader, and which to the owner of a connector or task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import orjson

from connect.errors import ConnectError
from connect.group import Delays, TaskId, Work
from connect.herder import offsets as changes
from connect.herder.assigned import AssignedWork
from connect.herder.background import Ending
from connect.herder.config_follower import ConfigFollower
from connect.herder.connector_work import ConnectorWork
from connect.herder.current_operations import CurrentOperations
from connect.herder.dead_letters import DeadLetters
from connect.herder.errors import (
    AlreadyExistsError,
    ElsewhereError,
    ForbiddenError,
    HerderError,
    NobodyKnownError,
    NotFoundError,
)
from connect.herder.fencing import Fencing
from connect.herder.group_member import GroupMember
from connect.herder.health import health_of, readiness_of, waits_for
from connect.herder.lag import ConnectorLag, LagWatch
from connect.herder.leader import CATCH_UP_S, CUT_FOR, Leader
from connect.herder.measures import span_of
from connect.herder.model import Change, ConnectorInfo, ConnectorState, Health, OffsetEntry, TargetState
from connect.herder.offset_stores import exactly_once
from connect.herder.pool_states import PoolStates, stopped_workers
from connect.herder.restarts import plan_restart
from connect.herder.views import connector_info, connector_state, connector_type, heard
from connect.herder.worker import Worker
from connect.herder.worker_metrics import WorkerMetrics
from connect.herder.worker_queries import WorkerQueries
from connect.pipeline.error_kinds import ErrorKind
from connect.pipeline.findings import KeyDefinition, Validation
from connect.settings.definition import Config
from connect.settings.resolver import Resolver
from connect.storage import RestartNote
from connect.storage.config_log import ConfigLog
from connect.storage.config_state import ConfigState, Event, RestartRequest
from connect.storage.topic_offsets import TopicOffsetStore
from connect.storage.topic_status import TopicStatusStore
from connect.telemetry.levels import levels
from connect.worker.messages import TaskSpec

_AT_ONCE = 32

T = TypeVar("T")


class DistributedHerder:
    """One worker's part of the pool: a `connect.herder.herder.Herder`. Safe to use from many threads.

    Args:
        raw, config, resolver, offsets: see `Worker`.
        statuses: the status topic; closed with the herder.
        make_config_log: makes the config topic's log, given who is to hear of its events.
        url: where this worker's REST interface is, ending in "/".
        gone: called when the worker cannot go on in its group.
    """

    def __init__(
        self,
        raw: Mapping[str, str],
        config: Config,
        resolver: Resolver,
        offsets: TopicOffsetStore,
        statuses: TopicStatusStore,
        make_config_log: Callable[[Callable[[Event], None]], ConfigLog],
        url: str,
        gone: Callable[[ConnectError], None],
    ) -> None:
        self._config = make_config_log(self._follow)
        self._offsets = offsets
        self._statuses = statuses
        delay = config["scheduled.rebalance.max.delay.ms"] if "scheduled.rebalance.max.delay.ms" in raw else None
        self._member = GroupMember(
            raw,
            config["connect.protocol"].lower(),
            url,
            self._config,
            Delays.of(delay),
            config["worker.sync.timeout.ms"] / 1000,
            stop=self._stop_work,
            start=self._start_work,
            stopped=lambda: stopped_workers(statuses),
            failed=gone,
            loads=lambda: self.worker.tasks.loads(),  # noqa: PLW0108 - the worker is made after it
            span=span_of(config),
        )
        self.worker = Worker(
            raw,
            config,
            resolver,
            offsets,
            listener=self,
            task_failed=self._task_failed,
            statuses=statuses,
            entitled_until=self._member.membership.live_until,
            generation=lambda: max(0, self._member.role.generation),
            may_begin=self._may_begin,
        )
        self._operations = CurrentOperations()
        self._queries = WorkerQueries(self.worker)
        self._lag = LagWatch(self.worker)
        self._metrics = WorkerMetrics(self.worker, self._lag, self._member.rebalances)
        self._states = PoolStates(self.worker, statuses, self._config, self._member, self._queries.submit)
        self._leader = Leader(config, self._config, self._member, self._operations)
        self._queues = ConnectorWork(_AT_ONCE, self._operations, self._failed)
        self._fencing = Fencing(self.worker, self._config, self._member, self._leader)
        self._assigned = AssignedWork(
            self.worker, self._member, self._config, self._states, self._leader, self._fencing, self._queues
        )
        self._following = ConfigFollower(
            self.worker, self._member, self._config, self._states, self._assigned, self._queues
        )
        self._started = False

    def start(self) -> None:
        """Read the topics, then join the group. Call it from the main thread. Raises ConnectError."""
        self.worker.start()
        self._offsets.start()
        self._statuses.start()
        self._statuses.listen(self._states.keep_last_word)
        self._config.start()
        self._member.join()
        self._lag.start()
        self._started = True

    def stop(self) -> None:
        """Stop what is owned, leave the group, and end."""
        ending = Ending(self.worker.graceful)
        self._queues.ending()
        self._queries.close()
        self._lag.stop()
        self._leader.close()
        self._fencing.close()
        self._assigned.close()
        self._assigned.stop(self._member.owned)
        self._member.leave(ending.left())
        self._config.close(ending.left())  # what still waits for it, on any thread, waits no longer (P11)
        self._queues.close()
        self.worker.stop(ending)
        self._statuses.close(ending.left())

    # Reads.

    def kafka_cluster_id(self) -> str | None:
        return self._queries.kafka_cluster_id()

    @property
    def started(self) -> bool:
        """Whether `start` has returned: before that nothing is known that could be asked for."""
        return self._started

    def health(self) -> Health:
        return health_of(self.worker, started=self._started and self._member.has_joined)

    def readiness(self) -> Health:
        health = self.health()
        if health.status == "healthy" and self._member.role.generation < 0:
            return Health("waiting", f"Worker is not in its group. {waits_for()}".rstrip())
        return readiness_of(health)

    def busy_with(self) -> str:
        return self._operations.describe()

    def connectors(self) -> list[str]:
        return sorted(self._config.state.connectors)

    def info(self, name: str) -> ConnectorInfo:
        state = self._config.state
        config = self._configured(state, name)
        return connector_info(self.worker.plugins, name, config, state.task_counts.get(name, 0))

    def status(self, name: str) -> ConnectorState:
        config = self._configured(self._config.state, name, "No status found for connector {}")
        return heard(
            connector_state(self.worker.plugins, self._statuses, name, config), self._statuses.deaf, self.worker.id
        )

    def task_configs(self, name: str) -> list[dict[str, str]]:
        state = self._config.state
        self._configured(state, name)
        return [dict(config) for config in state.task_configs(name)]

    def active_topics(self, name: str) -> list[str]:
        if not self.worker.config["topic.tracking.enable"]:
            raise ForbiddenError("Topic tracking is disabled.")
        return self._statuses.topics(name)

    def reset_active_topics(self, name: str) -> None:
        if not self.worker.config["topic.tracking.enable"]:
            raise ForbiddenError("Topic tracking is disabled.")
        if not self.worker.config["topic.tracking.allow.reset"]:
            raise ForbiddenError("Topic tracking reset is disabled.")
        self._statuses.forget_topics(name)

    # Where requests belong.

    def leader_url(self) -> str | None:
        return self._leader.url()

    def owner_url(self, name: str, task: int | None = None) -> str | None:
        state = self._config.state
        self._configured(state, name, "Unknown connector: {}")
        if task is not None and task not in state.task_ids(name):
            raise NotFoundError(f"Unknown task: {name}-{task}")
        owned = self._member.owned
        if name in owned.connectors if task is None else TaskId(name, task) in owned.tasks:
            return None
        url = self._states.owner_url(name, task)
        if url is None:
            raise NobodyKnownError
        return url

    # Measurements.

    def metrics(self) -> WorkerMetrics:
        return self._metrics

    def lag(self, name: str) -> Future[ConnectorLag]:
        config = self._configured(self._config.state, name)
        return self._queries.submit(lambda: self._lag.of(name, {**self.worker.resolved(config).values, "name": name}))

    # Dead letters.

    def dead_letters(self, name: str, ask: Callable[[DeadLetters], T]) -> Future[T]:
        return self._queries.dead_letters(name, self._configured(self._config.state, name), ask)

    # Changes: the leader's.

    def put_connector(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, *, replace: bool = True
    ) -> Future[Change]:
        def put() -> Change:
            known = name in self._config.state.connectors
            if known and not replace:
                raise AlreadyExistsError(f"Connector {name} already exists")
            return self._put(name, config, target)

        def checked() -> Change:
            self._refuse_if_wrong(name, config)
            return self._leader.submit(f"putting connector {name}", put).result()

        config = dict(config)
        self._leader.refuse_unless_leader()
        return self._queries.submit(checked)

    def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        what = f"patching connector {name}"

        def read() -> tuple[int, dict[str, str]]:
            state = self._config.state
            merged = {**self._configured(state, name), **patch}
            return state.written[name], {key: value for key, value in merged.items() if value is not None}

        def put(of: int, config: Mapping[str, str]) -> ConnectorInfo | None:
            """None where it was changed while the patched one was checked."""
            now = self._config.state.written.get(name)
            return self._put(name, config, None).info if now == of else None

        def change() -> ConnectorInfo:
            changed = None
            while changed is None:
                of, config = self._leader.submit(what, read).result()
                self._refuse_if_wrong(name, config)
                changed = self._leader.submit(what, partial(put, of, config)).result()
            return changed

        self._leader.refuse_unless_leader()
        return self._queries.submit(change)

    def delete_connector(self, name: str) -> Future[None]:
        def remove() -> None:
            self._configured(self._config.state, name)
            self._config.remove_connector(name)

        return self._leader.submit(f"deleting connector {name}", remove)

    def pause(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.PAUSED)

    def resume(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> Future[None]:
        def stop() -> None:
            self._configured(self._config.state, name, "Unknown connector {}")
            self._config.put_target(name, "STOPPED")
            self._config.put_tasks(name, [])

        return self._leader.submit(f"stopping connector {name}", stop)

    def restart_connector(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> Future[ConnectorState]:
        if not include_tasks and not only_failed:
            return self._restart_here(name)

        def restart() -> ConnectorState:
            self._configured(self._config.state, name, "Unknown connector: {}")
            plan = plan_restart(self.status(name), include_tasks=include_tasks, only_failed=only_failed)
            self._config.put_restart(RestartRequest(name, include_tasks, only_failed))
            return plan.state

        return self._leader.submit(f"restarting connector {name}", restart)

    def restart_task(self, name: str, number: int) -> Future[None]:
        if self.owner_url(name, number) is not None:
            raise ElsewhereError
        self._assigned.cancel_automatic_restart(name, number)
        what = f"restarting task {name}-{number}"
        return self._queues.submit(name, what, lambda: self._assigned.run_task(name, number))

    def _restart_here(self, name: str) -> Future[ConnectorState]:
        if self.owner_url(name) is not None:
            raise ElsewhereError
        self._assigned.cancel_automatic_restart(name, None)
        answer: Future[ConnectorState] = Future()

        def answered(_: Future[None]) -> None:
            try:
                answer.set_result(self.status(name))
            except HerderError as error:
                answer.set_exception(error)

        work = self._queues.submit(name, f"restarting connector {name}", lambda: self._assigned.run_connector(name))
        work.add_done_callback(answered)
        return answer

    # Offsets.

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        config = self._configured(self._config.state, name)
        return self._queries.submit(changes.read_offsets, self.worker, name, config)

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        return self._change_offsets(name, lambda config: changes.alter_offsets(self.worker, name, config, entries))

    def reset_offsets(self, name: str) -> Future[str]:
        return self._change_offsets(name, lambda config: changes.reset_offsets(self.worker, name, config))

    def _change_offsets(self, name: str, change: Callable[[Mapping[str, str]], str]) -> Future[str]:
        what = f"changing offsets of connector {name}"

        def checked() -> Mapping[str, str]:
            state = self._config.read_to_end(CATCH_UP_S)
            config = self._configured(state, name)
            target = TargetState(state.target(name))
            changes.refuse_unless_stopped(name, target, len(state.task_ids(name)))
            return config

        def fence_and_change() -> str:
            if connector_type(self.worker.plugins, first.result()) == "source":
                self._fencing.fence(name).result()  # a task that is thought dead must not store others afterwards
            return self._leader.submit(what, lambda: change(checked())).result()

        if not exactly_once(self.worker.config):
            return self._leader.submit(what, lambda: change(checked()))
        first = self._leader.submit(what, checked)
        return self._queries.submit(fence_and_change)

    # Plug-ins, loggers.

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        return self._queries.validate(config)

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        return self._queries.plugin_settings(name, version)

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        if cluster:
            self._config.put_logger_level(namespace, level)
            return []
        return levels.set(namespace, level)

    # From worker to worker.

    def session_key(self) -> bytes | None:
        """The key that the leader handed out to sign requests between workers (KIP-507); None while there is none."""
        key = self._config.state.session_key
        return None if key is None else key.key

    def key_settled(self) -> bool:
        return self._leader.key_settled()

    def check_headers(self, headers: Mapping[str, str]) -> None:
        self._leader.check_headers(headers)

    def check_signature(self, body: bytes, headers: Mapping[str, str]) -> None:
        self._leader.check_signature(body, headers)

    def put_task_configs(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """A follower's connector cut its work: `POST /connectors/{name}/tasks`, signed under "sessioned" (KIP-507)."""
        cut_for = headers.get(CUT_FOR)

        def put() -> None:
            self._configured(self._config.state, connector)
            configs = [dict(config) for config in orjson.loads(body)]
            self._leader.put_tasks(connector, configs, None if cut_for is None else int(cut_for))

        return self._leader.submit(f"writing the tasks of connector {connector}", put)

    def fence_zombies(self, connector: str) -> Future[None]:
        """A follower is about to start tasks that deliver exactly once: `PUT /connectors/{name}/fence` (KIP-618)."""
        return self._fencing.fence(connector)

    # The host's listener: see `AssignedWork`.

    def reconfigure(self, connector: str) -> None:
        self._assigned.reconfigure(connector)

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None:
        self._assigned.connector_failed(connector, summary, trace, kind)

    def connector_lost(self, connector: str) -> None:
        self._assigned.connector_lost(connector)

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return self._assigned.source_offsets(connector, partitions)

    # Small things.

    def _start_work(self, work: Work) -> None:
        self._leader.begin(self._tidy_states)
        self._assigned.start(work)

    def _tidy_states(self) -> None:
        self._states.forget_deleted()
        self._states.fail_what_nobody_gets()

    def _stop_work(self, work: Work) -> None:
        self._assigned.stop(work)

    def _follow(self, event: Event) -> None:
        self._following.follow(event)

    def _failed(self, name: str, trace: str, kind: ErrorKind) -> None:
        self._assigned.failed(name, trace, kind)

    def _task_failed(self, name: str, number: int, kind: ErrorKind, tell: Callable[[RestartNote | None], None]) -> None:
        self._assigned.task_failed(name, number, kind, tell)

    def _may_begin(self, task: TaskSpec) -> None:
        self._fencing.confirm(task)

    def _refuse_if_wrong(self, name: str, config: Mapping[str, str]) -> None:
        """Never on the leader's thread: a connector that hangs would keep everybody's changes waiting (P6)."""
        with self._operations.enter(f"validating the configuration of connector {name}"):
            self._queries.refuse_if_wrong(name, config)

    def _put(self, name: str, config: Mapping[str, str], target: TargetState | None) -> Change:
        known = name in self._config.state.connectors
        self._config.put_connector(name, config, None if target is None else target.value)
        return Change(not known, self.info(name))

    def _aim(self, name: str, target: TargetState) -> Future[None]:
        def aim() -> None:
            self._configured(self._config.state, name, "Unknown connector {}")
            self._config.put_target(name, target.value)

        return self._leader.submit(f"making connector {name} {target.value}", aim)

    def _configured(self, state: ConfigState, name: str, unknown: str = "Connector {} not found") -> Mapping[str, str]:
        config = state.connectors.get(name)
        if config is None:
            raise NotFoundError(unknown.format(name))
        return config
