"""A name that no assignment can hold: Java's worker ends of it, ours does not, and refuses to take one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.group.java_worker import java_worker
from tests.support.rest import NO_ANSWER, ask

from .pool import Pool, steady

FILE = {"connector.class": "FileStreamSource", "file": "none", "topic": "none"}


def test_a_name_in_the_topic_that_ends_java_ends_nobody_here(pool: Pool, tmp_path: Path) -> None:
    pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    name = "n" * 33_000
    with java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path) as java:
        java.until(lambda: java.get("/connectors") == [] or java.get("/connectors") is True)
        java.create("short", file="none")
        with suppress(*NO_ANSWER):  # it may end before it answers
            ask(java.port, "POST", "/connectors", {"name": name, "config": FILE})
        java.until(lambda: not java.alive)
    (ours,) = pool.start(1)
    pool.until(lambda: ours.runs("short", 1), "what has a name runs")
    pool.until(lambda: ours.states(name) == {"connector": ("FAILED", ours.id)}, "the long one is FAILED")
    told = ours.get(f"/connectors/{name}/status")["connector"]["trace"]
    assert "its name has 33,000 bytes" in told
    assert "Delete it" in told
    ours.create("steady", steady(tmp_path))
    pool.until(lambda: ours.runs("steady", 1), "others can be made")
    ours.do("DELETE", f"/connectors/{name}")
    pool.until(lambda: sorted(ours.get("/connectors")) == ["short", "steady"], "it is gone")
    pool.until(lambda: ours.get(f"/connectors/{name}/status") is None, "nothing is told of it")
    with java_worker(pool.bootstrap, pool.name, "sessioned", tmp_path) as java:
        java.until(lambda: java.get("/connectors"))
        pool.until(lambda: ours.runs("short", 1), "all runs, with a worker of Java in the group")
        assert java.alive


@pytest.mark.parametrize("length", [256, 33_000])
def test_a_name_that_is_too_long_is_refused_and_ends_nobody(two: Pool, length: int, tmp_path: Path) -> None:
    for worker in two.workers:
        answer = worker.ask("POST", "/connectors", {"name": "n" * length, "config": steady(tmp_path)})
        assert answer.status == 400
        assert f"has {length:,} bytes in UTF-8. Up to 255 may be." in answer.body["message"]
    assert all(worker.alive and worker.ready() for worker in two.workers)


def test_what_is_too_long_for_a_configuration_is_refused(two: Pool, name: str, tmp_path: Path) -> None:
    config = steady(tmp_path)
    for too_much, said in (
        ({"k" * 2_000: "v"}, "this key has 2,000 characters"),
        ({"long": "v" * 600_000}, "has 600,000 characters"),
        ({f"k{number}": "v" * 500_000 for number in range(2)}, "all keys and values have 1,000,"),
    ):
        answer = two.workers[0].ask("POST", "/connectors", {"name": name, "config": {**config, **too_much}})
        assert answer.status == 400
        assert said in answer.body["message"]
        assert len(answer.body["message"]) < 2_000
    assert name not in two.workers[0].get("/connectors")
