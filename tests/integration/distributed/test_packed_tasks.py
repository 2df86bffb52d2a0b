"""Tasks that share processes: records arrive whatever becomes of a process, and who needs much gets one of its own."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from connect.kafka.broker.embedded import Broker
from tests.chaos.lines import GrowingFile, number_of, runs
from tests.chaos.worker import unruly
from tests.integration.conftest import create_topic

from .pool import Pool, PoolWorker, a_pool

pytestmark = pytest.mark.promise("P1", "P3", "P10")

MANY = 6


@pytest.fixture
def pool(broker: Broker, tmp_path: Path) -> Iterator[Pool]:
    with a_pool(broker.bootstrap_servers, tmp_path, 1, task_isolation="packed") as made:
        yield made


def packs(worker: PoolWorker) -> list[psutil.Process]:
    """The processes that several tasks share, by their numbers of threads."""
    assert worker.process is not None
    family = psutil.Process(worker.process.pid).children(recursive=True)
    return [each for each in family if not each.children() and each.num_threads() > 3 * 4]


def test_records_arrive_although_their_processes_are_killed(pool, tmp_path, seed, broker):
    chance = random.Random(seed)
    (worker,) = pool.workers
    files = []
    for number in range(MANY):
        topic = f"{pool.name}-{number}"
        create_topic(broker.bootstrap_servers, topic)
        files.append(GrowingFile(tmp_path / f"in-{number}", chance, per_second=100))
        (tmp_path / f"in-{number}").touch()
        source = {"connector.class": "FileStreamSource", "file": str(files[-1].path), "topic": topic}
        sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / f"out-{number}"), "topics": topic}
        worker.create(f"source-{number}", source)
        worker.create(f"sink-{number}", sink)
    names = [f"{kind}-{number}" for kind in ("source", "sink") for number in range(MANY)]

    def all_run() -> bool:
        return all(worker.runs(name, 1) for name in names)

    pool.until(all_run, "all run")
    assert len(packs(worker)) == 2, "the sources have one process, the sinks another one"
    for file in files:
        file.__enter__()
    for _ in range(3):
        for process in packs(worker):
            process.send_signal(signal.SIGKILL)
        pool.until(all_run, "all run again, though restart.policy=off")
    counts = [file.finish() for file in files]
    for number, count in enumerate(counts):
        out = tmp_path / f"out-{number}"

        def arrived() -> bool:
            return {number_of(line) for line in out.read_bytes().split(b"\n")[:-1]} >= set(range(count))  # noqa: B023

        pool.until(arrived, f"all lines of {number}")
        runs([number_of(line) for line in out.read_bytes().split(b"\n")[:-1]])
    assert "It starts again" in worker.log


def test_who_hangs_at_its_end_costs_the_others_nothing_but_a_moment(pool, tmp_path):
    (worker,) = pool.workers
    for number in range(3):
        worker.create(f"steady-{number}", unruly(tmp_path, topic="unruly", hang_in="stop" if number == 1 else "never"))
    pool.until(lambda: all(worker.runs(f"steady-{number}", 1) for number in range(3)))
    worker.do("PUT", "/connectors/steady-2/pause")
    pool.until(lambda: worker.runs("steady-2", 1, "PAUSED"))
    worker.do("DELETE", "/connectors/steady-1")
    pool.until(lambda: "steady-1-0 had to be ended, with which it shared a process. It starts again" in worker.log)
    pool.until(lambda: worker.runs("steady-0", 1))
    pool.until(lambda: worker.runs("steady-2", 1, "PAUSED"), "it stays paused")


def test_who_needs_much_gets_a_process_of_its_own(pool, broker, tmp_path):
    (worker,) = pool.workers
    create_topic(broker.bootstrap_servers, f"{pool.name}-much")
    for number in range(2):
        worker.create(
            f"generated-{number}",
            {
                "connector.class": "DatagenSource",
                "kafka.topic": f"{pool.name}-much",
                "quickstart": "orders",
                "max.interval": "0" if number else "1000",
                "iterations": "-1",
            },
        )
    pool.until(lambda: all(worker.runs(f"generated-{number}", 1) for number in range(2)))
    pool.until(lambda: "It moves to a process of its own" in worker.log, "it moves")
    pool.until(lambda: worker.runs("generated-1", 1))
    assert "generated-0" not in next(line for line in worker.log.splitlines() if "moves to a process" in line)
