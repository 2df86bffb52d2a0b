"""The connectors and tasks that this worker owns: started as configured, restarted, and stopped."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from connect.errors import ConnectError
from connect.group import TaskId, Work
from connect.herder.automatic_restarts import AutomaticRestarts
from connect.herder.config_recorder import NoRecorder
from connect.herder.connector_work import ConnectorWork
from connect.herder.connectors import StartedConnector
from connect.herder.fencing import Fencing
from connect.herder.leader import Leader
from connect.herder.model import TargetState
from connect.herder.pool import Pool
from connect.herder.pool_states import PoolStates
from connect.herder.restart_policy import RestartPolicy
from connect.herder.secret_keys import refuse_masks
from connect.herder.views import STATES, as_written, connector_plugin
from connect.herder.worker import secrets_of
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.storage import RestartNote, State
from connect.telemetry.logs import error_elsewhere
from connect.worker.background import finished
from connect.worker.messages import TaskSpec

log = logging.getLogger("connect.herder")

_AT_ONCE: Final = 32
_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 60.0
#: What connectors get to stop even if their tasks took all the time there was.
_STOP_S: Final = 0.5
#: After that, how long it takes to notice those that have not.
_GIVE_UP_S: Final = 0.2


class AssignedWork:
    """Starts and stops what this worker owns. Safe to use from many threads.

    A `connect.herder.membership.WorkListener`, and a `connect.worker.hosts.HostListener`. Operations on one connector
    run one after another. Before each of them ownership is checked again, so that nothing starts that was given up in
    between.

    Args:
        pool: see `Pool`.
        states: where states of connectors and tasks are published.
        leader: writes task configurations.
        fencing: fences tasks of earlier generations.
        recorder: records configurations of connectors that are new to this worker.

    Attributes:
        queue: of operations, one for each connector.
        restarts: automatic restarts of what FAILED.
    """

    def __init__(
        self,
        pool: Pool,
        states: PoolStates,
        leader: Leader,
        fencing: Fencing,
        recorder: NoRecorder,
    ) -> None:
        self._pool = pool
        self._worker = pool.worker
        self._states = states
        self._leader = leader
        self._fencing = fencing
        self._recorder = recorder
        # Held from looking whether a task is ours to its start, so that none begins after it was given up.
        self._starting = threading.Lock()
        #: For each connector the offset of the configuration that it was last started with.
        self._started_with: dict[str, int] = {}
        #: For each connector that started here, the tasks that it was cut into last, as far as the leader knows.
        self._last_cut: dict[str, list[dict[str, str]]] = {}
        #: For each, what somebody else wrote in their place and this worker has answered.
        self._answered: dict[str, list[dict[str, str]]] = {}
        self.queue = ConnectorWork(_AT_ONCE, pool.operations, self.failed)
        self.restarts = AutomaticRestarts(
            pool.worker.statuses,
            pool.worker.id,
            policy=lambda name: RestartPolicy.of(pool.worker.raw, pool.state.connectors.get(name, {})),
            wanted=self._wanted,
            live=lambda: pool.member.role.generation >= 0 and pool.member.live(),
            submit=self.queue.submit,
            restart=self._restart_by_itself,
        )

    def settled(self, name: str) -> Future[None]:
        """Done when the requested operations on a connector have finished; at once where other workers share them."""
        return finished(None) if self._pool.member.shared else self.queue.idle(name)

    def withdraw_tasks(self, name: str) -> None:
        """See `Leader`."""
        self._leader.withdraw_tasks(name)

    # What the group says, and asks: see `WorkListener`.

    def start(self, work: Work) -> None:
        # Tasks first: they flow while their connector takes its time, and it may wait for them, since they end
        # transactions that a worker which died left open in the offsets topic.
        self._leader.begin(self._states.tidy)
        for name, number in sorted(work.tasks):
            self.queue.submit(name, f"starting task {name}-{number}", partial(self._begin_task, name, number))
        for name in sorted(work.connectors):
            self.queue.submit(name, f"starting connector {name}", partial(self.run_connector, name))
        self._recorder.owned(work.connectors, self._pool)

    def stop(self, work: Work) -> None:
        # Tasks and connectors together get the graceful time (P11).
        worker = self._worker
        deadline = time.monotonic() + worker.graceful
        self.restarts.forget([*((name, None) for name in work.connectors), *work.tasks])
        self._await_starts()
        worker.tasks.stop(sorted(work.tasks), worker.graceful)
        for name in sorted({task.connector for task in work.tasks}):
            self._forget_tasks(name)
        left = max(_STOP_S, deadline - time.monotonic())
        connectors = sorted(work.connectors)
        stopping = {name: self.queue.turn(name, partial(self._stop_connector, name, left)) for name in connectors}
        deadline = time.monotonic() + left + _GIVE_UP_S
        for name, stopped in stopping.items():
            try:
                stopped.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                worker.hosts.abandon(name)
            except Exception as error:
                log.debug("%s", error, extra={"about": name})
        self._states.given_up(work)

    def loads(self) -> Mapping[TaskId, float]:
        return self._worker.tasks.loads()

    def stopped_workers(self) -> Mapping[str, Work]:
        return self._states.stopped_workers()

    # What connectors say of themselves: see `HostListener`.

    def reconfigure(self, connector: str) -> None:
        if self._pool.owns(connector):
            self.queue.submit(connector, f"reconfiguring connector {connector}", lambda: self.publish_tasks(connector))

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None:
        if not self.queue.is_ending and self._pool.owns(connector):
            self._worker.connectors.lost(connector)
            if self._pool.state.target(connector) != "STOPPED":  # then only the process was left
                error_elsewhere(log, connector, summary, trace if kind is ErrorKind.UNKNOWN else None)
                self.failed(connector, trace, kind)

    def connector_lost(self, connector: str) -> None:
        if not self.queue.is_ending and self._pool.owns(connector):
            self._worker.connectors.lost(connector)
            self.queue.submit(connector, f"starting connector {connector}", lambda: self.run_connector(connector))

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return self._worker.source_offsets(connector, partitions)

    # What fails, and is restarted automatically.

    def failed(self, name: str, trace: str, kind: ErrorKind) -> None:
        """A connector FAILED. The failure of a connector that this worker no longer owns is not published."""
        if self._pool.owns(name):
            self.restarts.failed(name, None, kind, lambda note: self._states.put(name, State.FAILED, trace, note))

    def task_failed(self, name: str, number: int, kind: ErrorKind, tell: Callable[[RestartNote | None], None]) -> None:
        """A task FAILED: see `connect.herder.tasks.Tasks`."""
        self.restarts.failed(name, number, kind, tell)

    def _wanted(self, name: str, number: int | None) -> object:
        """How a connector or task should run here, None when it should not: see `AutomaticRestarts`."""
        state = self._pool.state
        if name not in state.connectors or state.target(name) != "STARTED" or not self._pool.owns(name, number):
            return None
        if number is None:
            return state.connectors[name]
        return (state.connectors[name], state.tasks[name, number]) if (name, number) in state.tasks else None

    def _restart_by_itself(self, name: str, number: int | None) -> None:
        if number is None:
            self.run_connector(name)
        else:
            self.run_task(name, number)

    # The work itself, in a connector's turn.

    def run_connector(self, name: str) -> None:
        """Start a connector of this worker with its current configuration, and create its task configurations."""
        state = self._pool.state
        if not self._pool.owns(name) or name not in state.connectors:
            return
        target = TargetState(state.target(name))
        self._started_with[name] = state.written[name]
        self._last_cut.pop(name, None)
        if target is TargetState.STOPPED:
            self._worker.connectors.stop(name)
        else:
            refuse_masks(self._worker, state.connectors[name])
            resolved = self._worker.resolved({**state.connectors[name], "name": name})
            ref = connector_plugin(self._worker.plugins, resolved.values)
            self._worker.expect(name, ref, resolved.values)
            self._worker.connectors.start(name, ref, resolved.values, secrets_of(resolved))
        self._states.put(name, STATES[target])
        self.publish_tasks(name)

    def publish_tasks(self, name: str, pause: float = _FIRST_PAUSE_S) -> None:
        """Ask a connector for its task configurations, and have the leader write them if they changed.

        A stopped connector has none: a leader that crashed within a stop may have left those that it had.
        """
        state = self._pool.state
        started = self._worker.connectors.get(name)
        if state.target(name) == "STOPPED":
            if self._pool.owns(name) and state.task_ids(name):
                self._have_written(name, [], state.written[name], pause)
            return
        if started is None:
            return
        configs = self._worker.connectors.cut(name)
        state, cut_for = self._pool.state, self._started_with[name]
        if state.written.get(name) != cut_for:
            return  # there is a newer configuration by now, with which it is about to be started
        task_class = started.ref.task or _task_class(started)
        written = as_written([{**config, "task.class": task_class} for config in configs], state.connectors[name])
        # What was sent before may be written, and not yet read here.
        unchanged = written == [dict(config) for config in state.task_configs(name)]
        if unchanged and written == self._last_cut.get(name, written) and not state.to_cut(name):
            self._last_cut[name] = written
            return
        if self._have_written(name, written, cut_for, pause):
            self._last_cut[name] = written

    def _have_written(self, name: str, configs: list[dict[str, str]], cut_for: int, pause: float) -> bool:
        """Whether the leader wrote task configurations; otherwise they are published again after a pause."""
        try:
            self._leader.write_tasks(name, configs, cut_for)
            return True
        except ConnectError as error:
            log.warning("The tasks of %s could not be written. Trying again in %.3g s: %s", name, pause, error)
            again = partial(self.publish_tasks, name, min(2 * pause, _LONGEST_PAUSE_S))
            timer = threading.Timer(pause, self.queue.submit, (name, f"reconfiguring connector {name}", again))
            timer.daemon = True
            timer.start()
            return False

    def keep_tasks(self, name: str) -> None:
        """Have a connector's tasks written again when others are committed than those that it was cut into last.

        A leader that was frozen writes what it was given before, until it finds that it leads no more. It is answered
        once for what it wrote: a leader of another kind may write the same otherwise.
        """
        cut, state = self._last_cut.get(name), self._pool.state
        if cut is None or not self._pool.owns(name) or state.target(name) == "STOPPED":
            return
        written = [dict(config) for config in state.task_configs(name)]
        if written != cut and written != self._answered.get(name):
            self._answered[name] = written
            self.publish_tasks(name)

    def run_tasks(self, name: str) -> None:
        """Run this worker's tasks of a connector with their committed configurations; those that already do continue.

        All others end before the first one starts: a task may take over what another one had.
        """
        owned = self._pool.member.owned.tasks
        wanted = [number for number in self._task_ids(name) if TaskId(name, number) in owned]
        running = self._worker.tasks.of(name)
        to_start = [number for number in wanted if not self._runs_as_committed(name, number)]
        to_end = [number for number in running if number not in wanted or number in to_start]
        self._worker.tasks.stop([(name, number) for number in to_end], self._worker.graceful)
        self._forget_tasks(name)
        for number in wanted:
            if number in to_start:
                self.run_task(name, number)
            else:
                self._states.keep(name, number)

    def run_task(self, name: str, number: int) -> Exception | None:
        """Run one task of this worker with its current configuration; if it runs, it is stopped first.

        Returns the error that made it FAILED before it began, if one did.
        """
        if number not in self._task_ids(name) or not self._pool.owns(name, number):
            return None
        try:
            self._worker.tasks.stop([(name, number)], self._worker.graceful)
            self._fencing.before_start(name)
            self._start_task(name, number)
        except (ConnectError, ValueError) as error:
            log.error("%s", error, extra={"about": f"{name}-{number}"})
            trace = traceback.format_exc()
            self.task_failed(
                name,
                number,
                kind_of(error),
                lambda note: self._states.put_task(name, number, State.FAILED, trace, note),
            )
            return error
        return None

    def remove(self, name: str) -> None:
        """A connector was deleted: stop what runs of it here, and forget it."""
        self._worker.tasks.stop([(name, number) for number in self._worker.tasks.of(name)], self._worker.graceful)
        self._forget_tasks(name)
        status = self._worker.statuses.connector(name)
        if status is not None and status.worker_id == self._worker.id:
            self._stop_connector(name)
        if name not in self._pool.state.connectors:  # or it was made again meanwhile
            self._worker.tasks.forget(name)
            self._worker.stores.forget(name)

    def _await_starts(self) -> None:
        """Wait until what was starting when work was given up has started, and can be stopped with the rest."""
        with self._starting:
            return

    def _start_task(self, name: str, number: int) -> None:
        state = self._pool.state
        committed = state.tasks.get((name, number))
        if committed is None or not self._pool.owns(name, number) or name not in state.applied:
            return
        applied = state.applied[name]
        worker = self._worker
        refuse_masks(worker, applied)
        resolved = worker.resolved({**applied, "name": name})
        task = worker.resolved(committed)
        ref = connector_plugin(worker.plugins, resolved.values)
        secret = (*secrets_of(resolved), *secrets_of(task))
        spec = worker.spec(
            name,
            number,
            ref,
            task.values,
            resolved.values,
            secret,
            paused=state.target(name) == "PAUSED",
            commit=state.commits.get(name, -1),
        )
        with self._starting:
            if self._pool.owns(name, number) and not self.queue.is_ending:
                worker.tasks.start(spec, ref.version, (applied, committed))

    def _stop_connector(self, name: str, timeout: float | None = None) -> None:
        try:
            self._worker.connectors.stop(name, timeout)
        except ConnectError as error:
            log.warning("%s", error, extra={"about": name})
        if name in self._pool.state.connectors:
            self._states.put(name, State.UNASSIGNED)
        else:
            self._states.forget(name)
            self._worker.hosts.forget(name)

    def _task_ids(self, name: str) -> Sequence[int]:
        """The tasks that a connector should have."""
        state = self._pool.state
        return [] if state.target(name) == "STOPPED" else state.task_ids(name)

    def _forget_tasks(self, name: str) -> None:
        """Remove the published states of tasks that no longer exist."""
        there = self._task_ids(name)
        for status in self._worker.statuses.tasks(name):
            if status.task not in there and status.worker_id == self._worker.id:
                self.restarts.forget([(name, status.task)])
                self._states.forget(name, status.task)

    def _begin_task(self, name: str, number: int) -> None:
        """Run one task of this worker as it is committed, unless it already runs so."""
        if not self._runs_as_committed(name, number):
            self.run_task(name, number)
        else:
            self._states.keep(name, number)

    def _runs_as_committed(self, name: str, number: int) -> bool:
        state = self._pool.state
        task = self._worker.tasks.of(name).get(number)
        if task is None or self._is_fenced(task.process.spec, state.commits.get(name)):
            return False
        return task.written == (state.applied.get(name), state.tasks.get((name, number)))

    @staticmethod
    def _is_fenced(task: TaskSpec, commit: int | None) -> bool:
        """Under exactly-once, tasks of an earlier generation are fenced, whatever their configurations."""
        return task.transactional_id is not None and task.commit != commit


def _task_class(started: StartedConnector) -> str:
    """The class that a task's configuration names; for a Java class, its own name."""
    return started.task_class.replace(":", ".") if started.ref.language == "java" else started.task_class
