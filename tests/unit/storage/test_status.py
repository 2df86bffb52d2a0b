from dataclasses import replace

from connect.storage import ConnectorStatus, MemoryStatusStore, State, Status, TaskStatus
from connect.telemetry import Redactor

RUNNING = ConnectorStatus("orders", State.RUNNING, "host:8083")
TASK = TaskStatus("orders", 0, State.RUNNING, "host:8083")


def test_the_last_status_counts_and_tasks_are_in_order() -> None:
    store = MemoryStatusStore()
    store.put(RUNNING)
    for task in (10, 2, 0):
        store.put(replace(TASK, task=task))
    store.put(replace(TASK, task=2, state=State.FAILED, trace="ValueError: x"))
    assert store.connector("orders") == RUNNING
    assert [(status.task, status.state) for status in store.tasks("orders")] == [
        (0, State.RUNNING),
        (2, State.FAILED),
        (10, State.RUNNING),
    ]
    assert store.connectors() == ["orders"]
    store.forget("orders", 2)
    assert len(store.tasks("orders")) == 2
    store.forget("orders")
    assert (store.connector("orders"), store.tasks("orders"), store.connectors()) == (None, [], [])


def test_no_trace_is_kept_with_a_secret() -> None:
    secrets = Redactor()
    secrets.remember(["hunter2"])
    store = MemoryStatusStore(secrets)
    store.put(replace(TASK, state=State.FAILED, trace="login with hunter2 failed"))
    assert store.tasks("orders")[0].trace == "login with [hidden] failed"


def test_listeners_hear_every_status_until_they_leave() -> None:
    store = MemoryStatusStore()
    heard: list[Status] = []
    end = store.listen(heard.append)
    store.put(RUNNING)
    store.put(TASK)
    end()
    end()
    store.put(replace(TASK, state=State.PAUSED))
    assert heard == [RUNNING, TASK]


def test_a_listener_may_look_into_the_store() -> None:
    store = MemoryStatusStore()
    seen: list[object] = []
    store.listen(lambda status: seen.append(store.connector(status.connector)))
    store.put(RUNNING)
    assert seen == [RUNNING]
