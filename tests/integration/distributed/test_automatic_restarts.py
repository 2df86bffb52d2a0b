"""What failed comes back by itself, if it may, at the worker that owns it, and nobody else's doing is undone by it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connect.kafka.broker.embedded import Broker

from .pool import Pool, PoolWorker, a_pool

POLICY = {
    "restart.policy": "on",
    "restart.policy.initial.delay.ms": "300",
    "restart.policy.jitter": "0",
}
SLOWLY = {"restart.policy.initial.delay.ms": "3000"}


@pytest.fixture(scope="module")
def healing(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Two workers that restart what failed. Connectors have names of their own."""
    with a_pool(broker.bootstrap_servers, tmp_path_factory.mktemp("healing")) as made:
        made.settings |= POLICY
        made.start(2)
        yield made


def frail(folder: Path, tasks: int = 1, **more: str) -> dict[str, str]:
    return {"connector.class": "frail.FrailSource", "tasks.max": str(tasks), "folder": str(folder), **more}


def starts(folder: Path, number: int | str = 0) -> int:
    file = folder / f"starts-{number}"
    return len(file.read_text().splitlines()) if file.exists() else 0


def failed(worker: PoolWorker, name: str, task: str = "0") -> bool:
    return worker.states(name).get(task, ("", ""))[0] == "FAILED"


def restarts(worker: PoolWorker, name: str, task: int = 0) -> dict[str, Any]:
    said = worker.get(f"/connectors/{name}/restarts") or {"tasks": []}
    return next((one for one in said["tasks"] if one["id"] == task), {})


def other(pool: Pool, owner: str) -> PoolWorker:
    return next(worker for worker in pool.workers if worker.id != owner)


@pytest.mark.promise("P9")
@pytest.mark.parametrize(("fault", "kind"), [("crash", "crash"), ("fire", "unknown")])
def test_a_task_that_fails_is_seen_failed_and_comes_back(
    healing: Pool, name: str, tmp_path: Path, fault: str, kind: str
) -> None:
    worker = healing.workers[0]
    worker.create(name, frail(tmp_path, 2, **SLOWLY))
    healing.until(lambda: worker.runs(name, 2), "it runs")
    owner = worker.states(name)["1"][1]
    (tmp_path / "fault-1").write_text(fault)
    for one in healing.workers:
        healing.until(lambda: failed(one, name, "1"), "it is seen at both workers")  # noqa: B023
        said = restarts(one, name, 1)
        assert (said["error"], said["restarts"], said["worker_id"]) == (kind, 0, owner)
        assert said["next_restart_ms"] > 0
    (tmp_path / "fault-1").unlink()
    healing.until(lambda: all(one.runs(name, 2) for one in healing.workers), "it runs again")
    assert (starts(tmp_path, 0), starts(tmp_path, 1)) == (1, 2)
    assert worker.states(name)["1"][1] == owner
    assert "next_restart_ms" not in restarts(worker, name, 1)
    worker.do("DELETE", f"/connectors/{name}")


def test_a_task_that_goes_on_failing_is_tried_until_its_budget_is_used_up(
    healing: Pool, name: str, tmp_path: Path
) -> None:
    worker = healing.workers[0]
    (tmp_path / "fault-0").write_text("fire")
    worker.create(name, frail(tmp_path, **{"restart.policy.max.restarts": "3", "restart.policy.multiplier": "1"}))
    healing.until(lambda: restarts(worker, name).get("restarts") == 3, "it was tried three times")
    said = restarts(worker, name)
    assert "next_restart_ms" not in said
    assert "max.restarts" in said["reason"]
    assert starts(tmp_path) == 4
    # A user begins a new budget.
    (tmp_path / "fault-0").unlink()
    worker.do("POST", f"/connectors/{name}/tasks/0/restart")
    healing.until(lambda: worker.runs(name, 1), "it runs")
    (tmp_path / "fault-0").write_text("crash")
    healing.until(lambda: failed(worker, name), "it fails")
    (tmp_path / "fault-0").unlink()
    healing.until(lambda: worker.runs(name, 1), "it comes back")
    worker.do("DELETE", f"/connectors/{name}")


def test_a_connector_that_fails_comes_back_with_its_tasks(healing: Pool, name: str, tmp_path: Path) -> None:
    worker = healing.workers[0]
    (tmp_path / "fault-connector").write_text("fire")
    worker.create(name, frail(tmp_path, **SLOWLY))
    healing.until(lambda: failed(worker, name, "connector"), "it fails")
    assert "the target is on fire" in worker.get(f"/connectors/{name}/status")["connector"]["trace"]
    (tmp_path / "fault-connector").unlink()
    healing.until(lambda: all(one.runs(name, 1) for one in healing.workers), "it runs")
    worker.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize("where", ["task", "connector"])
def test_an_error_of_the_configuration_stays(healing: Pool, name: str, tmp_path: Path, where: str) -> None:
    worker = healing.workers[0]
    part = "0" if where == "task" else "connector"
    (tmp_path / f"fault-{part}").write_text("config")
    worker.create(name, frail(tmp_path, **{"restart.policy.initial.delay.ms": "0"}))
    healing.until(lambda: failed(worker, name, part), "it fails")
    said = worker.get(f"/connectors/{name}/restarts")
    said = said["tasks"][0] if where == "task" else said["connector"]
    assert said["error"] == "configuration"
    assert "next_restart_ms" not in said
    wait_for_another_to_come_back(healing, tmp_path)
    assert starts(tmp_path, part) == 1
    worker.do("DELETE", f"/connectors/{name}")


def test_where_it_is_off_a_task_stays_failed(healing: Pool, name: str, tmp_path: Path) -> None:
    worker = healing.workers[0]
    (tmp_path / "fault-0").write_text("crash")
    worker.create(name, frail(tmp_path, **{"restart.policy": "off", "restart.policy.initial.delay.ms": "0"}))
    healing.until(lambda: failed(worker, name), "it fails")
    assert "error" not in restarts(worker, name)
    wait_for_another_to_come_back(healing, tmp_path)
    assert starts(tmp_path) == 1
    worker.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize("how", ["pause", "stop", "config", "delete"])
def test_what_a_user_does_calls_it_off(healing: Pool, name: str, tmp_path: Path, how: str) -> None:
    worker = healing.workers[0]
    worker.create(name, frail(tmp_path, **SLOWLY))
    healing.until(lambda: worker.runs(name, 1), "it runs")
    asked = other(healing, worker.states(name)["0"][1])  # not the one that has it
    (tmp_path / "fault-0").write_text("crash")
    healing.until(lambda: "next_restart_ms" in restarts(asked, name), "it is to be restarted")
    (tmp_path / "fault-0").unlink()
    if how == "pause":
        asked.do("PUT", f"/connectors/{name}/pause")
        healing.until(lambda: "next_restart_ms" not in restarts(asked, name), "that is called off")
        assert failed(asked, name)
    elif how == "stop":
        asked.do("PUT", f"/connectors/{name}/stop")
        healing.until(lambda: asked.runs(name, 0, "STOPPED"), "it is stopped")
    elif how == "delete":
        asked.do("DELETE", f"/connectors/{name}")
    else:
        asked.do("PUT", f"/connectors/{name}/config", frail(tmp_path, **SLOWLY, other="value"))
        healing.until(lambda: asked.runs(name, 1), "it runs with the new configuration")
    wait_for_another_to_come_back(healing, tmp_path, pauses=2)
    assert not any(f"{name}-0  is restarted automatically\n" in one.log for one in healing.workers)
    assert how == "config" or starts(tmp_path) == 1
    if how != "delete":
        asked.do("DELETE", f"/connectors/{name}")


def wait_for_another_to_come_back(pool: Pool, folder: Path, pauses: int = 1) -> None:
    """So long that whatever was to be restarted before would have been."""
    folder = folder / "another"
    folder.mkdir()
    name, worker = f"another-{uuid.uuid4().hex[:8]}", pool.workers[0]
    (folder / "fault-0").write_text("crash")
    worker.create(name, frail(folder, **SLOWLY, **{"restart.policy.multiplier": "1"}))
    pool.until(lambda: starts(folder) > pauses, "another one came back")
    worker.do("DELETE", f"/connectors/{name}")


@pytest.mark.slow
@pytest.mark.promise("P3")
def test_who_lost_a_task_does_not_restart_it(pool: Pool, tmp_path: Path) -> None:
    """Each task that waits for its restart is given to a new worker, or stays; where it goes, there it starts."""
    pool.settings |= POLICY
    (first,) = pool.start(1)
    tasks = 4
    first.create("moves", frail(tmp_path, tasks, **{"restart.policy.initial.delay.ms": "15000"}))
    pool.until(lambda: first.runs("moves", tasks), "it runs")
    for task in range(tasks):
        (tmp_path / f"fault-{task}").write_text("crash")
    pool.until(lambda: all(failed(first, "moves", str(task)) for task in range(tasks)), "all have failed")
    for task in range(tasks):
        (tmp_path / f"fault-{task}").unlink()
    (second,) = pool.start(1)
    pool.until(lambda: all(one.runs("moves", tasks) for one in pool.workers), "all run again")
    owners = {task: owner for task, (_, owner) in first.states("moves").items() if task != "connector"}
    moved = [task for task, owner in owners.items() if owner == second.id]
    assert len(moved) == tasks // 2
    # Once at first, and once more: by their new owner, or by the old one after the pause.
    assert [starts(tmp_path, task) for task in range(tasks)] == [2] * tasks
    assert {task: second.log.count(f"  moves-{task}  running") for task in owners} == {
        task: int(task in moved) for task in owners
    }
    assert not any(f"moves-{task}  is restarted automatically" in first.log for task in moved)
