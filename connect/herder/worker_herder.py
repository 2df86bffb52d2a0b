"""The herder of one worker, alone or in a pool: answers from what it knows, and has users' changes written.

Every worker follows what is written, each for its own part. In a pool the leader writes; the herder knows which
requests belong to it, and which to the owner of a connector or task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, TypeVar

from connect.herder import offsets
from connect.herder.assigned import AssignedWork
from connect.herder.choices import Choices
from connect.herder.config_changes import ConfigChanges
from connect.herder.config_follower import ConfigFollower, plan_restart
from connect.herder.config_recorder import NoRecorder
from connect.herder.connector_work import LONG_S, then
from connect.herder.current_operations import CurrentOperations
from connect.herder.dead_letters import DeadLetters
from connect.herder.ending import Ending
from connect.herder.errors import ElsewhereError, ForbiddenError, HerderError
from connect.herder.fencing import Fencing
from connect.herder.health import health_of, readiness_of, waits_for
from connect.herder.lag import ConnectorLag, LagWatch
from connect.herder.leader import Leader
from connect.herder.membership import Alone, Membership
from connect.herder.model import Change, ConnectorInfo, ConnectorState, Health, OffsetEntry, TargetState
from connect.herder.offset_stores import exactly_once
from connect.herder.opentelemetry import opentelemetry, trace_rebalance
from connect.herder.peer_requests import PeerRequests
from connect.herder.pool import Pool
from connect.herder.pool_states import PoolStates
from connect.herder.rebalance_history import Rebalance
from connect.herder.taps import Tapping
from connect.herder.trials import TrialRequest
from connect.herder.views import connector_info, connector_state, connector_type, heard
from connect.herder.worker import Worker
from connect.herder.worker_metrics import WorkerMetrics
from connect.herder.worker_queries import WorkerQueries
from connect.pipeline.findings import KeyDefinition, Validation
from connect.settings.definition import Config
from connect.settings.resolver import Resolver
from connect.settings.worker_keys import TapOptions
from connect.storage import MemoryStatusStore, OffsetStore
from connect.storage.config_history import ConfigVersion
from connect.storage.config_log import ConfigLog, MemoryConfigLog
from connect.storage.config_state import RestartRequest
from connect.telemetry.levels import levels, number_of
from connect.worker.background import KeyedQueues
from connect.worker.trials import TrialResult

_AT_ONCE: Final = 32

T = TypeVar("T")
R = TypeVar("R")


class WorkerHerder:
    """One worker's part of herding: a `connect.herder.herder.Herder`. Safe to use from many threads.

    Args:
        worker: runs what it owns.
        log: what is configured.
        member: what of it this worker owns. Both are started and closed with the herder.
        recorder: records versions of configurations, likewise; None without a history.

    Attributes:
        started: whether `start` has returned: before that nothing is known.
        peer_requests: what other workers may ask; None where there are none.

    Raises:
        ConnectError: the policy for client overrides cannot be loaded.
    """

    def __init__(self, worker: Worker, log: ConfigLog, member: Membership, recorder: NoRecorder | None = None) -> None:
        self.worker = worker
        self._pool = Pool(worker, log, member, CurrentOperations(worker.measures.tracer))
        self._queries = WorkerQueries(worker)
        # What may take long before a change: one after another for each connector.
        self._checks = KeyedQueues(_AT_ONCE, LONG_S)
        self._lag = LagWatch(worker)
        self._metrics = WorkerMetrics(worker, self._lag, *member.measured)
        self._opentelemetry = opentelemetry(worker, self._metrics)
        for group in member.measured:
            group.listen(partial(trace_rebalance, worker.measures.tracer))
        self._states = PoolStates(self._pool, self._queries.submit)
        self._leader = Leader(self._pool)
        self._recorder = recorder or NoRecorder()
        self._changes = ConfigChanges(self._pool, self._leader, self._queries, self._checks, self._recorder)
        self._fencing = Fencing(self._pool, self._leader)
        self._assigned = AssignedWork(self._pool, self._states, self._leader, self._fencing, self._recorder)
        self._follower = ConfigFollower(self._pool, self._states, self._assigned, self._recorder)
        self.peer_requests = PeerRequests(self._pool, self._leader, self._fencing) if member.shared else None
        self.started = False

    def start(self) -> None:
        """Read what is stored, then join the group. Call it from the main thread. Raises ConnectError."""
        self.worker.start(self._assigned, self._assigned.task_failed, self._fencing.confirm)
        self.worker.statuses.listen(self._states.keep_last_word)
        self.worker.statuses.listen_to_removals(self._states.keep_what_is_removed)
        self._pool.log.start(self._follower.follow)
        self._recorder.start()
        self._pool.member.join(self._assigned)
        self._lag.start()
        self._metrics.hour.start()
        self._opentelemetry.start()
        self.started = True

    def stop(self) -> None:
        """Stop what is owned, leave the group, and end."""
        ending = Ending(self.worker.graceful)
        self._assigned.queue.ending()
        self._queries.close()
        self._checks.close()
        self._lag.stop()
        self._metrics.hour.stop()
        self._leader.close()
        self._fencing.close()
        self._assigned.restarts.close()
        self._assigned.stop(self._pool.member.owned)
        self._pool.member.leave(ending.left())
        self._recorder.close(ending.left())
        self._pool.log.close(ending.left())  # what still waits for it, on any thread, waits no longer (P11)
        self.worker.hosts.close()  # nor what waits for a connector
        self._assigned.queue.close(ending.left())
        self.worker.stop(ending)
        self._opentelemetry.stop(ending.left())

    # Reads.

    def kafka_cluster_id(self) -> str | None:
        return self._queries.kafka_cluster_id()

    def health(self) -> Health:
        return health_of(self.worker, started=self.started and self._pool.member.has_joined)

    def readiness(self) -> Health:
        health = self.health()
        if health.status == "healthy" and self._pool.member.role.generation < 0:
            return Health("waiting", f"Worker is not in its group. {waits_for()}".rstrip())
        return readiness_of(health)

    def busy_with(self) -> str:
        return self._pool.operations.describe()

    def connectors(self) -> list[str]:
        return sorted(self._pool.state.connectors)

    def info(self, name: str) -> ConnectorInfo:
        config = self._pool.config(name)
        return connector_info(self.worker.plugins, name, config, self._pool.state.task_counts.get(name, 0))

    def status(self, name: str) -> ConnectorState:
        config = self._pool.config(name, "No status found for connector {}")
        known = connector_state(self.worker.plugins, self.worker.statuses, name, config)
        return heard(known, self.worker.statuses.deaf, self.worker.id)

    def task_configs(self, name: str) -> list[dict[str, str]]:
        self._pool.config(name)
        return [dict(config) for config in self._pool.state.task_configs(name)]

    def active_topics(self, name: str) -> list[str]:
        return self.worker.topics.of(name)

    def tap(self, name: str, task: int | None, records: int, seconds: float) -> Tapping:
        self._pool.config(name)
        if not TapOptions.parse(self.worker.raw).enabled:
            raise ForbiddenError("This worker shows no records: tap.enabled is false.")
        return self.worker.tasks.tap(name, task, records, seconds)

    def close_tap(self, tapping: Tapping) -> None:
        self.worker.tasks.taps.close(tapping)

    def history(self, name: str) -> Future[list[ConfigVersion]]:
        return self._queries.submit(self._recorder.versions, name)

    def reset_active_topics(self, name: str) -> None:
        self.worker.topics.reset(name)

    def metrics(self) -> WorkerMetrics:
        return self._metrics

    def rebalances(self) -> list[Rebalance]:
        return [one for group in self._pool.member.measured for one in group.recent()]

    def lag(self, name: str) -> Future[ConnectorLag]:
        config = self._pool.config(name)
        return self._queries.submit(lambda: self._lag.of(name, {**self.worker.resolved(config).values, "name": name}))

    def dead_letters(self, name: str, ask: Callable[[DeadLetters], T]) -> Future[T]:
        return self._queries.dead_letters(name, self._pool.config(name), ask)

    def offsets(self, name: str) -> Future[list[OffsetEntry]]:
        return self._queries.submit(offsets.read_offsets, self.worker, name, self._pool.config(name))

    def validate(self, config: Mapping[str, str]) -> Future[Validation]:
        return self._queries.validate(config)

    def choices(self, key: str, config: Mapping[str, str]) -> Future[Choices]:
        return self._queries.choices(key, config)

    def try_records(self, request: TrialRequest) -> Future[TrialResult]:
        return self._queries.try_records(request)

    def plugin_settings(self, name: str, version: str | None = None) -> Future[list[KeyDefinition]]:
        return self._queries.plugin_settings(name, version)

    # Where requests belong.

    def leader_url(self) -> str | None:
        return self._leader.url()

    def owner_url(self, name: str, task: int | None = None) -> str | None:
        return self._states.owner_url(name, task)

    # Changes.

    def put_connector(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState | None = None,
        *,
        replace: bool = True,
        by: str | None = None,
    ) -> Future[Change]:
        written = self._changes.put(name, dict(config), target, replace=replace, by=by)
        return self._followed(name, written, lambda created: Change(created, self.info(name)))

    def run_checked(self, name: str, config: Mapping[str, str], target: TargetState) -> Future[Change]:
        """Run a connector whose configuration was already validated."""
        written = self._changes.put_checked(name, dict(config), target)
        return self._followed(name, written, lambda created: Change(created, self.info(name)))

    def patch_connector(
        self, name: str, patch: Mapping[str, str | None], *, by: str | None = None
    ) -> Future[ConnectorInfo]:
        return self._followed(name, self._changes.patch(name, patch, by=by), lambda _: self.info(name))

    def delete_connector(self, name: str, *, by: str | None = None) -> Future[None]:
        return self._followed(name, self._changes.remove(name, by=by), lambda _: None)

    def pause(self, name: str) -> Future[None]:
        return self._changes.aim(name, TargetState.PAUSED)

    def resume(self, name: str) -> Future[None]:
        return self._changes.aim(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> Future[None]:
        return self._changes.aim(name, TargetState.STOPPED)

    def restart_connector(
        self, name: str, *, include_tasks: bool = False, only_failed: bool = False
    ) -> Future[ConnectorState]:
        def restart() -> ConnectorState:
            self._pool.config(name, "Unknown connector: {}")
            plan = plan_restart(self.status(name), include_tasks=include_tasks, only_failed=only_failed)
            self._pool.log.put_restart(RestartRequest(name, include_tasks, only_failed))
            return plan.state

        what = f"restarting connector {name}"
        if include_tasks or only_failed:
            return self._leader.submit(name, what, restart)
        if self.owner_url(name) is not None:
            raise ElsewhereError
        self._assigned.restarts.cancel(name, None)
        done = self._assigned.queue.submit(name, what, lambda: self._assigned.run_connector(name))

        def answer() -> ConnectorState:
            _check(done, f"Failed to start connector: {name}")
            return self.status(name)

        return then(done, answer)

    def restart_task(self, name: str, number: int) -> Future[None]:
        if self.owner_url(name, number) is not None:
            raise ElsewhereError
        self._assigned.restarts.cancel(name, number)
        what = f"restarting task {name}-{number}"
        done = self._assigned.queue.submit(name, what, lambda: self._assigned.run_task(name, number))
        return then(done, lambda: _check(done, f"Failed to start task: {name}-{number}"))

    def alter_offsets(self, name: str, entries: Sequence[OffsetEntry]) -> Future[str]:
        return self._change_offsets(name, lambda config: offsets.altering(self.worker, name, config, entries))

    def reset_offsets(self, name: str) -> Future[str]:
        return self._change_offsets(name, lambda config: offsets.resetting(self.worker, name, config))

    def set_logger_level(self, namespace: str, level: str, *, cluster: bool = False) -> list[str]:
        if cluster:
            number_of(level)  # nobody would say so later
            self._pool.log.put_logger_level(namespace, level)
            return []
        return levels.set(namespace, level)

    def _change_offsets(self, name: str, prepare: Callable[[Mapping[str, str]], Callable[[], str]]) -> Future[str]:
        what = f"changing offsets of connector {name}"

        def stopped() -> tuple[Mapping[str, str], int | None]:
            """The connector's configuration, and the generation of its tasks."""
            config, state = self._pool.config(name), self._pool.state
            offsets.refuse_unless_stopped(name, TargetState(state.target(name)), len(state.task_ids(name)))
            return config, state.commits.get(name)

        def fence_and_change() -> str:
            self._assigned.settled(name).result()
            answer: str | None = None
            while answer is None:  # again where it ran, or was changed, in between
                config, _ = first = self._leader.submit(name, what, stopped).result()
                if exactly_once(self.worker.config) and connector_type(self.worker.plugins, config) == "source":
                    self._fencing.fence(name).result()  # a task that is thought dead must not store others afterwards
                # Never on the leader's thread: a connector that hangs would delay everybody's changes (P6).
                change = prepare(config)
                answer = self._leader.submit(name, what, partial(_if_still, first, stopped, change)).result()
            return answer

        self._leader.refuse_unless_leader()
        return self._checks.submit(name, fence_and_change)

    def _followed(self, name: str, written: Future[T], answer: Callable[[T], R]) -> Future[R]:
        """Done when a change is written; without other workers, when it was also followed."""
        return then(written, lambda: answer(written.result()), until=lambda: self._assigned.settled(name))


def _check(restarted: Future[Exception | None], words: str) -> None:
    """Raise HerderError with the error of a restart, if it had one."""
    if (error := restarted.result()) is not None:
        raise HerderError(f"{words}. {error}") from error


def _if_still(before: T, now: Callable[[], T], change: Callable[[], R]) -> R | None:
    """Change something if all is as it was before."""
    return change() if now() == before else None


def standalone(raw: Mapping[str, str], config: Config, resolver: Resolver, offsets: OffsetStore) -> WorkerHerder:
    """A herder that keeps configurations and states in memory. See `Worker` for the arguments."""
    log = MemoryConfigLog()
    alone = Alone(log)
    return WorkerHerder(Worker(raw, config, resolver, offsets, MemoryStatusStore(), alone), log, alone)
