"""Each change of a configuration is a version that any worker knows, and that a connector can return to."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.group.java_worker import java_worker
from tests.support.worker_process import our_command

from .pool import Pool, Rest, steady


def known(pool: Pool, worker: Rest, name: str, count: int) -> list[dict[str, Any]]:
    """So many versions, newest first."""
    pool.until(lambda: len(worker.history(name)) == count, f"there are {count} versions")
    return worker.history(name)


@pytest.mark.quick
def test_each_change_is_a_version_and_a_connector_returns_to_any(two: Pool, name: str, tmp_path: Path) -> None:
    follower, began = two.followers()[0], time.time()
    path, first = f"/connectors/{name}", steady(tmp_path, 1, **{"db.password": "one"})
    follower.create(name, first)
    follower.do("PUT", f"{path}/config", {**first, "tasks.max": "2"})
    follower.do("PATCH", f"{path}/config", {"db.password": "two", "extra": "x"})
    follower.do("DELETE", path)
    for worker in two.workers:
        versions = known(two, worker, name, 4)
        assert [one["deleted"] for one in versions] == [True, False, False, False]
        assert [one["changes"] for one in versions[1:3]] == [
            {"added": ["extra"], "changed": ["db.password"], "removed": []},
            {"added": [], "changed": ["tasks.max"], "removed": []},
        ]
        assert all(began - 1 < one["at"] / 1000 < time.time() + 1 for one in versions)
        assert [one["by"] for one in versions] == [None] * 4
        assert [one["version"] for one in versions] == sorted((one["version"] for one in versions), reverse=True)

    second = versions[2]["version"]
    shown = follower.do("POST", f"{path}/history/{second}/restore")
    assert shown["config"] == {**first, "name": name, "tasks.max": "2", "db.password": "[hidden]"}
    two.until(lambda: all(worker.runs(name, 2) for worker in two.workers), "it runs again with two tasks")
    newest = known(two, follower, name, 5)[0]
    assert newest["version"] > versions[0]["version"]
    compared = follower.get(f"{path}/history/{newest['version']}?since={second}")
    assert compared["differences"] == []  # the password is that of the second version too


def run(worker: Rest, *words: str, status: int = 0, typed: str = "") -> str:
    """What `connect` prints."""
    command = [*our_command("history"), *words, "--url", worker.url]
    ended = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout if status == 0 else ended.stderr


def test_the_command_shows_compares_and_restores(two: Pool, name: str, tmp_path: Path) -> None:
    worker = two.workers[0]
    worker.create(name, steady(tmp_path, 1, **{"db.password": "first-one"}))
    worker.do("PATCH", f"/connectors/{name}/config", {"number": "1", "db.password": "second-one"})
    newest, first = (one["version"] for one in known(two, worker, name, 2))
    head, *rows = run(worker, name).splitlines()
    assert head.split() == ["VERSION", "WRITTEN", "BY", "CHANGES"]
    assert [row.split()[0] for row in rows] == [str(newest), str(first)]
    assert rows[0].endswith("+number ~db.password")
    said = run(worker, name, str(newest))
    assert f"since version {first}\n" in said
    assert "\n+ number=1" in said
    assert "one" not in said.replace("known one", "")
    assert "\n- number" in run(worker, name, str(first), "--since", str(newest))
    assert json.loads(run(worker, name, "--json"))["versions"][0]["version"] == newest
    assert json.loads(run(worker, name, str(newest), "--json"))["since"] == first

    assert "nothing was changed" in run(worker, name, str(first), "--restore", typed="n\n", status=1)
    assert worker.get(f"/connectors/{name}/config")["number"] == "1"
    said = run(worker, name, str(first), "--restore", "--yes")
    assert said.endswith(f"{name} has the configuration of version {first} again\n")
    two.until(lambda: "number" not in (worker.get(f"/connectors/{name}/config") or {"number": ""}), "it is restored")
    assert "say which version" in run(worker, name, "--restore", status=2)
    assert "has no version 999999" in run(worker, name, "999999", status=1)


@pytest.mark.quick
def test_the_oldest_versions_are_dropped(pool: Pool, name: str, tmp_path: Path) -> None:
    (worker,) = pool.start(1, config_history_versions="2")
    worker.create(name, steady(tmp_path))
    for number in range(3):
        worker.do("PATCH", f"/connectors/{name}/config", {"number": str(number)})
    pool.until(lambda: [one["changes"] for one in worker.history(name)[:1]] != [], "there is a history")

    def newest_two() -> bool:
        versions = [worker.get(f"/connectors/{name}/history/{one['version']}") for one in worker.history(name)]
        return [one and one["config"].get("number") for one in versions] == ["2", "1"]

    pool.until(newest_two, "the two newest are left")


def test_a_pool_may_keep_no_history_and_begin_one_later(pool: Pool, name: str, tmp_path: Path) -> None:
    (worker,) = pool.start(1, config_history_versions="0")
    worker.create(name, steady(tmp_path))
    answer = worker.ask("GET", f"/connectors/{name}/history")
    assert answer.status == 403
    assert "config.history.versions is 0" in answer.body["message"]
    assert worker.stop() == 0
    worker.start(**{"config.history.versions": "10"})
    pool.until(worker.ready, "it answers")
    (first,) = known(pool, worker, name, 1)  # as it found it
    assert (first["at"], first["by"], first["deleted"]) == (None, None, False)
    worker.do("PATCH", f"/connectors/{name}/config", {"number": "1"})
    newest, _ = known(pool, worker, name, 2)
    assert newest["changes"] == {"added": ["number"], "changed": [], "removed": []}


def test_a_history_that_cannot_be_written_holds_nobody_up(
    pool: Pool, name: str, tmp_path: Path, new_topic: Any
) -> None:
    wrong = new_topic(name=f"{name}-wrong", partitions=3)  # several partitions, not compacted
    (worker,) = pool.start(1, config_history_topic=wrong)
    worker.create(name, steady(tmp_path))
    pool.until(lambda: worker.runs(name, 1), "it runs")
    pool.until(lambda: "The history of configurations is not recorded" in worker.log, "it is said")
    (line,) = [line for line in worker.log.splitlines() if "The history of configurations is not recorded" in line]
    assert wrong in line
    worker.do("PATCH", f"/connectors/{name}/config", {"number": "1"})
    answer = worker.ask("GET", f"/connectors/{name}/history")
    assert answer.status == 500
    assert wrong in answer.body["message"]
    worker.do("DELETE", f"/connectors/{name}")
    assert worker.stop() == 0


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_where_a_java_worker_leads_the_owner_records_without_an_author(pool: Pool, name: str, tmp_path: Path) -> None:
    pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    java_file = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": name}
    with java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path) as java:
        java.until(lambda: java.get("/connectors"))  # an empty list counts as True
        theirs = Rest(int(java.id.rpartition(":")[2]))
        (ours,) = pool.start(1)
        names = [f"{name}-{number}" for number in range(4)]
        for each in names:
            theirs.create(each, {**java_file, "file": str(tmp_path / each)})
        for each in names:
            pool.until(lambda: ours.runs(each, 1), "it runs")  # noqa: B023
        mine = [each for each in names if ours.states(each)["connector"][1] == ours.id]
        assert mine
        assert len(mine) < len(names)
        (first,) = known(pool, ours, mine[0], 1)
        assert (first["by"], first["deleted"]) == (None, False)
        theirs.do("PUT", f"/connectors/{mine[0]}/config", {**java_file, "file": "another"})
        newest, _ = known(pool, ours, mine[0], 2)
        assert newest["changes"]["changed"] == ["file"]
        ours.do("POST", f"/connectors/{mine[0]}/history/{first['version']}/restore")
        file = str(tmp_path / mine[0])
        pool.until(lambda: (theirs.get(f"/connectors/{mine[0]}/config") or {}).get("file") == file, "it is restored")
        assert len(known(pool, ours, mine[0], 3)) == 3
        assert "it may be older, or one of Kafka Connect's own" in run(theirs, mine[0], status=1)
