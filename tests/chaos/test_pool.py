"""P3, P10: a pool of workers with two dozen connectors is attacked for minutes; nothing is lost, nothing runs twice.

Numbers and numbered lines go from sources through topics to sinks. Half a dozen file sources and file sinks are the
shipped ones; the others note down the beginning and the end of each write, by which it is seen that no task writes once
another one of its kind has begun.

Disks are made slow in two ways that need no rights on the machine: the broker stands still for a moment, again and
again, as one does whose log cannot be written; and the sinks' writes take half a second each.

`POOL_SECONDS=3600 make kills` goes on for an hour. The seed is printed; `pytest --randomly-seed=` takes it.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.conftest import StrictBroker, create_topic
from tests.integration.distributed.pool import SESSION_S, Pool, PoolWorker

from .lines import GrowingFile, number_of, runs
from .topic import Topic
from .worker import notes, unruly

if TYPE_CHECKING:
    from connect.kafka.broker.embedded import Broker

SECONDS = int(os.environ.get("POOL_SECONDS", "180"))
FILES = 4
NUMBERS = 8
CONNECTORS = 2 * (FILES + NUMBERS)
#: For a group to have noticed, shared its work again and started it, on a busy machine, with brokers that come and go.
RECOVERY_S = 120.0


@pytest.fixture
def own_broker(broker: Broker, tmp_path: Path) -> Iterator[StrictBroker]:
    """One that may be killed. The usual one is asked for so that jars and Java are there."""
    made = StrictBroker(tmp_path / "broker")
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[str], None]]:
    """Shows lines when the test has ended, whether or not it fails."""
    lines: list[str] = []
    yield lines.append
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"{line}\n" for line in lines))


class Chaos:
    """Attacks on a pool, by chance, each followed by a look at how long the work took to run again.

    Args:
        pool: its workers all run.
        broker: theirs.
        chance: chooses.
        slow: while this file is there, writes of sinks are slow.
    """

    def __init__(self, pool: Pool, broker: StrictBroker, chance: random.Random, slow: Path) -> None:
        self.done: list[str] = []
        #: By the kind of attack, how many seconds passed until all that was lost ran elsewhere.
        self.times: dict[str, list[float]] = {}
        #: What was FAILED at some moment. It comes back by the restart policy, or the test fails.
        self.failed: set[str] = set()
        self._pool = pool
        self._broker = broker
        self._chance = chance
        self._slow = slow

    def go_on(self, seconds: float) -> None:
        """Attack until the time is over; each kind once before any comes again."""
        end = time.monotonic() + seconds
        kinds: list[Callable[[], None]] = [
            self.kill_worker,
            self.kill_leader,
            self.freeze_worker,
            self.freeze_for_a_moment,
            self.stop_worker,
            self.bounce_all,
            self.kill_broker,
            self.restart_broker,
            self.slow_broker,
            self.slow_sinks,
        ]
        while time.monotonic() < end:
            self._chance.shuffle(kinds)
            for attack in kinds:
                if time.monotonic() > end:
                    break
                self.done.append(attack.__name__)
                attack()
                self.settle(attack.__name__)
                time.sleep(self._chance.uniform(0, 2))  # records flow

    def settle(self, kind: str) -> None:
        """Wait until all runs, on workers that live."""
        began = time.monotonic()
        self._pool.until(self.all_run, f"all runs after {self.done[-4:]}", RECOVERY_S)
        self.times.setdefault(f"{kind}: all runs again", []).append(time.monotonic() - began)

    def all_run(self) -> bool:
        """Whether every connector and task is RUNNING on a worker that lives, by the word of each worker."""
        alive = {worker.id for worker in self._pool.up}
        for worker in self._pool.up:
            answer = worker.get("/connectors?expand=status")
            if answer is None or len(answer) != CONNECTORS:
                return False
            for name, said in answer.items():
                status = said["status"]
                parts = [status["connector"], *status["tasks"]]
                for part in parts:
                    if part["state"] == "FAILED":
                        self.failed.add(f"{name} {part.get('id', '')}: {part['trace'].splitlines()[-1]}")
                if len(parts) != 2 or any(p["state"] != "RUNNING" or p["worker_id"] not in alive for p in parts):
                    return False
        return True

    # The attacks. Each leaves all workers and the broker running.

    def kill_worker(self) -> None:
        self._lose(self._chance.choice(self._pool.up), PoolWorker.kill, "killed")

    def kill_leader(self) -> None:
        self._lose(self._pool.leader(), PoolWorker.kill, "leader killed")

    def stop_worker(self) -> None:
        self._lose(self._chance.choice(self._pool.up), lambda worker: worker.stop(), "stopped in order")

    def freeze_worker(self) -> None:
        """For longer than its session: it comes back as a zombie, whose work others have."""
        worker = self._chance.choice(self._pool.up)
        worker.signal(signal.SIGSTOP)
        try:
            self._await_moved(worker, "frozen")
        finally:
            worker.signal(signal.SIGCONT)

    def freeze_for_a_moment(self) -> None:
        """For about as long as a lease or a session holds."""
        workers = self._chance.sample(self._pool.up, 2)
        for worker in workers:
            worker.signal(signal.SIGSTOP)
        time.sleep(self._chance.uniform(1, 1.5 * SESSION_S))
        for worker in workers:
            worker.signal(signal.SIGCONT)

    def bounce_all(self) -> None:
        """One after the other, in order or not, as at an upgrade."""
        for worker in self._pool.up:
            self._chance.choice([PoolWorker.kill, PoolWorker.stop])(worker)
            worker.start()
            self._pool.until(worker.ready, "it is back", RECOVERY_S)

    def kill_broker(self) -> None:
        self._broker.kill()
        time.sleep(self._chance.uniform(0, SESSION_S))
        self._broker.start()

    def restart_broker(self) -> None:
        self._broker.stop()
        self._broker.start()

    def slow_broker(self) -> None:
        pid = self._broker.running.pid
        for _ in range(self._chance.randrange(5, 15)):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self._chance.uniform(0.2, 1.5))
            os.kill(pid, signal.SIGCONT)
            time.sleep(self._chance.uniform(0.05, 0.3))

    def slow_sinks(self) -> None:
        self._slow.touch()
        try:
            self._lose(self._chance.choice(self._pool.up), PoolWorker.kill, "killed with slow sinks")
        finally:
            self._slow.unlink()

    def _lose(self, worker: PoolWorker, end: Callable[[PoolWorker], Any], how: str) -> None:
        """End a worker, wait until the others have its work, and start it again: sometimes before they have."""
        end(worker)
        if self._chance.random() < 0.7:
            self._await_moved(worker, how)
        worker.start()
        self._pool.until(worker.ready, f"{worker.id} is back", RECOVERY_S)

    def _await_moved(self, worker: PoolWorker, how: str) -> None:
        began = time.monotonic()
        others = [other for other in self._pool.up if other is not worker]

        def moved() -> bool:
            answer = others[0].get("/connectors?expand=status") or {}
            parts = [
                part for said in answer.values() for part in (said["status"]["connector"], *said["status"]["tasks"])
            ]
            return len(parts) == 2 * CONNECTORS and not any(
                part["worker_id"] == worker.id or part["state"] != "RUNNING" for part in parts
            )

        self._pool.until(moved, f"the work of {worker.id} runs elsewhere", RECOVERY_S)
        self.times.setdefault(f"{how}: all that was lost runs elsewhere", []).append(time.monotonic() - began)


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 900)
@pytest.mark.promise("P1", "P3", "P10")
def test_nothing_is_lost_and_nothing_runs_twice(
    own_broker: StrictBroker, tmp_path: Path, chance: random.Random, seed: int, say: Callable[[str], None]
) -> None:
    pool = Pool(f"chaos-{uuid.uuid4().hex[:8]}", tmp_path, own_broker.bootstrap_servers)
    del pool.settings["restart.policy"]  # as users have it: what failed comes back by itself
    files = [GrowingFile(tmp_path / f"in-{number}.txt", chance, per_second=200) for number in range(FILES)]
    topics = {f"f{number}" for number in range(FILES)} | {f"n{number}" for number in range(NUMBERS)}
    for topic in topics:
        create_topic(own_broker.bootstrap_servers, topic)
    with ExitStack() as stack:
        stack.callback(pool.close)
        workers = pool.start(chance.randrange(3, 6))
        for number, file in enumerate(files):
            stack.enter_context(file)
            source = {"connector.class": "FileStreamSource", "file": str(file.path), "topic": f"f{number}"}
            workers[0].create(f"file-{number}", source)
        for number in range(NUMBERS):
            workers[-1].create(f"numbers-{number}", unruly(tmp_path, topic=f"n{number}", every_ms="50"))
        for topic in sorted(topics):
            shipped = topic in ("f0", "f1")
            sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / f"out-{topic}")}
            workers[1].create(
                f"sink-{topic}", (sink if shipped else unruly(tmp_path, "UnrulySink")) | {"topics": topic}
            )
        chaos = Chaos(pool, own_broker, chance, tmp_path / "slow")
        pool.until(chaos.all_run, "all runs", RECOVERY_S)
        try:
            chaos.go_on(SECONDS)
        finally:
            say(f"seed {seed}, {len(workers)} workers, {CONNECTORS} connectors: {' '.join(chaos.done)}")
            for what, times in sorted(chaos.times.items()):
                say(f"  {what}: {statistics.median(times):.1f} s, at most {max(times):.1f} s ({len(times)} times)")
            say(f"  failed, and came back by themselves: {sorted(chaos.failed)}")
        counts = {f"f{number}": file.finish() for number, file in enumerate(files)}
        # Sources of numbers go on forever; what they wrote is in the topics once they have stopped.
        for number in range(NUMBERS):
            name = f"numbers-{number}"
            pool.up[0].do("PUT", f"/connectors/{name}/stop")
            pool.until(lambda: all(worker.runs(name, 0, "STOPPED") for worker in pool.up), f"{name} is stopped")  # noqa: B023
            counts[f"n{number}"] = written(own_broker.bootstrap_servers, f"n{number}")
        for topic, count in counts.items():
            pool.until(lambda: arrived(tmp_path, topic) >= set(range(count)), f"all {count} of {topic} arrive")  # noqa: B023
    for name in sorted(f"numbers-{number}" for number in range(NUMBERS)):
        assert_one_owner(name, notes(tmp_path, name))
    for topic in sorted(topics - {"f0", "f1"}):
        assert_one_owner(f"sink-{topic}", notes(tmp_path, f"sink-{topic}"))


def written(bootstrap: str, topic: str) -> int:
    """How many numbers are in a topic: from 0 on, none missing, none before its turn."""
    reader = Topic(bootstrap, topic)
    try:
        before = -1
        while reader.count > before:
            before = reader.count
            reader.read(2)
        numbers = [int(value) for value in reader.values[0]]
    finally:
        reader.close()
    runs(numbers)
    return max(numbers) + 1


def arrived(folder: Path, topic: str) -> set[int]:
    """The numbers whose write a sink has ended."""
    out = folder / f"out-{topic}"
    if out.exists():
        return {number_of(line) for line in out.read_bytes().split(b"\n")[:-1]}
    values = [note["values"] for note in notes(folder, f"sink-{topic}") if note["what"] == "ended"]
    return {int(str(value).rstrip("x")) for value in itertools.chain(*values)}


def assert_one_owner(task: str, marks: list[dict[str, Any]]) -> None:
    """No process begins a write of a task once another one has begun one: each has one stretch of them.

    What a process that was frozen in the middle of a write does when it goes on is to end that one (P3).
    """
    begins = sorted((mark["at"], mark["pid"]) for mark in marks if mark["what"] == "begins")
    stretches = [pid for pid, _ in itertools.groupby(pid for _, pid in begins)]
    twice = {pid for pid in stretches if stretches.count(pid) > 1}
    assert not twice, f"{task} was written by {stretches}: {json.dumps(marks[-5:])}"
