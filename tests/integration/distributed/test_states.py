"""What a user wants of a connector, and what it then does: paused, stopped, resumed, deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .pool import Pool, PoolWorker, steady

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.conftest import StrictBroker


@pytest.fixture
def asked(two: Pool) -> PoolWorker:
    return two.followers()[0]


def all_say(pool: Pool, name: str, tasks: int, state: str = "RUNNING") -> None:
    pool.until(lambda: all(worker.runs(name, tasks, state) for worker in pool.workers), f"{name} is {state}")


def test_from_each_state_to_each_other(two: Pool, asked: PoolWorker, name: str, tmp_path: Path) -> None:
    asked.create(name, steady(tmp_path, 2))
    all_say(two, name, 2)
    states = {"pause": ("PAUSED", 2), "stop": ("STOPPED", 0), "resume": ("RUNNING", 2)}
    # Every pair of states in one walk; asking for the state that is there changes nothing.
    for step in ("pause", "pause", "stop", "stop", "resume", "resume", "stop", "resume", "pause", "resume"):
        asked.do("PUT", f"/connectors/{name}/{step}")
        state, tasks = states[step]
        all_say(two, name, tasks, state)
    # Paused once stopped: its tasks come back, and do nothing.
    asked.do("PUT", f"/connectors/{name}/stop")
    all_say(two, name, 0, "STOPPED")
    asked.do("PUT", f"/connectors/{name}/pause")
    two.until(lambda: all(worker.states(name)["connector"][0] == "PAUSED" for worker in two.workers), "it is paused")
    asked.do("PUT", f"/connectors/{name}/resume")
    all_say(two, name, 2)
    asked.do("DELETE", f"/connectors/{name}")


def test_a_stopped_connector_stays_stopped_whatever_is_restarted(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path
) -> None:
    asked.create(name, steady(tmp_path, 2))
    all_say(two, name, 2)
    (tmp_path / "fail-1").touch()
    two.until(lambda: asked.states(name)["1"][0] == "FAILED", "a task fails")
    asked.do("PUT", f"/connectors/{name}/stop")
    all_say(two, name, 0, "STOPPED")
    assert asked.get(f"/connectors/{name}/tasks") == []
    asked.do("POST", f"/connectors/{name}/restart")
    all_say(two, name, 0, "STOPPED")
    asked.do("POST", f"/connectors/{name}/restart?includeTasks=true")
    all_say(two, name, 0, "STOPPED")
    assert asked.ask("POST", f"/connectors/{name}/tasks/0/restart").status == 404
    # Another configuration changes nothing in that.
    asked.do("PUT", f"/connectors/{name}/config", steady(tmp_path, 3))
    all_say(two, name, 0, "STOPPED")
    (tmp_path / "fail-1").unlink()
    asked.do("PUT", f"/connectors/{name}/resume")
    all_say(two, name, 3)
    asked.do("DELETE", f"/connectors/{name}")


def test_a_connector_that_cannot_start_may_be_stopped_and_resumed(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path
) -> None:
    (tmp_path / "fail-connector").touch()
    asked.create(name, steady(tmp_path, 2))
    all_say(two, name, 0, "FAILED")
    asked.do("PUT", f"/connectors/{name}/stop")
    all_say(two, name, 0, "STOPPED")
    asked.do("PUT", f"/connectors/{name}/resume")
    all_say(two, name, 0, "FAILED")
    (tmp_path / "fail-connector").unlink()
    asked.do("PUT", f"/connectors/{name}/stop")
    all_say(two, name, 0, "STOPPED")
    asked.do("PUT", f"/connectors/{name}/resume")
    all_say(two, name, 2)
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize("step", ["pause", "stop"])
def test_one_that_is_not_running_is_deleted_and_may_be_made_anew(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path, step: str
) -> None:
    asked.create(name, steady(tmp_path, 2))
    all_say(two, name, 2)
    asked.do("PUT", f"/connectors/{name}/{step}")
    all_say(two, name, *((2, "PAUSED") if step == "pause" else (0, "STOPPED")))
    asked.do("DELETE", f"/connectors/{name}")
    two.until(lambda: all(worker.ask("GET", f"/connectors/{name}").status == 404 for worker in two.workers))
    # What was wanted of the one that is gone does not count for its namesake.
    asked.create(name, steady(tmp_path, 1))
    all_say(two, name, 1)
    asked.do("DELETE", f"/connectors/{name}")


def test_a_change_of_a_paused_connector_reaches_its_tasks(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    asked.create(name, steady(tmp_path, 1, starts=str(starts), mark="old"))
    all_say(two, name, 1)
    asked.do("PUT", f"/connectors/{name}/pause")
    all_say(two, name, 1, "PAUSED")
    asked.do("PUT", f"/connectors/{name}/config", steady(tmp_path, 1, starts=str(starts), mark="new"))
    two.until(lambda: starts.read_text() == "0 old\n0 new\n", "the task is restarted, once")
    all_say(two, name, 1, "PAUSED")
    asked.do("PUT", f"/connectors/{name}/resume")
    all_say(two, name, 1)
    assert starts.read_text() == "0 old\n0 new\n"
    asked.do("DELETE", f"/connectors/{name}")


@pytest.mark.slow
def test_a_source_without_its_topic_ends_in_time(
    strict_broker: StrictBroker, pool_at: Callable[[str], Pool], tmp_path: Path
) -> None:
    """Its records wait for a topic that nobody makes; that must not keep it, nor its worker."""
    pool = pool_at(strict_broker.bootstrap_servers)
    (worker,) = pool.start(1, task_shutdown_graceful_timeout_ms="2000")
    (tmp_path / "in.txt").write_text("one\n")
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt")}
    for name in ("a", "b"):
        worker.create(name, {**config, "topic": f"not-there-{pool.name}"})
        pool.until(lambda: worker.states(name).get("0", ("",))[0] in ("RUNNING", "FAILED"), "its task is there")  # noqa: B023
    worker.do("DELETE", "/connectors/a")
    pool.until(lambda: not worker.states("a"), "it is gone", within=30)
    assert worker.stop() == 0


def test_the_topics_of_a_connector_are_known_everywhere_until_they_are_reset(
    two: Pool, asked: PoolWorker, name: str, tmp_path: Path, new_topic: Any
) -> None:
    topic = new_topic(name=name)
    (tmp_path / "in.txt").write_text("one\n")
    asked.create(name, {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": topic})
    asked.create(
        f"{name}-sink", {"connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": topic}
    )

    def known(which: str, topics: list[str]) -> None:
        path = f"/connectors/{which}/topics"
        two.until(lambda: all(worker.get(path) == {which: {"topics": topics}} for worker in two.workers), "topics")

    for each in (name, f"{name}-sink"):
        known(each, [topic])
        asked.do("PUT", f"/connectors/{each}/stop")
        all_say(two, each, 0, "STOPPED")
        known(each, [topic])
        asked.do("PUT", f"/connectors/{each}/topics/reset")
        known(each, [])
        asked.do("DELETE", f"/connectors/{each}")
