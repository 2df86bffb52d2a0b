"""The herder of distributed mode: a pool of workers that share connectors and tasks, and agree by Kafka alone.

What users want is in the config topic, written by the group's leader; every worker follows it and runs what the group
gives it. A request that only the leader or the owner can carry out raises `ElsewhereError`, and is forwarded.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import orjson

from connect import peers
from connect.errors import ConnectError
from connect.group import Delays, TaskId, Work
from connect.herder import checks
from connect.herder import offsets as changes
from connect.herder.group_member import GroupMember
from connect.herder.herder import (
    AlreadyExistsError,
    BadRequestError,
    Change,
    ConnectorInfo,
    ConnectorState,
    ElsewhereError,
    ForbiddenError,
    Health,
    HerderError,
    NotFoundError,
    OffsetEntry,
    RebalanceError,
    TargetState,
)
from connect.herder.overrides import load_policy
from connect.herder.plugin_settings import plugin_settings
from connect.herder.restarts import plan_restart
from connect.herder.stages import Stages
from connect.herder.turns import Turns
from connect.herder.views import (
    as_written,
    connector_info,
    connector_plugin,
    connector_state,
    plugin_version,
    tasks_max,
)
from connect.herder.worker import Worker, secrets_of
from connect.kafka.cluster import cluster_id
from connect.settings.definition import Config
from connect.settings.resolver import Resolver
from connect.storage import ConnectorStatus, State, TaskStatus
from connect.storage.config_log import ConfigLog
from connect.storage.config_state import (
    ConfigState,
    ConnectorChanged,
    ConnectorRemoved,
    Event,
    LoggerChanged,
    RestartAsked,
    RestartRequest,
    SessionKey,
    SessionKeyChanged,
    TargetChanged,
    TasksCommitted,
)
from connect.storage.topic_offsets import TopicOffsetStore
from connect.storage.topic_status import TopicStatusStore
from connect.telemetry.levels import levels
from connect.worker.hosts import ConnectorCallError

log = logging.getLogger("connect.herder")

_AT_ONCE = 32
_ASKS_AT_ONCE = 16
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 60.0

T = TypeVar("T")

_STATES = {"STARTED": State.RUNNING, "PAUSED": State.PAUSED, "STOPPED": State.STOPPED}


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
        self._config = make_config_log(self._heard)
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
            self._stop_work,
            self._start_work,
            self._stopped_workers,
            gone,
        )
        self.worker = Worker(
            raw,
            config,
            resolver,
            offsets,
            listener=self,
            statuses=statuses,
            entitled_until=self._member.membership.live_until,
            generation=lambda: max(0, self._member.role.generation),
        )
        self._policy = load_policy(self.worker.plugins, raw)
        self._turns = Turns(_AT_ONCE)
        self._asks = ThreadPoolExecutor(_ASKS_AT_ONCE, thread_name_prefix="ask")
        # What the leader writes is decided on what it wrote before: one change after another.
        self._leading = ThreadPoolExecutor(1, thread_name_prefix="leader")
        # Held from looking whether a task is ours to its start, so that none begins after it was given up.
        self._starting = threading.Lock()
        #: What this worker last said of its connectors (task None) and tasks.
        self._said: dict[tuple[str, int | None], ConnectorStatus | TaskStatus] = {}
        self._stages = Stages()
        self._cluster_id: str | None = None
        self._started = False
        self._closing = False

    def start(self) -> None:
        """Read the topics, then join the group. Call it from the main thread. Raises ConnectError."""
        self.worker.start()
        self._offsets.start()
        self._statuses.start()
        self._statuses.listen(self._keep_last_word)
        self._config.start()
        self._member.join()
        self._started = True

    def stop(self) -> None:
        """Stop what is owned, leave the group, and end."""
        self._closing = True
        self._asks.shutdown(wait=False, cancel_futures=True)
        self._leading.shutdown(wait=False, cancel_futures=True)
        self._stop_work(self._member.owned)
        self._member.leave()
        self._turns.close()
        self.worker.stop()
        self._config.close()
        self._statuses.close()

    # Reads.

    def kafka_cluster_id(self) -> str | None:
        if self._cluster_id is None:
            try:
                self._cluster_id = cluster_id(self.worker.raw)
            except ConnectError as error:
                log.warning("%s", error)
        return self._cluster_id

    def health(self) -> Health:
        if not self._started or self._member.role.generation < 0:
            return Health("starting", "Worker is still starting up.")
        return Health("healthy", "Worker has completed startup and is ready to handle requests.")

    def busy_with(self) -> str:
        return self._stages.describe()

    def connectors(self) -> list[str]:
        return sorted(self._config.state.connectors)

    def info(self, name: str) -> ConnectorInfo:
        state = self._config.state
        config = self._configured(state, name)
        return connector_info(self.worker.plugins, name, config, state.task_counts.get(name, 0))

    def status(self, name: str) -> ConnectorState:
        config = self._configured(self._config.state, name, "No status found for connector {}")
        return connector_state(self.worker.plugins, self._statuses, name, config)

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

    # Changes: the leader's.

    def put_connector(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, *, replace: bool = True
    ) -> Future[Change]:
        def put() -> Change:
            return self._put(name, dict(config), target, replace=replace)

        return self._lead(f"putting connector {name}", put)

    def patch_connector(self, name: str, patch: Mapping[str, str | None]) -> Future[ConnectorInfo]:
        def change() -> ConnectorInfo:
            merged = {**self._configured(self._config.state, name), **patch}
            config = {key: value for key, value in merged.items() if value is not None}
            return self._put(name, config, None, replace=True).info

        return self._lead(f"patching connector {name}", change)

    def delete_connector(self, name: str) -> Future[None]:
        def remove() -> None:
            self._configured(self._config.state, name)
            self._config.remove_connector(name)

        return self._lead(f"deleting connector {name}", remove)

    def pause(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.PAUSED)

    def resume(self, name: str) -> Future[None]:
        return self._aim(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> Future[None]:
        def stop() -> None:
            self._configured(self._config.state, name, "Unknown connector {}")
            self._config.put_target(name, "STOPPED")
            self._config.put_tasks(name, [])

        return self._lead(f"stopping connector {name}", stop)

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

        return self._lead(f"restarting connector {name}", restart)

    def restart_task(self, name: str, number: int) -> Future[None]:
        state = self._config.state
        self._configured(state, name, "Unknown connector: {}")
        if number not in state.task_ids(name):
            raise NotFoundError(f"Unknown task: {name}-{number}")
        if TaskId(name, number) not in self._member.owned.tasks:
            raise self._elsewhere(self._owner_url(name, number))
        return self._follow_up(name, f"restarting task {name}-{number}", lambda: self._run_task(name, number))

    def _restart_here(self, name: str) -> Future[ConnectorState]:
        self._configured(self._config.state, name, "Unknown connector: {}")
        if name not in self._member.owned.connectors:
            raise self._elsewhere(self._owner_url(name, None))
        answer: Future[ConnectorState] = Future()

        def answered(_: Future[None]) -> None:
            try:
                answer.set_result(self.status(name))
            except HerderError as error:
                answer.set_exception(error)

        self._follow_up(name, f"restarting connector {name}", lambda: self._run_connector(name)).add_done_callback(
            answered
        )
        return answer

    # Offsets.

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        config = self._configured(self._config.state, name)
        return self._asks.submit(changes.read_offsets, self.worker, name, config)

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        return self._change_offsets(name, lambda config: changes.alter_offsets(self.worker, name, config, entries))

    def reset_offsets(self, name: str) -> Future[str]:
        return self._change_offsets(name, lambda config: changes.reset_offsets(self.worker, name, config))

    def _change_offsets(self, name: str, change: Callable[[Mapping[str, str]], str]) -> Future[str]:
        def checked() -> str:
            state = self._config.read_to_end(30)
            config = self._configured(state, name)
            target = TargetState(state.target(name))
            changes.refuse_unless_stopped(name, target, len(state.task_ids(name)))
            return change(config)

        return self._lead(f"changing offsets of connector {name}", checked)

    # Plug-ins, loggers.

    def validate(self, config: Mapping[str, str]) -> Future[dict[str, Any]]:
        return self._asks.submit(checks.validate, self.worker, self._policy, config)

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[dict[str, Any]]]:
        return self._asks.submit(plugin_settings, self.worker, name, version)

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        if cluster:
            self._config.put_logger_level(namespace, level)
            return []
        return levels.set(namespace, level)

    # From worker to worker.

    def put_task_configs(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """A follower's connector cut its work: `POST /connectors/{name}/tasks`, signed under "sessioned" (KIP-507)."""
        self._check_signature(body, headers.get(peers.SIGNATURE_HEADER), headers.get(peers.ALGORITHM_HEADER))

        def put() -> None:
            self._configured(self._config.state, connector)
            self._config.put_tasks(connector, [dict(config) for config in orjson.loads(body)])

        return self._lead(f"writing the tasks of connector {connector}", put)

    def fence_zombies(self, connector: str, body: bytes, headers: Mapping[str, str]) -> Future[None]:
        """`PUT /connectors/{name}/fence`: exactly-once sources are not there yet."""
        self._check_signature(body, headers.get(peers.SIGNATURE_HEADER), headers.get(peers.ALGORITHM_HEADER))
        raise HerderError("Exactly-once source connectors are not supported by this worker yet.")

    def _check_signature(self, body: bytes, signature: str | None, algorithm: str | None) -> None:
        if self._member.role.protocol != "sessioned":
            return
        key = self._config.state.session_key
        allowed = {name.lower() for name in self.worker.config["inter.worker.verification.algorithms"]}
        if not signature or not algorithm:
            raise BadRequestError("Internal request missing required signature")
        if algorithm.lower() not in allowed:
            raise BadRequestError(f"This worker does not support the '{algorithm}' key signing algorithm used by other")
        if key is None:
            raise RebalanceError("There is no session key yet; the request may be sent again in a moment")
        if not peers.verify(key.key, body, signature, algorithm):
            raise ForbiddenError("Internal request contained invalid signature.")

    # The host's listener.

    def reconfigure(self, connector: str) -> None:
        """A connector wants its task configurations made anew."""
        if connector in self._member.owned.connectors:
            self._follow_up(connector, f"reconfiguring connector {connector}", lambda: self._publish_tasks(connector))

    def connector_failed(self, connector: str, summary: str, trace: str) -> None:
        """A connector raised an error by itself, or its process is gone."""
        if not self._closing and connector in self._member.owned.connectors:
            log.error("%s", summary, extra={"about": connector})
            self.worker.connectors.lost(connector)
            self._put_state(connector, State.FAILED, trace)

    def connector_lost(self, connector: str) -> None:
        """The process that the connector shared is gone: start it in one of its own."""
        if not self._closing and connector in self._member.owned.connectors:
            self.worker.connectors.lost(connector)
            self._follow_up(connector, f"starting connector {connector}", lambda: self._run_connector(connector))

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Stored offsets, for a connector that asks."""
        return self.worker.offsets.get(connector, partitions)

    # What the config topic says. The log's thread: nothing here may wait.

    def _heard(self, event: Event) -> None:
        owned = self._member.owned
        match event:
            case ConnectorChanged(name):
                if name in owned.connectors:
                    self._follow_up(name, f"starting connector {name}", lambda: self._run_connector(name))
                    self._follow_up(name, f"starting tasks of {name}", lambda: self._run_tasks(name, anew=True))
                elif any(task.connector == name for task in owned.tasks):
                    self._follow_up(name, f"starting tasks of {name}", lambda: self._run_tasks(name, anew=True))
                else:
                    self._member.rebalance(f"there is a connector {name}")
            case ConnectorRemoved(name):
                self._member.rebalance(f"connector {name} is gone")
            case TasksCommitted(name):
                self._follow_up(name, f"starting tasks of {name}", lambda: self._run_tasks(name, anew=False))
                self._member.rebalance(f"the tasks of {name} are others now")
            case TargetChanged(name):
                self._follow_up(name, f"following what is wanted of {name}", lambda: self._follow_target(name))
            case RestartAsked(request):
                self._follow_up(request.connector, f"restarting {request.connector}", lambda: self._restart(request))
            case LoggerChanged(namespace, level):
                with contextlib.suppress(ValueError):
                    levels.set(namespace, level)
            case SessionKeyChanged():
                pass

    # Work of this worker, one piece after another for each connector.

    def _start_work(self, work: Work) -> None:
        with contextlib.suppress(RuntimeError):  # it is shut down: we are about to leave the group
            if self._member.role.leader:
                self._leading.submit(self._keep_session_key)
                self._leading.submit(self._forget_deleted)
        for name in sorted(work.connectors):
            self._follow_up(name, f"starting connector {name}", partial(self._run_connector, name))
        for name, number in sorted(work.tasks):
            self._follow_up(name, f"starting task {name}-{number}", partial(self._run_task, name, number))

    def _stop_work(self, work: Work) -> None:
        """Stop, and return when all has ended; within the graceful time for tasks (P11)."""
        with self._starting:
            pass  # what was about to start has started, and is stopped with the rest
        self.worker.tasks.stop([(task.connector, task.task) for task in work.tasks], self.worker.graceful)
        for name, number in work.tasks:
            if number not in self._config.state.task_ids(name):
                self._statuses.forget(name, number)
        stopping = [self._turns.submit(name, partial(self._stop_connector, name)) for name in work.connectors]
        deadline = time.monotonic() + self.worker.graceful
        for stopped in stopping:
            with contextlib.suppress(Exception):
                stopped.result(max(0.0, deadline - time.monotonic()))
        for key in [*((name, None) for name in work.connectors), *work.tasks]:
            self._said.pop(key, None)

    def _keep_last_word(self, status: ConnectorStatus | TaskStatus) -> None:
        """Say again how something of ours is, when a worker says later than we that it has stopped it.

        It was frozen or cut off, and does not know yet who has its work.
        """
        task = status.task if isinstance(status, TaskStatus) else None
        key = (status.connector, task)
        if status.worker_id == self.worker.id:
            self._said[key] = status
            return
        ours = Work.of([status.connector]) if task is None else Work.of(tasks=[(status.connector, task)])
        mine = self._said.get(key)
        if mine is None or mine.state is State.UNASSIGNED or not ours & self._member.owned:
            return
        with contextlib.suppress(RuntimeError):  # it is shut down
            if self._member.membership.live():
                self._asks.submit(self._statuses.put, mine)

    def _forget_deleted(self) -> None:
        """Forget the states of what is not configured any more: its worker may have died before it could."""
        state = self._config.state
        for name in self._statuses.connectors():
            if name not in state.connectors:
                self._statuses.forget(name)
            elif name not in state.inconsistent:
                for task in self._statuses.tasks(name):
                    if task.task not in state.task_ids(name):
                        self._statuses.forget(name, task.task)

    def _stop_connector(self, name: str) -> None:
        try:
            self.worker.connectors.stop(name)
        except ConnectError as error:
            log.warning("%s", error, extra={"about": name})
        if name in self._config.state.connectors:
            self._put_state(name, State.UNASSIGNED)
        else:
            self._statuses.forget(name)
            self.worker.hosts.forget(name)

    def _run_connector(self, name: str) -> None:
        """Start a connector that is ours with its configuration as it is now, and have its work cut."""
        state = self._config.state
        if name not in self._member.owned.connectors or name not in state.connectors:
            return
        target = state.target(name)
        if target == "STOPPED":
            self.worker.connectors.stop(name)
        else:
            resolved = self.worker.resolved({**state.connectors[name], "name": name})
            ref = connector_plugin(self.worker.plugins, resolved.values)
            self.worker.connectors.start(name, ref, resolved.values, secrets_of(resolved))
        self._put_state(name, _STATES[target])
        self._publish_tasks(name)

    def _publish_tasks(self, name: str, pause: float = _FIRST_PAUSE_S) -> None:
        """Have a connector cut its work, and the leader write that where it is another cut than before."""
        state = self._config.state
        started = self.worker.connectors.get(name)
        if started is None or state.target(name) == "STOPPED":
            return
        limit = tasks_max(started.config)
        configs = self.worker.connectors.task_configs(name, limit)
        if len(configs) > limit and (started.config.get("tasks.max.enforce") or "true").lower() != "false":
            raise ConnectError(
                f'Connector "{name}" cut its work into {len(configs)} tasks, though "tasks.max" is {limit}.'
                ' The connector is at fault; "tasks.max.enforce": "false" lets it.'
            )
        task_class = started.ref.task or started.task_class
        written = as_written([{**config, "task.class": task_class} for config in configs], state.connectors[name])
        if written == [dict(config) for config in state.task_configs(name)] and name not in state.inconsistent:
            return
        try:
            self._write_tasks(name, written)
        except ConnectError as error:
            log.warning("The tasks of %s were not written, trying again in %.3g s: %s", name, pause, error)
            again = threading.Timer(
                pause,
                lambda: self._follow_up(
                    name,
                    f"reconfiguring connector {name}",
                    lambda: self._publish_tasks(name, min(2 * pause, _LONGEST_PAUSE_S)),
                ),
            )
            again.daemon = True
            again.start()

    def _write_tasks(self, name: str, configs: list[dict[str, str]]) -> None:
        role = self._member.role
        if role.leader:
            self._lead(f"writing the tasks of {name}", lambda: self._config.put_tasks(name, configs)).result(60)
            return
        body = orjson.dumps(configs)
        headers = {}
        key = self._config.state.session_key
        if role.protocol == "sessioned" and key is not None:
            algorithm = self.worker.config["inter.worker.signature.algorithm"]
            headers = {
                peers.SIGNATURE_HEADER: peers.sign(key.key, body, algorithm),
                peers.ALGORITHM_HEADER: algorithm,
            }
        peers.send("POST", f"{role.leader_url}connectors/{name}/tasks", body, headers)

    def _run_tasks(self, name: str, *, anew: bool) -> None:
        """Run our tasks of a connector with their configurations as they are now."""
        state = self._config.state
        ours = {task.task for task in self._member.owned.tasks if task.connector == name}
        wanted = set(state.task_ids(name)) & ours
        running = self.worker.tasks.of(name)
        surplus = [(name, number) for number in running if number not in wanted]
        self.worker.tasks.stop(surplus, self.worker.graceful)
        for number in sorted(wanted):
            task = running.get(number)
            if anew or task is None or dict(task.written) != dict(state.tasks[name, number]):
                self._run_task(name, number)

    def _run_task(self, name: str, number: int) -> None:
        """Run one task that is ours with its configuration as it is now; one that runs is stopped first."""
        state = self._config.state
        committed = state.tasks.get((name, number))
        if committed is None or TaskId(name, number) not in self._member.owned.tasks or name not in state.connectors:
            return
        try:
            self.worker.tasks.stop([(name, number)], self.worker.graceful)
            resolved = self.worker.resolved({**state.connectors[name], "name": name})
            task = self.worker.resolved(committed)
            ref = connector_plugin(self.worker.plugins, resolved.values)
            spec = self.worker.spec(
                name,
                number,
                ref,
                task.values,
                resolved.values,
                (*secrets_of(resolved), *secrets_of(task)),
                paused=state.target(name) == "PAUSED",
            )
            with self._starting:
                if TaskId(name, number) in self._member.owned.tasks and not self._closing:
                    self.worker.tasks.start(spec, ref.version, committed)
        except (ConnectError, ValueError) as error:
            log.error("%s", error, extra={"about": f"{name}-{number}"})
            self._put_task_state(name, number, State.FAILED, traceback.format_exc())

    def _follow_target(self, name: str) -> None:
        state = self._config.state
        target = state.target(name)
        if name in self._member.owned.connectors:
            if target == "STOPPED":
                self.worker.connectors.stop(name)
            elif self.worker.connectors.get(name) is None:
                self._run_connector(name)
            self._put_state(name, _STATES[target])
            if target == "STARTED":
                self._publish_tasks(name)
        self.worker.tasks.pause(name, paused=target == "PAUSED")

    def _restart(self, request: RestartRequest) -> None:
        """Restart our part of what a user wants restarted: every worker comes to the same plan."""
        name = request.connector
        plan = plan_restart(self.status(name), include_tasks=request.include_tasks, only_failed=request.only_failed)
        if plan.connector and name in self._member.owned.connectors:
            self._put_state(name, State.RESTARTING)
            self._run_connector(name)
        for number in plan.tasks:
            if TaskId(name, number) in self._member.owned.tasks:
                self._put_task_state(name, number, State.RESTARTING)
                self._run_task(name, number)

    # Leading.

    def _lead(self, what: str, work: Callable[[], T]) -> Future[T]:
        """Do something that only the leader may do, after everything that it did before."""

        def run() -> T:
            with self._stages.enter(what):
                self._refuse_unless_leader()
                self._config.read_to_end(30)
                return work()

        self._refuse_unless_leader()
        return self._leading.submit(run)

    def _refuse_unless_leader(self) -> None:
        role = self._member.role
        if role.generation < 0 or not self._member.membership.live():
            raise RebalanceError(
                "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was"
                " underway."
            )
        if not role.leader:
            raise self._elsewhere(role.leader_url)

    def _put(self, name: str, config: dict[str, str], target: TargetState | None, *, replace: bool) -> Change:
        checks.refuse_if_wrong(name, config, checks.validate(self.worker, self._policy, config))
        known = name in self._config.state.connectors
        if known and not replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        self._config.put_connector(name, config, None if target is None else target.value)
        return Change(not known, self.info(name))

    def _aim(self, name: str, target: TargetState) -> Future[None]:
        def aim() -> None:
            self._configured(self._config.state, name, "Unknown connector {}")
            self._config.put_target(name, target.value)

        return self._lead(f"making connector {name} {target.value}", aim)

    def _keep_session_key(self) -> None:
        """Hand out a session key when there is none, or it is too old."""
        key = self._config.state.session_key
        lives_ms = self.worker.config["inter.worker.key.ttl.ms"]
        if self._closing or not self._member.role.leader or self._member.role.protocol != "sessioned":
            return
        if key is None or time.time() * 1000 >= key.created_ms + lives_ms:
            size = (self.worker.config["inter.worker.key.size"] or 256) // 8
            algorithm = self.worker.config["inter.worker.key.generation.algorithm"]
            try:
                fresh = SessionKey(secrets.token_bytes(size), algorithm, int(time.time() * 1000))
                self._config.put_session_key(fresh)
            except ConnectError as error:
                log.warning("No session key was handed out: %s", error)

    # Small things.

    def _configured(self, state: ConfigState, name: str, unknown: str = "Connector {} not found") -> Mapping[str, str]:
        config = state.connectors.get(name)
        if config is None:
            raise NotFoundError(unknown.format(name))
        return config

    def _elsewhere(self, url: str | None) -> ElsewhereError:
        return ElsewhereError("Only another worker can do this.", url or "")

    def _owner_url(self, name: str, number: int | None) -> str | None:
        """Where the worker of a connector or task is: statuses name it, whose ids are its address."""
        status: ConnectorStatus | TaskStatus | None = self._statuses.connector(name)
        if number is not None:
            status = next((task for task in self._statuses.tasks(name) if task.task == number), None)
        scheme = self._member.role.leader_url.partition(":")[0] or "http"  # a pool speaks one
        return None if status is None else f"{scheme}://{status.worker_id}/"

    def _stopped_workers(self) -> set[str]:
        """The URLs of workers of which every state is UNASSIGNED: they stopped in good order."""
        states: dict[str, set[State]] = {}
        for name in self._statuses.connectors():
            found: list[ConnectorStatus | TaskStatus] = [*self._statuses.tasks(name)]
            if (connector := self._statuses.connector(name)) is not None:
                found.append(connector)
            for status in found:
                states.setdefault(status.worker_id, set()).add(status.state)
        gone = [worker for worker, known in states.items() if known == {State.UNASSIGNED}]
        return {f"{scheme}://{worker}/" for worker in gone for scheme in ("http", "https")}

    def _follow_up(self, name: str, what: str, work: Callable[[], None]) -> Future[None]:
        """Do something for a connector; what goes wrong makes it FAILED."""

        def run() -> None:
            if self._closing:
                return
            try:
                with self._stages.enter(what):
                    work()
            except Exception as error:
                log.error("%s", error, extra={"about": name}, exc_info=not isinstance(error, ConnectError))
                trace = error.trace if isinstance(error, ConnectorCallError) else traceback.format_exc()
                self._put_state(name, State.FAILED, trace)

        return self._turns.submit(name, run)

    def _put_state(self, name: str, state: State, trace: str | None = None) -> None:
        started = self.worker.connectors.get(name)
        written = self._config.state.connectors.get(name, {})
        version = started.version if started is not None else plugin_version(self.worker.plugins, written)
        generation = max(0, self._member.role.generation)
        status = ConnectorStatus(name, state, self.worker.id, trace, generation, version)
        (self._statuses.put_safe if state is State.UNASSIGNED else self._statuses.put)(status)

    def _put_task_state(self, name: str, number: int, state: State, trace: str | None = None) -> None:
        generation = max(0, self._member.role.generation)
        self._statuses.put(TaskStatus(name, number, state, self.worker.id, trace, generation, None))
