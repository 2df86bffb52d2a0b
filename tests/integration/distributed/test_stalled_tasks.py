"""A task that says RUNNING and moves nothing although there is work is STALLED to who asks for it, only over REST."""

from __future__ import annotations

import json
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from connect.kafka.broker.embedded import Broker

from .pool import Pool, PoolWorker, a_pool

pytestmark = pytest.mark.promise("P9")

SOON = {"task.stalled.after.ms": "1000", "restart.policy": "on", "restart.policy.initial.delay.ms": "500"}


@pytest.fixture(scope="module")
def watching(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Two workers that flag early. Connectors have names of their own."""
    with a_pool(broker.bootstrap_servers, tmp_path_factory.mktemp("watching")) as made:
        made.settings |= SOON
        made.start(2)
        yield made


def sink(folder: Path, topic: str, **more: str) -> dict[str, str]:
    return {"connector.class": "frail.FrailSink", "folder": str(folder), "topics": topic, **more}


def write(broker: Broker, topic: str, value: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, value.encode())
    assert producer.flush(30) == 0


def taken(folder: Path) -> list[str]:
    out = folder / "out"
    return out.read_text().split() if out.exists() else []


def task(worker: PoolWorker, name: str) -> dict[str, Any]:
    """How it is; nothing while its worker does not say."""
    return worker.get(f"/connectors/{name}/tasks/0/status?stalled=true") or {"state": None}


def all_of(broker: Broker, topic: str, partition: int, end_of: Callable[..., int]) -> list[Any]:
    end = end_of(broker.bootstrap_servers, topic, partition)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"reader-{uuid.uuid4()}"})
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        found: list[Any] = []
        while end and (not found or found[-1].offset() < end - 1):
            message = consumer.poll(30)
            assert message is not None
            found.append(message)
        return found
    finally:
        consumer.close()


def test_a_sink_that_hangs_is_shown_and_recovers(
    watching: Pool, name: str, tmp_path: Path, broker: Broker, new_topic: Callable[..., str], end_of: Callable[..., int]
) -> None:
    topic = new_topic()
    worker = watching.workers[0]
    worker.create(name, sink(tmp_path, topic))
    write(broker, topic, "first")
    watching.until(lambda: taken(tmp_path) == ["first"], "it moves records")
    (tmp_path / "fault-0").write_text("block")
    write(broker, topic, "second")
    for one in watching.workers:
        watching.until(lambda: task(one, name)["state"] == "STALLED", "it is shown at both workers")  # noqa: B023
        trace = task(one, name)["trace"]
        assert "FrailSinkTask.put has not returned for" in trace
        assert "in strike" in trace
        for_others = one.get(f"/connectors/{name}/status")["tasks"][0]  # some clients know only Kafka's states
        assert (for_others["state"], for_others.get("trace")) == ("RUNNING", None)
        assert "FrailSinkTask.put has not returned for" in for_others["stalled"]["trace"]
    owner = next(one for one in watching.workers if one.id == task(worker, name)["worker_id"])
    assert f"{name}-0  is stalled: FrailSinkTask.put has not returned" in owner.log
    (tmp_path / "fault-0").unlink()
    watching.until(lambda: all(task(one, name)["state"] == "RUNNING" for one in watching.workers), "it runs")
    assert not {"trace", "stalled"} & task(worker, name).keys()
    watching.until(lambda: taken(tmp_path) == ["first", "second"], "nothing is lost, nothing comes twice")
    assert f"{name}-0  is not stalled any more" in owner.log
    # Java's states are all that the topic knows.
    said = [
        json.loads(message.value())
        for partition in range(3)
        for message in all_of(broker, f"{watching.name}-status", partition, end_of)
        if message.key() == f"status-task-{name}-0".encode()
    ]
    assert {one["state"] for one in said} == {"RUNNING"}
    assert [("stalled" in one) for one in said if "stalled" in one or one is said[-1]] == [True, False]
    worker.do("DELETE", f"/connectors/{name}")


def test_one_that_is_to_be_ended_then_comes_back_and_goes_on(
    watching: Pool, name: str, tmp_path: Path, broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    worker = watching.workers[0]
    worker.create(name, sink(tmp_path, topic, **{"task.stalled.action": "restart"}))
    watching.until(lambda: worker.runs(name, 1), "it runs")
    (tmp_path / "fault-0").write_text("block")
    write(broker, topic, "one")
    watching.until(lambda: task(worker, name)["state"] == "FAILED", "it is ended")
    said = worker.get(f"/connectors/{name}/restarts")["tasks"][0]
    assert said["error"] == "stalled"
    trace = task(worker, name)["trace"]
    assert "task.stalled.action=restart" in trace
    assert "in strike" in trace
    (tmp_path / "fault-0").unlink()
    watching.until(lambda: worker.runs(name, 1), "it runs again")
    watching.until(lambda: taken(tmp_path) == ["one"], "what it had in hand comes again")
    worker.do("DELETE", f"/connectors/{name}")


def test_a_process_in_which_nothing_runs_is_shown(
    watching: Pool, name: str, tmp_path: Path, new_topic: Callable[..., str]
) -> None:
    worker = watching.workers[0]
    worker.create(name, sink(tmp_path, new_topic()))
    watching.until(lambda: worker.runs(name, 1), "it runs")
    pid = int((tmp_path / "starts-0").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        watching.until(lambda: task(worker, name)["state"] == "STALLED", "it is shown")
        assert "no thread of it runs" in task(worker, name)["trace"]
    finally:
        os.kill(pid, signal.SIGCONT)
    watching.until(lambda: task(worker, name)["state"] == "RUNNING", "it goes on")
    worker.do("DELETE", f"/connectors/{name}")


def test_a_source_that_waits_is_left_alone_and_so_is_who_is_not_watched(
    watching: Pool, name: str, tmp_path: Path, broker: Broker, new_topic: Callable[..., str]
) -> None:
    """Until a third one that is watched, and blocked later than both, has been found."""
    worker = watching.workers[0]
    folders = [tmp_path / each for each in ("waits", "unwatched", "watched")]
    for folder in folders:
        folder.mkdir()
        (folder / "fault-0").write_text("block")
    topics = [new_topic() for _ in range(2)]
    waits = {"connector.class": "frail.FrailSource", "folder": str(folders[0])}
    worker.create(f"{name}-waits", waits)
    worker.create(f"{name}-unwatched", sink(folders[1], topics[0], **{"task.stalled.after.ms": "-1"}))
    write(broker, topics[0], "one")
    for each in ("waits", "unwatched"):
        watching.until(lambda: worker.runs(f"{name}-{each}", 1), "it runs")  # noqa: B023
    worker.create(f"{name}-watched", sink(folders[2], topics[1]))
    write(broker, topics[1], "one")
    watching.until(lambda: task(worker, f"{name}-watched")["state"] == "STALLED", "it is found")
    assert task(worker, f"{name}-waits")["state"] == "RUNNING"
    assert task(worker, f"{name}-unwatched")["state"] == "RUNNING"
    for folder in folders:
        (folder / "fault-0").unlink()
    for each in ("waits", "unwatched", "watched"):
        worker.do("DELETE", f"/connectors/{name}-{each}")
