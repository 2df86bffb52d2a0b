"""What is left of the config topic when compaction has gone over it is enough to run what users wanted, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .pool import Pool, steady


def write(servers: str, topic: str, records: list[tuple[str, Any]]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for key, value in records:
        producer.produce(topic, None if value is None else json.dumps(value).encode(), key.encode(), partition=0)
    assert producer.flush(30) == 0


def connector(name: str, folder: Path, tasks: int) -> tuple[str, Any]:
    return f"connector-{name}", {"properties": {**steady(folder, tasks), "name": name, "mark": "new"}}


def task(name: str, number: int, folder: Path, mark: str = "new") -> tuple[str, Any]:
    own = {**steady(folder, 2), "name": name, "mark": mark, "number": str(number), "task.class": "steady:SteadyTask"}
    return f"task-{name}-{number}", {"properties": {**own, "starts": str(folder / f"starts-{name}")}}


def commit(name: str, count: int) -> tuple[str, Any]:
    return f"commit-{name}", {"tasks": count}


@pytest.mark.promise("P4")
def test_connectors_of_which_a_part_was_compacted_away_are_cut_anew(pool: Pool, tmp_path: Path, new_topic: Any) -> None:
    topic = new_topic(name=f"{pool.name}-config", config={"cleanup.policy": "compact"})
    write(
        pool.bootstrap,
        topic,
        [
            # Its older configuration is gone, its tasks were cut for that one (KAFKA-16838).
            task("older", 0, tmp_path, "old"),
            commit("older", 1),
            connector("older", tmp_path, 2),
            # One of its tasks was rewritten, and the worker died before it committed that.
            connector("half", tmp_path, 2),
            task("half", 1, tmp_path, "old"),
            commit("half", 2),
            task("half", 0, tmp_path, "newer"),
            # Nothing of its tasks was ever committed.
            connector("none", tmp_path, 2),
            task("none", 0, tmp_path, "old"),
            # The commit is gone with the topic's past, the tasks are not.
            connector("lost", tmp_path, 1),
            task("lost", 0, tmp_path, "old"),
            task("lost", 1, tmp_path, "old"),
            # Deleted; what was left of its tasks is nobody's.
            task("deleted", 0, tmp_path, "old"),
            commit("deleted", 1),
            ("connector-deleted", None),
            ("target-state-deleted", None),
            # A wish for one that is not there, and what nobody can read.
            ("target-state-nobody", {"state": "PAUSED", "state.v2": "PAUSED"}),
            ("connector-broken", {"properties": 7}),
            ("commit-broken", {"tasks": -1}),
        ],
    )
    pool.start(2)
    expected = {"older": 2, "half": 2, "none": 2, "lost": 1}
    for worker in pool.workers:
        assert worker.get("/connectors") == sorted(expected)

    def cut_anew() -> bool:
        return all(worker.runs(name, tasks) for worker in pool.workers for name, tasks in expected.items())

    pool.until(cut_anew, "all run, with tasks of their present configurations")
    for name in expected:
        for entry in pool.up[0].get(f"/connectors/{name}/tasks"):
            assert entry["config"]["mark"] == "new"
        # No task was ever started with what was left of the past.
        assert not (tmp_path / f"starts-{name}").exists()
    # The name of the deleted one is free.
    pool.up[1].create("deleted", steady(tmp_path, 3))
    pool.until(lambda: all(worker.runs("deleted", 3) for worker in pool.workers), "it runs")
    # And all of that holds for whoever reads the topic from its beginning.
    (third,) = pool.start(1)
    assert third.get("/connectors") == sorted([*expected, "deleted"])
    expected["deleted"] = 3
    pool.until(cut_anew, "all run")
