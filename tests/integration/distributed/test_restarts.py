"""What failed is restarted as a user says: the connector, its tasks, all or only what failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .pool import Pool, steady


@pytest.mark.parametrize("at", ["leader", "follower"])
@pytest.mark.parametrize("only_failed", [True, False])
def test_a_failed_task_is_restarted_with_its_connector(
    two: Pool, name: str, tmp_path: Path, only_failed: bool, at: str
) -> None:
    asked = two.leader() if at == "leader" else two.followers()[0]
    asked.create(name, steady(tmp_path, 3))
    two.until(lambda: all(worker.runs(name, 3) for worker in two.workers), "it runs")
    (tmp_path / "fail-1").touch()
    two.until(lambda: all(worker.states(name)["1"][0] == "FAILED" for worker in two.workers), "a task fails")
    trace = asked.get(f"/connectors/{name}/tasks/1/status")["trace"]
    assert "told to fail by fail-1" in trace
    (tmp_path / "fail-1").unlink()
    before = {task: _starts(two, f"{name}-{task}") for task in range(3)}

    # Without its tasks the connector alone is restarted.
    assert asked.ask("POST", f"/connectors/{name}/restart?includeTasks=false&onlyFailed=false").status == 204
    two.until(lambda: asked.states(name)["connector"][0] == "RUNNING", "the connector runs")
    assert asked.states(name)["1"][0] == "FAILED"

    query = f"includeTasks=true&onlyFailed={str(only_failed).lower()}"
    answer = asked.ask("POST", f"/connectors/{name}/restart?{query}")
    assert answer.status == 202
    restarting = {task["id"]: task["state"] for task in answer.body["tasks"]}
    assert restarting[1] == "RESTARTING"
    assert restarting[0] == ("RUNNING" if only_failed else "RESTARTING")
    two.until(lambda: all(worker.runs(name, 3) for worker in two.workers), "all runs")
    two.until(lambda: _starts(two, f"{name}-1") == before[1] + 1, "the task was started")
    others = 0 if only_failed else 1
    two.until(lambda: all(_starts(two, f"{name}-{task}") == before[task] + others for task in (0, 2)), "the others")
    asked.do("DELETE", f"/connectors/{name}")


def test_a_failed_connector_is_restarted(two: Pool, name: str, tmp_path: Path) -> None:
    asked = two.followers()[0]
    (tmp_path / "fail-connector").touch()
    asked.create(name, steady(tmp_path, 1))
    two.until(lambda: all(worker.runs(name, 0, "FAILED") for worker in two.workers), "it fails")
    assert "told to fail by fail-connector" in asked.get(f"/connectors/{name}/status")["connector"]["trace"]
    for worker in two.workers:  # one of them has it, the other one forwards
        answer = worker.ask("POST", f"/connectors/{name}/restart")
        assert answer.status == 500
        assert answer.body["message"] == f"Failed to start connector: {name}. told to fail by fail-connector"
    (tmp_path / "fail-connector").unlink()
    assert asked.ask("POST", f"/connectors/{name}/restart?onlyFailed=true").status == 202
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it runs with its task")
    asked.do("DELETE", f"/connectors/{name}")


def test_a_connector_that_does_not_stop_as_it_should_is_restarted_and_changed_all_the_same(
    two: Pool, name: str, tmp_path: Path
) -> None:
    asked = two.followers()[0]
    asked.create(name, steady(tmp_path, 1))
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it runs")
    (tmp_path / "fail-stop").touch()
    asked.do("POST", f"/connectors/{name}/restart")
    asked.do("PUT", f"/connectors/{name}/config", steady(tmp_path, 2))
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs as it is configured now")
    (tmp_path / "fail-stop").unlink()
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize("include_tasks", [True, False], ids=["with tasks", "without tasks"])
@pytest.mark.parametrize("only_failed", [True, False], ids=["only failed", "all"])
@pytest.mark.parametrize(
    "failed", [(), ("connector",), ("1",), ("connector", "0", "1")], ids=["nothing", "connector", "task", "everything"]
)
def test_what_is_restarted_is_what_was_asked_for(
    two: Pool, name: str, tmp_path: Path, failed: tuple[str, ...], only_failed: bool, include_tasks: bool
) -> None:
    """The sixteen cases of ConnectorRestartApiIntegrationTest (KIP-745)."""
    asked = two.followers()[0]
    parts = ("connector", "0", "1")
    asked.create(name, steady(tmp_path, 2))
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs")
    for part in failed:
        (tmp_path / f"fail-{part}").touch()
    if "connector" in failed:
        assert asked.ask("POST", f"/connectors/{name}/restart").status == 500
    broken = {part: "FAILED" if part in failed else "RUNNING" for part in parts}

    def all_say(states: dict[str, str]) -> bool:
        return all({part: now for part, (now, _) in worker.states(name).items()} == states for worker in two.workers)

    two.until(lambda: all_say(broken), f"{failed} failed")
    for part in failed:
        (tmp_path / f"fail-{part}").unlink()
    before = {task: _starts(two, f"{name}-{task}") for task in ("0", "1")}
    query = f"includeTasks={str(include_tasks).lower()}&onlyFailed={str(only_failed).lower()}"
    answer = asked.ask("POST", f"/connectors/{name}/restart?{query}")
    restarted = {
        part for part in parts if (part == "connector" or include_tasks) and (part in failed or not only_failed)
    }
    if include_tasks or only_failed:
        assert answer.status == 202
        told = {"connector": answer.body["connector"], **{str(task["id"]): task for task in answer.body["tasks"]}}
        assert {part for part in parts if told[part]["state"] == "RESTARTING"} == restarted
    else:
        assert answer.status == 204
    after = {part: "RUNNING" if part in restarted else broken[part] for part in parts}
    two.until(lambda: all_say(after), f"{restarted} restarted")
    two.until(
        lambda: all(_starts(two, f"{name}-{task}") == before[task] + (task in restarted) for task in ("0", "1")),
        "each task was started as often as it was asked for",
    )
    asked.do("DELETE", f"/connectors/{name}")


def _starts(pool: Pool, task: str) -> int:
    return sum(worker.log.count(f"  {task}  running") for worker in pool.workers)
