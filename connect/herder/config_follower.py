"""Follows the config topic: every worker reads all changes, and acts on those of what it owns."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from connect.herder.assigned import AssignedWork
from connect.herder.config_recorder import NoRecorder
from connect.herder.model import ConnectorState, TargetState
from connect.herder.pool import Pool
from connect.herder.pool_states import PoolStates
from connect.herder.views import STATES, connector_state
from connect.storage import State
from connect.storage.config_state import (
    ConnectorChanged,
    ConnectorRemoved,
    Event,
    LoggerChanged,
    RestartAsked,
    RestartRequest,
    SessionKeyChanged,
    TargetChanged,
    TasksCommitted,
)
from connect.telemetry.levels import levels


class ConfigFollower:
    """Turns changes of configurations into operations on connectors.

    Args:
        pool: what is configured, and which of it this worker owns; rebalances the group when something is new.
        states: publishes states.
        assigned: starts and stops connectors and tasks.
        recorder: records changes.
    """

    def __init__(self, pool: Pool, states: PoolStates, assigned: AssignedWork, recorder: NoRecorder) -> None:
        self._pool = pool
        self._worker = pool.worker
        self._member = pool.member
        self._states = states
        self._assigned = assigned
        self._recorder = recorder
        self._submit = assigned.queue.submit

    def follow(self, event: Event) -> None:
        """Called on the log's thread, for each event in order: nothing here may block."""
        assigned, restarts = self._assigned, self._assigned.restarts
        self._recorder.followed(event, self._pool)
        match event:
            case ConnectorChanged(name):
                restarts.cancel_all(name)
                # Its tasks go on as they are until those that it cuts now are committed (P4).
                if self._pool.owns(name):
                    self._submit(name, f"starting connector {name}", partial(assigned.run_connector, name))
                elif name not in self._pool.state.applied:
                    self._member.rebalance(f"there is a connector {name}")
            case ConnectorRemoved(name):
                restarts.cancel_all(name)
                self._submit(name, f"deleting connector {name}", partial(assigned.remove, name))
                self._member.rebalance(f"connector {name} was deleted")
            case TasksCommitted(name):
                self._submit(name, f"starting tasks of {name}", partial(assigned.run_tasks, name))
                if self._pool.owns(name) and name in self._pool.state.inconsistent:
                    # A leader that was thought lost has written the end of a set of which nobody knows the rest.
                    self._submit(name, f"reconfiguring connector {name}", partial(assigned.publish_tasks, name))
                assigned.withdraw_tasks(name)
                self._submit(name, f"looking at the tasks of {name}", partial(assigned.keep_tasks, name))
                self._member.rebalance(f"the tasks of {name} have changed")
            case TargetChanged(name):
                restarts.cancel_all(name)
                self._submit(name, f"following the desired state of {name}", partial(self._follow_target, name))
            case RestartAsked(request):
                name = request.connector
                self._submit(name, f"restarting {name}", partial(self._restart, request))
            case LoggerChanged(namespace, level):
                with contextlib.suppress(ValueError):
                    levels.set(namespace, level)
            case SessionKeyChanged():
                pass  # it is looked up where it is needed

    # In a connector's turn.

    def _follow_target(self, name: str) -> None:
        target = TargetState(self._pool.state.target(name))
        if target is TargetState.STOPPED:
            self._assigned.run_tasks(name)  # there are to be none
        if self._pool.owns(name):
            if target is TargetState.STOPPED:
                self._worker.connectors.stop(name)
            elif self._worker.connectors.get(name) is None:
                self._assigned.run_connector(name)
            self._states.put(name, STATES[target])
            if target is TargetState.STARTED or not self._pool.state.task_ids(name):  # a stop has taken them
                self._assigned.publish_tasks(name)
        if target is not TargetState.STOPPED:
            self._worker.tasks.pause(name, paused=target is TargetState.PAUSED)

    def _restart(self, request: RestartRequest) -> None:
        """Restart this worker's part of what a user restarts: every worker computes the same plan."""
        name = request.connector
        config = self._pool.state.connectors.get(name)
        if config is None:
            return
        now = connector_state(self._worker.plugins, self._worker.statuses, name, config)
        plan = plan_restart(now, include_tasks=request.include_tasks, only_failed=request.only_failed)
        if plan.connector and self._pool.owns(name):
            self._assigned.restarts.cancel(name, None)
            self._states.put(name, State.RESTARTING)
            # One that fails again keeps none of its tasks from their restart.
            run = partial(self._assigned.run_connector, name)
            self._assigned.queue.or_fail(name, f"restarting connector {name}", run)
        for number in plan.tasks:
            if self._pool.owns(name, number):
                self._assigned.restarts.cancel(name, number)
                self._states.put_task(name, number, State.RESTARTING)
                self._assigned.run_task(name, number)


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What a restart of a connector covers: the connector, its tasks, or only what FAILED (KIP-745).

    Attributes:
        connector: whether the connector itself.
        tasks: the numbers of the tasks.
        state: all states once the restart has begun: what is restarted is RESTARTING.
    """

    connector: bool
    tasks: Sequence[int]
    state: ConnectorState


def plan_restart(state: ConnectorState, *, include_tasks: bool, only_failed: bool) -> RestartPlan:
    """Decide by the current states of a connector and its tasks."""

    def chosen(now: State) -> bool:
        return not only_failed or now is State.FAILED

    connector = chosen(state.connector.state)
    tasks = [task.task for task in state.tasks if include_tasks and chosen(task.state)]
    after = ConnectorState(
        state.name,
        replace(state.connector, state=State.RESTARTING, restart=None) if connector else state.connector,
        [
            replace(task, state=State.RESTARTING, restart=None, stalled=None, waiting=None, page=None)
            if task.task in tasks
            else task
            for task in state.tasks
        ],
        state.type,
    )
    return RestartPlan(connector, tasks, after)
