"""What is logged is changed while workers run, on one or on all, and in the processes of plug-ins too (KIP-976)."""

from __future__ import annotations

from pathlib import Path

from .pool import Pool, PoolWorker, steady

POLLS, CUTS = "there is nothing", "the work is cut"


def said(worker: PoolWorker, text: str) -> int:
    return worker.log.count(text)


def test_levels_reach_tasks_and_connectors_of_all_workers_and_of_one(two: Pool, name: str, tmp_path: Path) -> None:
    asked = two.followers()[0]
    asked.create(name, steady(tmp_path, 2))
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs")
    owners = {worker for part, (_, worker) in asked.states(name).items() if part != "connector"}
    assert owners == {worker.id for worker in two.workers}, "each has a task"
    assert not any(said(worker, POLLS) or said(worker, CUTS) for worker in two.workers)
    asked.do("PUT", "/admin/loggers/steady?scope=cluster", {"level": "DEBUG"})
    two.until(lambda: all(said(worker, POLLS) for worker in two.workers), "tasks that run log more")
    asked.do("POST", f"/connectors/{name}/restart")
    two.until(lambda: any(said(worker, CUTS) for worker in two.workers), "a connector that runs logs more")
    # Whatever is started later logs as it was set before.
    before = {worker: said(worker, POLLS) for worker in two.workers}
    asked.do("POST", f"/connectors/{name}/restart?includeTasks=true")
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs again")
    two.until(lambda: all(said(worker, POLLS) > before[worker] + 3 for worker in two.workers), "new tasks log so too")
    # One worker by itself: the other goes on.
    quiet, loud = two.workers
    quiet.do("PUT", "/admin/loggers/steady", {"level": "INFO"})
    end = f"{name}-end"
    asked.create(end, steady(tmp_path, 2))
    two.until(lambda: all(worker.runs(end, 2) for worker in two.workers), "it runs")
    silent, talked = said(quiet, POLLS), said(loud, POLLS)
    two.until(lambda: said(loud, POLLS) > talked + 10, "the other one logs on")
    assert said(quiet, POLLS) == silent
    asked.do("PUT", "/admin/loggers/steady?scope=cluster", {"level": "INFO"})
    for each in (name, end):
        asked.do("DELETE", f"/connectors/{each}")
