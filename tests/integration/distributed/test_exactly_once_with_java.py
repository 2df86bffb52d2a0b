"""Exactly-once sources in a group of a Java worker and one of ours; and what both answer to a request to fence."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connect import peers
from connect.storage.config_state import ConfigReader, ConfigState
from tests.integration.group.java_worker import JavaWorker, java_worker

from .committed import Committed
from .pool import Pool, Rest, steady

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

JAVA_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
RIGHT = "HmacSHA256"


class Both:
    """A group of one Java worker and one of ours, which may come and go."""

    def __init__(self, pool: Pool, folder: Path, stack: ExitStack) -> None:
        self.pool = pool
        self._folder = folder
        self._stack = stack
        pool.settings |= {"offset.storage.partitions": "1", "status.storage.partitions": "1"}

    def java(self) -> tuple[JavaWorker, Rest]:
        """One more Java worker."""
        worker = self._stack.enter_context(
            java_worker(
                self.pool.bootstrap,
                self.pool.name,
                "sessioned",
                self._folder,
                exactly_once_source_support="enabled",
                offset_flush_interval_ms="200",
            )
        )
        worker.until(lambda: worker.get("/connectors"))
        return worker, Rest(int(worker.id.rpartition(":")[2]))


def _config(pool: Pool) -> ConfigState:
    """What the config topic says to somebody who reads what is committed."""
    reader = ConfigReader()
    for message in _all(pool.bootstrap, f"{pool.name}-config"):
        reader.take(message.key(), message.value(), message.offset())
    return reader.state


def _all(bootstrap: str, topic: str) -> list[Any]:
    from confluent_kafka import Consumer, TopicPartition

    settings = {"group.id": "everything", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(30)) is not None and message.error() is None:
            found.append(message)
        return found
    finally:
        consumer.close()


@pytest.fixture
def both(pool: Pool, tmp_path: Path) -> Iterator[Both]:
    with ExitStack() as stack:
        yield Both(pool, tmp_path, stack)


def test_each_goes_on_where_the_other_was(both: Both, committed: Callable[[str], Committed], tmp_path: Path) -> None:
    """Whoever leads fences for whoever runs: both orders of leader and follower come about."""
    pool = both.pool
    (ours,) = pool.start(1, exactly_once_source_support="enabled")
    names = ("a", "b")
    seen = {name: committed(f"{pool.name}-{name}") for name in names}
    lines: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        (tmp_path / name).touch()
        topic = f"{pool.name}-{name}"
        ours.create(name, {"connector.class": JAVA_SOURCE, "file": str(tmp_path / name), "topic": topic})

    def flow(*workers: Rest) -> None:
        for name in names:
            new = [f"{name} {number}" for number in range(len(lines[name]), len(lines[name]) + 100)]
            lines[name] += new
            with (tmp_path / name).open("a") as file:
                file.writelines(f"{line}\n" for line in new)

        def runs() -> bool:
            owners = {workers[0].states(name).get("0") for name in names}
            return owners == {("RUNNING", worker.id) for worker in workers}

        pool.until(runs, f"{[worker.id for worker in workers]} run it")
        for name in names:
            there = lambda name=name: len(seen[name].values) >= len(lines[name])  # noqa: E731
            pool.until(there, "the lines arrive")
            assert seen[name].values == lines[name]

    flow(ours)
    java, theirs = both.java()
    flow(theirs, ours)  # ours leads, and is asked to fence
    ours.kill()
    flow(theirs)
    ours.start()
    pool.until(ours.ready, "it is back")
    flow(theirs, ours)  # the Java worker leads, and is asked to fence
    assert _config(pool).fencing == dict.fromkeys(names, 1)
    config = theirs.get("/connectors/a/config")
    for asked, other in ((theirs, ours), (ours, theirs)):
        asked.do("PUT", "/connectors/a/config", {**config, "changed.by": asked.id})
        pool.until(lambda: (other.get("/connectors/a/config") or {}).get("changed.by") == asked.id)  # noqa: B023
        flow(theirs, ours)
    java.process.kill()
    flow(ours)
    assert _config(pool).fencing == dict.fromkeys(names, 1)


def test_a_request_to_fence_is_answered_as_a_java_worker_does(
    both: Both, pool_at: Callable[[str], Pool], tmp_path: Path
) -> None:
    """Each leads a group of its own."""
    alone = pool_at(both.pool.bootstrap)
    (ours,) = alone.start(1, exactly_once_source_support="enabled")
    _, theirs = both.java()
    source = {"connector.class": JAVA_SOURCE, "file": str(tmp_path / "none"), "topic": "none"}
    sink = {"connector.class": JAVA_SOURCE.replace("Source", "Sink"), "file": str(tmp_path / "out"), "topics": "none"}
    answers: dict[Rest, list[tuple[int, str]]] = {}
    for worker, group in ((ours, alone), (theirs, both.pool)):
        worker.create("source", source)
        worker.create("sink", sink)
        alone.until(lambda: worker.runs("source", 1) and worker.runs("sink", 1), "both run")  # noqa: B023
        key = _key(group)

        def ask(name: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, str]:
            sent = {"Content-Type": "application/json", **headers}
            answer = worker.ask("PUT", f"/connectors/{name}/fence", body, sent)  # noqa: B023
            return answer.status, answer.body["message"] if answer.body else ""

        def signed(key: bytes, body: bytes = b"", algorithm: str = RIGHT) -> dict[str, str]:
            signature = base64.b64encode(hmac.new(key, body, hashlib.sha256).digest()).decode()
            return {peers.SIGNATURE_HEADER: signature, peers.ALGORITHM_HEADER: algorithm}

        answers[worker] = [
            ask("source", {}),
            ask("source", signed(b"another key" * 3)),
            ask("source", signed(key, b"another body")),
            ask("source", signed(key, algorithm="HmacSHA1")),
            ask("source", {peers.ALGORITHM_HEADER: RIGHT}),
            ask("nobody", signed(key)),
            ask("sink", signed(key)),
            ask("source", signed(key)),
            ask("source", signed(key, b"[]"), b"[]"),
        ]
    told, theirs_told = answers[ours], answers[theirs]
    assert [status for status, _ in told] == [status for status, _ in theirs_told]
    for mine, java in zip(told, theirs_told, strict=True):
        if java[0] in (400, 404):
            assert mine == java


def test_many_tasks_are_fenced_by_whoever_leads(pool: Pool, tmp_path: Path) -> None:
    """Task counts go up and down; the config topic says for how many tasks producers may live."""
    pool.start(2, exactly_once_source_support="enabled")
    pool.up[0].create("many", steady(tmp_path, 5))
    for tasks in (5, 2, 7, 1, 1, 3):
        pool.up[1].do("PUT", "/connectors/many/config", steady(tmp_path, tasks))
        pool.until(lambda: pool.up[0].runs("many", tasks), f"{tasks} run")  # noqa: B023

        def fenced() -> bool:
            state = _config(pool)
            return state.fencing == {"many": tasks} and not state.pending_fencing  # noqa: B023

        pool.until(fenced, "that is noted")
    log = "".join(worker.log for worker in pool.workers)
    for tasks in (5, 2, 7):
        assert f"fenced out {tasks} tasks" in log


def _key(pool: Pool) -> bytes:
    """The group's session key, from its config topic."""
    keys = [each for each in _all(pool.bootstrap, f"{pool.name}-config") if each.key() == b"session-key"]
    return base64.b64decode(json.loads(keys[-1].value())["key"])
