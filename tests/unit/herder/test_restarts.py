"""What a restart is for (KIP-745)."""

from types import SimpleNamespace
from typing import Any

import pytest

from connect.errors import ConnectError
from connect.herder.config_follower import ConfigFollower, plan_restart
from connect.herder.config_recorder import NoRecorder
from connect.herder.connector_work import ConnectorWork
from connect.herder.current_operations import CurrentOperations
from connect.herder.membership import Alone
from connect.herder.model import ConnectorState
from connect.herder.pool import Pool
from connect.storage import ConnectorStatus, MemoryStatusStore, State, TaskStatus
from connect.storage.config_log import MemoryConfigLog
from connect.storage.config_state import RestartRequest


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


def test_a_connector_that_fails_again_keeps_no_task_from_its_restart() -> None:
    log, statuses, did = MemoryConfigLog(), MemoryStatusStore(), list[str]()
    log.put_connector("c", {})
    log.put_tasks("c", [{}, {}])
    now = state(F, F, R)
    for status in (now.connector, *now.tasks):
        statuses.put(status)

    def refuse(_: str) -> None:
        did.append("start connector")
        raise ConnectError("The database does not answer.")

    operations = CurrentOperations()
    worker: Any = SimpleNamespace(statuses=statuses, plugins=None)
    assigned: Any = SimpleNamespace(
        queue=ConnectorWork(1, operations, lambda name, _, __: did.append(f"{name} failed")),
        restarts=SimpleNamespace(cancel=lambda *_: None),
        run_connector=refuse,
        run_task=lambda _, number: did.append(f"start task {number}"),
    )
    states: Any = SimpleNamespace(put=lambda *_: None, put_task=lambda *_: None)
    log.start(ConfigFollower(Pool(worker, log, Alone(log), operations), states, assigned, NoRecorder()).follow)
    log.put_restart(RestartRequest("c", include_tasks=True, only_failed=True))
    assigned.queue.idle("c").result(10)
    assigned.queue.close(30)
    assert did == ["start connector", "c failed", "start task 0"]
