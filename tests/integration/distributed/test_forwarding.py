"""Whatever worker is asked: the one that can do it does, and the answer is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .pool import Pool, PoolWorker, steady


@pytest.fixture
def follower(two: Pool) -> PoolWorker:
    return two.followers()[0]


@pytest.fixture
def connector(two: Pool, follower: PoolWorker, name: str, tmp_path: Path) -> Iterator[str]:
    """A connector with two tasks, one at each worker."""
    follower.create(name, steady(tmp_path, 2))
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs")
    yield name
    follower.do("DELETE", f"/connectors/{name}")
    two.until(lambda: not any(worker.states(name) for worker in two.workers), "nobody knows it")


def test_a_follower_creates_changes_and_deletes(two: Pool, follower: PoolWorker, name: str, tmp_path: Path) -> None:
    made = follower.ask("POST", "/connectors", {"name": name, "config": steady(tmp_path)})
    assert made.status == 201
    assert made.body["config"] == {**steady(tmp_path), "name": name}
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it runs")
    put = follower.ask("PUT", f"/connectors/{name}/config", steady(tmp_path, 2))
    assert put.status == 200
    assert put.body["config"]["tasks.max"] == "2"
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it has two tasks")
    patched = follower.ask("PATCH", f"/connectors/{name}/config", {"tasks.max": "1", "more": "x"})
    assert patched.status == 200
    assert patched.body["config"] == {**steady(tmp_path), "name": name, "more": "x"}
    two.until(lambda: all(worker.runs(name, 1) for worker in two.workers), "it has one task")
    assert follower.ask("DELETE", f"/connectors/{name}").status == 204
    two.until(lambda: all(worker.ask("GET", f"/connectors/{name}").status == 404 for worker in two.workers))
    two.until(lambda: not any(worker.states(name) for worker in two.workers), "its states are forgotten")


def test_errors_of_the_leader_come_back_as_they_are(
    two: Pool, follower: PoolWorker, connector: str, tmp_path: Path
) -> None:
    leader = two.leader()
    requests = [
        ("POST", "/connectors", {"name": connector, "config": steady(tmp_path)}),
        ("POST", "/connectors", {"name": "x", "config": {"connector.class": "steady.SteadySource", "tasks.max": "x"}}),
        ("POST", "/connectors", b"{"),
        ("DELETE", "/connectors/nobody", None),
        ("PUT", "/connectors/nobody/pause", None),
        ("PATCH", "/connectors/nobody/config", {"a": "b"}),
        ("POST", "/connectors/nobody/restart?includeTasks=true", None),
        ("POST", "/connectors/nobody/tasks/0/restart", None),
        ("PATCH", f"/connectors/{connector}/offsets", {"offsets": []}),
        ("DELETE", f"/connectors/{connector}/offsets", None),
    ]
    for method, path, body in requests:
        told = follower.ask(method, path, body)
        assert told.status >= 400
        assert told == leader.ask(method, path, body), (method, path)


def test_a_body_without_a_content_type_is_taken_as_the_leader_takes_it(two: Pool, follower: PoolWorker) -> None:
    body = b'{"name": "", "config": {}}'
    headers = {"Content-Type": ""}
    assert follower.ask("POST", "/connectors", body, headers) == two.leader().ask("POST", "/connectors", body, headers)


def test_a_follower_pauses_resumes_and_stops(two: Pool, follower: PoolWorker, connector: str) -> None:
    assert follower.ask("PUT", f"/connectors/{connector}/pause").status == 202
    two.until(lambda: all(worker.runs(connector, 2, "PAUSED") for worker in two.workers), "it is paused")
    assert follower.ask("PUT", f"/connectors/{connector}/resume").status == 202
    two.until(lambda: all(worker.runs(connector, 2) for worker in two.workers), "it runs again")
    assert follower.ask("PUT", f"/connectors/{connector}/stop").status == 204
    two.until(
        lambda: all(worker.runs(connector, 0, "STOPPED") for worker in two.workers), "it is stopped, without tasks"
    )
    assert follower.ask("PUT", f"/connectors/{connector}/resume").status == 202
    two.until(lambda: all(worker.runs(connector, 2) for worker in two.workers), "it runs again")


def test_whoever_is_asked_the_owner_restarts(two: Pool, connector: str) -> None:
    owners = {part: worker for part, (_, worker) in two.workers[0].states(connector).items()}
    assert len({owners["0"], owners["1"]}) == 2, "the tasks are at both workers"
    for worker in two.workers:
        for task in ("0", "1"):
            before = _starts(two, f"{connector}-{task}")
            assert worker.ask("POST", f"/connectors/{connector}/tasks/{task}/restart").status == 204
            two.until(lambda: all(worker.runs(connector, 2) for worker in two.workers), "it runs again")
            after = two.until(lambda: _differs(two, f"{connector}-{task}", before), "it was started")  # noqa: B023
            assert {worker for worker in after if after[worker] != before[worker]} == {owners[task]}
        assert worker.ask("POST", f"/connectors/{connector}/restart").status == 204
        two.until(lambda: all(worker.runs(connector, 2) for worker in two.workers), "it runs again")


def test_a_request_that_may_not_go_on_is_refused(follower: PoolWorker, connector: str) -> None:
    answer = follower.ask("PUT", f"/connectors/{connector}/pause?forward=false")
    assert answer.status == 409
    assert answer.body["error_code"] == 409


def _starts(pool: Pool, task: str) -> dict[str, int]:
    return {worker.id: worker.log.count(f"  {task}  running") for worker in pool.workers}


def _differs(pool: Pool, task: str, before: dict[str, int]) -> dict[str, int] | None:
    now = _starts(pool, task)
    return now if now != before else None
