"""The work that the group gave this worker: connectors and tasks, started as they are configured, and stopped."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from connect.errors import ConnectError
from connect.group import TaskId, Work
from connect.herder.automatic_restarts import AutomaticRestarts
from connect.herder.connector_work import ConnectorWork
from connect.herder.fencing import Fencing
from connect.herder.group_member import GroupMember
from connect.herder.leader import Leader
from connect.herder.model import TargetState
from connect.herder.pool_states import PoolStates
from connect.herder.restart_policy import RestartPolicy
from connect.herder.secret_keys import refuse_masks
from connect.herder.views import STATES, as_written, connector_plugin
from connect.herder.worker import Worker, secrets_of
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.storage import RestartNote, State
from connect.storage.config_log import ConfigLog
from connect.worker.messages import TaskSpec

log = logging.getLogger("connect.herder")

_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 60.0


class AssignedWork:
    """Starts and stops what this worker owns: a `connect.worker.hosts.HostListener`. For many threads.

    What is done for one connector is done one piece after another; before each piece begins it is asked anew whether
    the work is still ours, so that nothing starts that was given up in between.

    Args:
        worker: runs it.
        member: what is owned.
        config: what is wanted.
        states: tells how it is.
        leader: writes task configurations.
        fencing: sees to it that no old tasks write any more.
        queues: of work, one for each connector.
    """

    def __init__(
        self,
        worker: Worker,
        member: GroupMember,
        config: ConfigLog,
        states: PoolStates,
        leader: Leader,
        fencing: Fencing,
        queues: ConnectorWork,
    ) -> None:
        self._worker = worker
        self._member = member
        self._config = config
        self._states = states
        self._leader = leader
        self._fencing = fencing
        self._queues = queues
        # Held from looking whether a task is ours to its start, so that none begins after it was given up.
        self._starting = threading.Lock()
        self._restarts = AutomaticRestarts(
            worker.statuses,
            worker.id,
            policy=lambda name: RestartPolicy.of(worker.raw, config.state.connectors.get(name, {})),
            wanted=self._wanted,
            live=lambda: member.role.generation >= 0 and member.membership.live(),
            submit=queues.submit,
            restart=self._restart_by_itself,
        )
        #: For each connector the offset of the configuration that it was last started with.
        self._started_with: dict[str, int] = {}

    # What the group says. The membership's thread.

    def start(self, work: Work) -> None:
        """Have work started, without waiting for it. Tasks first: they flow while their connector takes its time, and
        it may wait for them, since they end transactions that a worker which died left open in the offsets topic.
        """
        for name, number in sorted(work.tasks):
            self._queues.submit(name, f"starting task {name}-{number}", partial(self._begin_task, name, number))
        for name in sorted(work.connectors):
            self._queues.submit(name, f"starting connector {name}", partial(self.run_connector, name))

    def stop(self, work: Work) -> None:
        """Stop work that is not ours any more, and return when all has ended; within the graceful time (P11)."""
        self._restarts.forget([*((name, None) for name in work.connectors), *work.tasks])
        self._await_starts()
        worker = self._worker
        worker.tasks.stop([(task.connector, task.task) for task in work.tasks], worker.graceful)
        for name, number in work.tasks:
            if number not in self._config.state.task_ids(name):
                worker.statuses.forget(name, number)
        stopping = {name: self._queues.turn(name, partial(self._stop_connector, name)) for name in work.connectors}
        deadline = time.monotonic() + worker.graceful
        for name, stopped in stopping.items():
            try:
                stopped.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                worker.hosts.abandon(name)
            except Exception as error:
                log.debug("%s", error, extra={"about": name})
        self._states.given_up(work)

    # What connectors say of themselves: the host's listener.

    def reconfigure(self, connector: str) -> None:
        """A connector wants its task configurations made anew."""
        if connector in self._member.owned.connectors:
            self._queues.submit(
                connector, f"reconfiguring connector {connector}", lambda: self.publish_tasks(connector)
            )

    def connector_failed(self, connector: str, summary: str, trace: str, kind: ErrorKind) -> None:
        """A connector raised an error by itself, or its process is gone."""
        if not self._queues.is_ending and connector in self._member.owned.connectors:
            log.error("%s", summary, extra={"about": connector})
            self._worker.connectors.lost(connector)
            self.failed(connector, trace, kind)

    def connector_lost(self, connector: str) -> None:
        """The process that the connector shared is gone: start it in one of its own."""
        if not self._queues.is_ending and connector in self._member.owned.connectors:
            self._worker.connectors.lost(connector)
            self._queues.submit(connector, f"starting connector {connector}", lambda: self.run_connector(connector))

    def source_offsets(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        """Stored offsets, for a connector that asks."""
        return self._worker.source_offsets(connector, partitions)

    # What fails, and is restarted by itself.

    def failed(self, name: str, trace: str, kind: ErrorKind) -> None:
        """A connector FAILED. One that is not ours any more is not ours to tell of."""
        if name not in self._member.owned.connectors:
            return
        self._restarts.failed(name, None, kind, lambda note: self._states.put(name, State.FAILED, trace, note))

    def task_failed(self, name: str, number: int, kind: ErrorKind, tell: Callable[[RestartNote | None], None]) -> None:
        """A task FAILED: see `connect.herder.tasks.Tasks`."""
        self._restarts.failed(name, number, kind, tell)

    def cancel_automatic_restart(self, name: str, number: int | None) -> None:
        """A user restarts a connector (None), or one of its tasks: it is not restarted by itself any more."""
        self._restarts.cancel(name, number)

    def cancel_all_automatic_restarts(self, name: str) -> None:
        """A user changes something about a connector: nothing of it is restarted by itself any more."""
        self._restarts.cancel_all(name)

    def close(self) -> None:
        """Restart nothing more by itself."""
        self._restarts.close()

    def _wanted(self, name: str, number: int | None) -> object:
        """How a part is to run here, None when it is not: see `AutomaticRestarts`."""
        state, owned = self._config.state, self._member.owned
        if name not in state.connectors or state.target(name) != TargetState.STARTED.value:
            return None
        if number is None:
            return state.connectors[name] if name in owned.connectors else None
        ours = TaskId(name, number) in owned.tasks and (name, number) in state.tasks
        return (state.connectors[name], state.tasks[name, number]) if ours else None

    def _restart_by_itself(self, name: str, number: int | None) -> None:
        if number is None:
            self.run_connector(name)
        else:
            self.run_task(name, number)

    # The work itself, in a connector's turn.

    def run_connector(self, name: str) -> None:
        """Start a connector that is ours with its configuration as it is now, and have its work cut."""
        state = self._config.state
        if name not in self._member.owned.connectors or name not in state.connectors:
            return
        target = TargetState(state.target(name))
        self._started_with[name] = state.written[name]
        if target is TargetState.STOPPED:
            self._worker.connectors.stop(name)
        else:
            refuse_masks(self._worker, state.connectors[name])
            resolved = self._worker.resolved({**state.connectors[name], "name": name})
            ref = connector_plugin(self._worker.plugins, resolved.values)
            self._worker.connectors.start(name, ref, resolved.values, secrets_of(resolved))
        self._states.put(name, STATES[target])
        self.publish_tasks(name)

    def publish_tasks(self, name: str, pause: float = _FIRST_PAUSE_S) -> None:
        """Have a connector cut its work, and the leader write that where it is another cut than before."""
        state = self._config.state
        started = self._worker.connectors.get(name)
        if started is None or state.target(name) == "STOPPED":
            return
        configs = self._worker.connectors.cut(name)
        state, cut_for = self._config.state, self._started_with[name]
        if state.written.get(name) != cut_for:
            return  # there is a newer configuration by now, with which it is about to be started
        task_class = started.ref.task or started.task_class
        written = as_written([{**config, "task.class": task_class} for config in configs], state.connectors[name])
        if written == [dict(config) for config in state.task_configs(name)] and not state.to_cut(name):
            return
        try:
            self._leader.write_tasks(name, written, cut_for)
        except ConnectError as error:
            log.warning("The tasks of %s were not written, trying again in %.3g s: %s", name, pause, error)
            again = partial(self.publish_tasks, name, min(2 * pause, _LONGEST_PAUSE_S))
            timer = threading.Timer(pause, self._queues.submit, (name, f"reconfiguring connector {name}", again))
            timer.daemon = True
            timer.start()

    def run_tasks(self, name: str) -> None:
        """Run our tasks of a connector as they are committed now; those that already run so go on."""
        state = self._config.state
        ours = {task.task for task in self._member.owned.tasks if task.connector == name}
        wanted = set(state.task_ids(name)) & ours
        running = self._worker.tasks.of(name)
        surplus = [(name, number) for number in running if number not in wanted]
        self._worker.tasks.stop(surplus, self._worker.graceful)
        for number in sorted(wanted):
            self._begin_task(name, number)

    def run_task(self, name: str, number: int) -> None:
        """Run one task that is ours with its configuration as it is now; one that runs is stopped first."""
        if self._config.state.tasks.get((name, number)) is None or TaskId(name, number) not in self._member.owned.tasks:
            return
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

    def _await_starts(self) -> None:
        """What was about to start when work was given up has started, and can be stopped with the rest."""
        with self._starting:
            return

    def _start_task(self, name: str, number: int) -> None:
        state = self._config.state
        committed = state.tasks.get((name, number))
        if committed is None or TaskId(name, number) not in self._member.owned.tasks or name not in state.applied:
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
            if TaskId(name, number) in self._member.owned.tasks and not self._queues.is_ending:
                worker.tasks.start(spec, ref.version, (applied, committed))

    def _stop_connector(self, name: str) -> None:
        try:
            self._worker.connectors.stop(name)
        except ConnectError as error:
            log.warning("%s", error, extra={"about": name})
        if name in self._config.state.connectors:
            self._states.put(name, State.UNASSIGNED)
        else:
            self._worker.statuses.forget(name)
            self._worker.hosts.forget(name)

    def _begin_task(self, name: str, number: int) -> None:
        """Run one task that is ours as it is committed now, unless it already runs so."""
        state = self._config.state
        task = self._worker.tasks.of(name).get(number)
        # Exactly once, the tasks of a former generation are fenced, whatever their configurations.
        old = task is not None and self._fenced_with(task.process.spec, state.commits.get(name))
        if old or task is None or task.written != (state.applied.get(name), state.tasks.get((name, number))):
            self.run_task(name, number)

    @staticmethod
    def _fenced_with(task: TaskSpec, commit: int | None) -> bool:
        return task.transactional_id is not None and task.commit != commit
