"""P7: a worker that runs for long at a steady load, with pauses and rebalances, takes no more memory than before.

`SOAK_SECONDS=7200 make kills` soaks for two hours.
"""

import math
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
import pytest
from confluent_kafka import Consumer

from tests.support.waiting import until

from .conftest import StartWorker
from .lines import GrowingFile, number_of
from .topic import QUIET
from .worker import Worker

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

SECONDS = int(os.environ.get("SOAK_SECONDS", "150"))
PER_SECOND = 4000  # records
#: Growth in bytes a second that is not noise: 15 bytes a record.
LEAK = 15 * PER_SECOND


class Sample(NamedTuple):
    """One process at one moment, in seconds: its share of memory in bytes, its threads, its open files."""

    at: float
    pss: int
    threads: int
    files: int


def measure(pid: int) -> Sample:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (pss,) = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")]
    process = psutil.Process(pid)
    return Sample(time.monotonic(), pss * 1024, process.num_threads(), process.num_fds())


def processes(worker: Worker) -> dict[str, int]:
    """Every process of a worker, by what it does."""
    server = worker.server_pid()
    assert server is not None
    hosts = {f"host {number}": pid for number, pid in enumerate(worker.host_pids())}
    tasks = {name: worker.task(name)["pid"] for name in worker.connectors}
    return {"worker": worker.pid, "fork server": server, **hosts, **tasks}


def disturb(group: str, topic: str, bootstrap: str) -> None:
    """Join a consumer group, have partitions for a moment without committing anything, and leave."""
    intruder = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **QUIET})
    intruder.subscribe([topic])
    until(lambda: intruder.poll(0.2) is not None or intruder.assignment(), 60, "the intruder has partitions")
    intruder.close()


def growth(samples: list[Sample]) -> float:
    """Bytes a second by which memory grows for certain in the second half: the slope less two of its standard errors.

    Pauses and rebalances move memory up and down for some seconds, so samples are put together, ten at a time.
    """
    half = samples[len(samples) // 2 :]
    parts = [half[at : at + 10] for at in range(0, len(half) - 9, 10)]
    times = [statistics.mean(sample.at for sample in part) for part in parts]
    sizes = [statistics.median(sample.pss for sample in part) for part in parts]
    slope, base = statistics.linear_regression(times, sizes)
    away = sum((size - base - slope * at) ** 2 for at, size in zip(times, sizes, strict=True))
    spread = sum((at - statistics.mean(times)) ** 2 for at in times)
    return slope - 2 * math.sqrt(away / (len(parts) - 2) / spread)


def assert_flat(name: str, samples: list[Sample]) -> None:
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]
    history = [sample.pss >> 10 for sample in samples[:: max(1, len(samples) // 30)]]
    assert growth(samples) < LEAK, f"{name} grows: {history} KiB"
    for what in ("threads", "files"):
        before, after = (max(getattr(sample, what) for sample in part) for part in (middle, last))
        assert after <= before + 1, f"{name} has ever more {what}: {[getattr(sample, what) for sample in samples]}"


def test_a_leak_of_100_bytes_a_record_is_found(
    start_worker: StartWorker, new_topic: Callable[..., str], chance: random.Random
) -> None:
    worker = start_worker()
    with GrowingFile(worker.folder / "in.txt", chance, per_second=PER_SECOND) as file:
        source = {"connector.class": "FileStreamSource", "file": str(file.path), "topic": new_topic(4)}
        worker.put("source", {**source, "transforms": "leak", "transforms.leak.type": "unruly.Leaky"})
        worker.await_task("source", "RUNNING")
        pid = processes(worker)["source"]
        samples: list[Sample] = []
        while len(samples) < 80:
            samples.append(measure(pid))
            time.sleep(0.5)  # forty seconds of samples
    assert growth(samples) > LEAK


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.promise("P1", "P7")
def test_memory_threads_and_files_stay_as_they_are(
    start_worker: StartWorker, broker: "Broker", new_topic: Callable[..., str], chance: random.Random
) -> None:
    worker = start_worker()
    topic = new_topic(4)
    output = worker.folder / "out.txt"
    sink = f"sink-{topic}"
    samples: dict[str, list[Sample]] = defaultdict(list)
    with GrowingFile(worker.folder / "in.txt", chance, per_second=PER_SECOND) as file:
        source_config = {"connector.class": "FileStreamSource", "file": str(file.path), "topic": topic}
        worker.put("source", source_config)
        worker.put(sink, {"connector.class": "FileStreamSink", "file": str(output), "topics": topic})
        for name in ("source", sink):
            worker.await_task(name, "RUNNING")
        roles = processes(worker)
        disturbances: list[Callable[[], None]] = [
            lambda: worker.ask("pause", name="source"),
            lambda: worker.ask("resume", name="source"),
            lambda: worker.ask("pause", name=sink),
            lambda: worker.ask("resume", name=sink),
            lambda: disturb(f"connect-{sink}", topic, broker.bootstrap_servers),
            lambda: worker.ask("validate", config={"name": "new", **source_config}),
        ]
        end = time.monotonic() + SECONDS
        turn = 0
        while time.monotonic() < end:
            for name, pid in roles.items():
                samples[name].append(measure(pid))
            time.sleep(1)  # a sample a second
            if len(samples["worker"]) % 5 == 0:
                disturbances[turn % len(disturbances)]()
                turn += 1
    for name in ("source", sink):
        worker.ask("resume", name=name)
    count = file.finish()

    def all_arrived() -> bool:
        return len({number_of(text) for text in output.read_bytes().split(b"\n")[:-1]}) == count

    until(all_arrived, 90, lambda: f"all lines arrive\n{worker.last_words()}")
    assert processes(worker) == roles, "a process was replaced"
    for name, history in samples.items():
        assert_flat(name, history)
