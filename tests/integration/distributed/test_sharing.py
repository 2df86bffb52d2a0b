"""Workers share connectors and tasks: everything runs once, and as evenly as can be."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from .pool import Pool, PoolWorker, steady


def fill(pool: Pool, folder: Path, connectors: int, tasks: int) -> list[str]:
    """Connectors with so many tasks each, created at all workers in turn."""
    names = [f"s{number}" for number in range(connectors)]
    for number, name in enumerate(names):
        pool.up[number % len(pool.up)].create(name, steady(folder, tasks))
    return names


def same_everywhere(pool: Pool) -> bool:
    """Whether all workers show the same states."""
    names = pool.up[0].get("/connectors")
    return all(
        worker.get("/connectors") == names and all(worker.states(name) == pool.up[0].states(name) for name in names)
        for worker in pool.up
    )


@pytest.mark.quick
def test_workers_come_and_go(pool: Pool, tmp_path: Path) -> None:
    pool.start(2)
    names = fill(pool, tmp_path, 4, 3)
    pool.until(lambda: pool.shared(4, 12) and same_everywhere(pool), "two workers share it")
    (third,) = pool.start(1)
    pool.until(lambda: pool.shared(4, 12) and same_everywhere(pool), "three workers share it")
    # One goes, in good order: nothing of it waits for the end of its session.
    assert third.stop() == 0
    pool.until(lambda: pool.shared(4, 12) and same_everywhere(pool), "two workers share it again", within=5.0)
    pool.up[0].do("DELETE", f"/connectors/{names[0]}")
    pool.until(lambda: pool.shared(3, 9) and same_everywhere(pool), "the rest is shared")


def test_the_leader_goes_in_good_order(pool: Pool, tmp_path: Path) -> None:
    pool.start(2)
    fill(pool, tmp_path, 2, 2)
    pool.until(lambda: pool.shared(2, 4), "both share it")
    leader = pool.leader()
    (left,) = pool.followers()
    assert leader.stop() == 0
    pool.until(lambda: pool.shared(2, 4), "the other one has it all", within=5.0)
    assert pool.leader() is left
    left.create("more", steady(tmp_path, 2))
    pool.until(lambda: pool.shared(3, 6), "it leads")


def test_a_connector_gets_more_tasks_and_fewer(two: Pool, name: str, tmp_path: Path) -> None:
    first, second = two.workers
    first.create(name, steady(tmp_path, 1))
    for tasks in (5, 2, 3):
        second.do("PUT", f"/connectors/{name}/config", steady(tmp_path, tasks))
        two.until(lambda: all(worker.runs(name, tasks) for worker in two.workers), f"{tasks} tasks")  # noqa: B023
        assert len(first.get(f"/connectors/{name}/tasks")) == tasks
    first.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize(("initial", "state", "tasks"), [("STOPPED", "STOPPED", 0), ("PAUSED", "PAUSED", None)])
def test_a_connector_begins_as_it_is_told(
    two: Pool, name: str, tmp_path: Path, initial: str, state: str, tasks: int | None
) -> None:
    first, second = two.followers()[0], two.leader()
    first.create(name, steady(tmp_path, 2), initial)

    def as_told(worker: PoolWorker) -> bool:
        states = worker.states(name)
        return bool(states) and all(now == state for now, _ in states.values()) and tasks in (None, len(states) - 1)

    two.until(lambda: all(as_told(worker) for worker in two.workers), f"it is {state}")
    assert not any(f"  {name}-0  running" in worker.log for worker in two.workers)
    second.do("PUT", f"/connectors/{name}/resume")
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs")
    first.do("DELETE", f"/connectors/{name}")


def test_connectors_with_awkward_names_run_on_every_worker(two: Pool, name: str, tmp_path: Path) -> None:
    names = [f"{name} 50% of #{letter}?" for letter in ("a/b", "ä", "é", "日")]
    for one in names:
        two.workers[0].create(one, steady(tmp_path, 1))
    two.until(lambda: all(two.workers[1].runs(quote(one, safe=""), 1) for one in names), "all run")
