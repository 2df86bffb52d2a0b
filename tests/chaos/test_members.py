"""A sink task that is killed leaves a member in its consumer group; its successor does not wait for it."""

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.waiting import until

from . import topic as topics
from .conftest import StartWorker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

#: Without help the partitions stay with the dead member until its session ends: a long one, to tell the two apart.
SESSION_S = 120
WELL_BELOW_A_SESSION_S = 40.0


@pytest.mark.promise("P10")
@pytest.mark.parametrize(
    "victim", ["task", *(pytest.param(v, marks=pytest.mark.slow) for v in ("fork server", "deaf task"))]
)
def test_the_successor_of_a_killed_sink_task_gets_its_partitions_at_once(
    victim: str, start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    bootstrap = broker.bootstrap_servers
    topics.fill(bootstrap, topic, [[b"1"], [b"2"]])
    worker = start_worker(task_shutdown_graceful_timeout_ms="1000")
    name = f"members-{topic}"
    sink = {"connector.class": "FileStreamSink", "topics": topic, "file": str(worker.folder / "out.txt")}
    worker.put(name, {**sink, "consumer.override.session.timeout.ms": str(1000 * SESSION_S)})
    group = f"connect-{name}"
    everything = [(topic, 0), (topic, 1)]
    until(lambda: list(topics.members(bootstrap, group).values()) == [everything], 30, "it has partitions")
    (dead,) = topics.members(bootstrap, group)
    task = worker.task(name)["pid"]
    match victim:
        case "task":
            os.kill(task, signal.SIGKILL)
        case "deaf task":
            os.kill(task, signal.SIGSTOP)  # the restart kills it
        case "fork server":
            server = worker.server_pid()
            assert server is not None
            os.kill(server, signal.SIGKILL)
    if victim != "deaf task":
        worker.await_task(name, "FAILED")
    worker.ask("restart_task", name=name, task=0)

    def successor_has_all() -> bool:
        found = topics.members(bootstrap, group)
        return dead not in found and list(found.values()) == [everything]

    until(successor_has_all, WELL_BELOW_A_SESSION_S, lambda: f"{topics.members(bootstrap, group)}; dead is {dead}")
    topics.fill(bootstrap, topic, [[b"3"], [b"4"]])
    until(lambda: (worker.folder / "out.txt").read_bytes().split().count(b"4") == 1, 30, "records flow again")
