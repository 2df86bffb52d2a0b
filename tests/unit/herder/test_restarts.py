"""What a restart is for (KIP-745)."""

import pytest

from connect.herder.config_follower import plan_restart
from connect.herder.model import ConnectorState
from connect.storage import ConnectorStatus, State, TaskStatus


def state(connector: State, *tasks: State) -> ConnectorState:
    statuses = [TaskStatus("c", number, one, "w") for number, one in enumerate(tasks)]
    return ConnectorState("c", ConnectorStatus("c", connector, "w"), statuses, "source")


R, F, P = State.RUNNING, State.FAILED, State.PAUSED


@pytest.mark.parametrize(
    ("now", "include_tasks", "only_failed", "connector", "tasks"),
    [
        (state(R, R, F), False, False, True, []),
        (state(R, R, F), True, False, True, [0, 1]),
        (state(R, R, F), False, True, False, []),
        (state(R, R, F), True, True, False, [1]),
        (state(F, R, F), True, True, True, [1]),
        (state(F, R), False, True, True, []),
        (state(P, P, P), True, False, True, [0, 1]),
        (state(R), True, True, False, []),
    ],
)
def test_a_plan_has_what_was_asked_for(now, include_tasks: bool, only_failed: bool, connector: bool, tasks) -> None:
    plan = plan_restart(now, include_tasks=include_tasks, only_failed=only_failed)
    assert (plan.connector, list(plan.tasks)) == (connector, tasks)
    assert (plan.state.connector.state is State.RESTARTING) == connector
    assert [task.task for task in plan.state.tasks if task.state is State.RESTARTING] == tasks
    unchanged = [task for task in plan.state.tasks if task.task not in tasks]
    assert unchanged == [task for task in now.tasks if task.task not in tasks]
