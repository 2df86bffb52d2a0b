"""Follows what users want: every worker reads the config topic, and does what is about its own work."""

from __future__ import annotations

import contextlib
from functools import partial

from connect.group import TaskId
from connect.herder.assigned import AssignedWork
from connect.herder.connector_work import ConnectorWork
from connect.herder.group_member import GroupMember
from connect.herder.model import TargetState
from connect.herder.pool_states import PoolStates
from connect.herder.restarts import plan_restart
from connect.herder.views import STATES, connector_state
from connect.herder.worker import Worker
from connect.storage import State
from connect.storage.config_log import ConfigLog
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
    """Turns the events of the config topic into work in the connectors' turns.

    Args:
        worker: runs what is ours.
        member: what is ours; has the group share anew what is new.
        config: what is wanted.
        states: tells how it is.
        assigned: starts and stops it.
        queues: of work, one for each connector.
    """

    def __init__(
        self,
        worker: Worker,
        member: GroupMember,
        config: ConfigLog,
        states: PoolStates,
        assigned: AssignedWork,
        queues: ConnectorWork,
    ) -> None:
        self._worker = worker
        self._member = member
        self._config = config
        self._states = states
        self._assigned = assigned
        self._queues = queues

    def follow(self, event: Event) -> None:
        """Called in the log's thread, for each event in order: nothing here may wait."""
        match event:
            case ConnectorChanged(name):
                self._assigned.cancel_all_automatic_restarts(name)
                # Its tasks go on as they are until those that it cuts now are committed (P4).
                if name in self._member.owned.connectors:
                    self._queues.submit(name, f"starting connector {name}", partial(self._assigned.run_connector, name))
                elif name not in self._config.state.applied:
                    self._member.rebalance(f"there is a connector {name}")
            case ConnectorRemoved(name):
                self._member.rebalance(f"connector {name} is gone")
            case TasksCommitted(name):
                self._queues.submit(name, f"starting tasks of {name}", partial(self._assigned.run_tasks, name))
                self._member.rebalance(f"the tasks of {name} are others now")
            case TargetChanged(name):
                self._assigned.cancel_all_automatic_restarts(name)
                self._queues.submit(name, f"following what is wanted of {name}", partial(self._follow_target, name))
            case RestartAsked(request):
                name = request.connector
                self._queues.submit(name, f"restarting {name}", partial(self._restart, request))
            case LoggerChanged(namespace, level):
                with contextlib.suppress(ValueError):
                    levels.set(namespace, level)
            case SessionKeyChanged():
                pass  # it is looked up where it is needed

    # In a connector's turn.

    def _follow_target(self, name: str) -> None:
        target = TargetState(self._config.state.target(name))
        if name in self._member.owned.connectors:
            if target is TargetState.STOPPED:
                self._worker.connectors.stop(name)
            elif self._worker.connectors.get(name) is None:
                self._assigned.run_connector(name)
            self._states.put(name, STATES[target])
            if target is TargetState.STARTED:
                self._assigned.publish_tasks(name)
        self._worker.tasks.pause(name, paused=target is TargetState.PAUSED)

    def _restart(self, request: RestartRequest) -> None:
        """Restart our part of what a user wants restarted: every worker comes to the same plan."""
        name = request.connector
        config = self._config.state.connectors.get(name)
        if config is None:
            return
        now = connector_state(self._worker.plugins, self._worker.statuses, name, config)
        plan = plan_restart(now, include_tasks=request.include_tasks, only_failed=request.only_failed)
        if plan.connector and name in self._member.owned.connectors:
            self._assigned.cancel_automatic_restart(name, None)
            self._states.put(name, State.RESTARTING)
            self._assigned.run_connector(name)
        for number in plan.tasks:
            if TaskId(name, number) in self._member.owned.tasks:
                self._assigned.cancel_automatic_restart(name, number)
                self._states.put_task(name, number, State.RESTARTING)
                self._assigned.run_task(name, number)
