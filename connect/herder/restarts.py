"""Which parts of a connector a restart is for: the connector, its tasks, or only what FAILED (KIP-745)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from connect.herder.model import ConnectorState
from connect.storage import State


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What to restart.

    Attributes:
        connector: whether the connector itself.
        tasks: the numbers of the tasks.
        state: how all are once this has begun: what is restarted is RESTARTING.
    """

    connector: bool
    tasks: Sequence[int]
    state: ConnectorState


def plan_restart(state: ConnectorState, *, include_tasks: bool, only_failed: bool) -> RestartPlan:
    """Decide by how a connector and its tasks are now."""

    def chosen(now: State) -> bool:
        return not only_failed or now is State.FAILED

    connector = chosen(state.connector.state)
    tasks = [task.task for task in state.tasks if include_tasks and chosen(task.state)]
    after = ConnectorState(
        state.name,
        replace(state.connector, state=State.RESTARTING, restart=None) if connector else state.connector,
        [
            replace(task, state=State.RESTARTING, restart=None, stalled=None, waiting=None)
            if task.task in tasks
            else task
            for task in state.tasks
        ],
        state.type,
    )
    return RestartPlan(connector, tasks, after)
