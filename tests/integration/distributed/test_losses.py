"""Workers that die, freeze or come back: their work goes on elsewhere, once, and loses nothing."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .pool import SESSION_S, Pool, PoolWorker, steady

if TYPE_CHECKING:
    from tests.integration.conftest import StrictBroker

GRACEFUL_S = 1.5
#: For threads to have their turn and processes to be killed, by the worker's own clock.
SLACK_S = 2.0
#: What the tests' workers have shorter than users'.
OF_TESTS = ("session.timeout.ms", "heartbeat.interval.ms", "scheduled.rebalance.max.delay.ms")
#: A worker's session of 10 s and 5 s more; and a busy machine.
LOSS_S = 35.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Lines:
    """A file with numbered lines that grows, and the lines of a topic's records."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.count = 0

    def grow(self, lines: int = 200) -> None:
        with self.file.open("a") as file:
            file.writelines(f"{number}\n" for number in range(self.count, self.count + lines))
        self.count += lines


def through(pool: Pool, folder: Path, worker: PoolWorker) -> tuple[Lines, Path]:
    """A file source and a file sink; both move lines from one file to another."""
    lines = Lines(folder / "in.txt")
    lines.grow()
    out = folder / "out.txt"
    topic = f"{pool.name}-lines"
    worker.create("in", {"connector.class": "FileStreamSource", "file": str(lines.file), "topic": topic})
    worker.create("out", {"connector.class": "FileStreamSink", "file": str(out), "topics": topic})
    pool.until(lambda: arrived(out, lines), "the lines arrive")
    return lines, out


def arrived(out: Path, lines: Lines) -> bool:
    """Whether each line is there."""
    return out.exists() and {int(text) for text in out.read_text().split("\n")[:-1]} >= set(range(lines.count))


def steps_back(out: Path) -> int:
    """How often the lines begin again further up. Whoever takes over may repeat what was not noted as done: once."""
    numbers = [int(text) for text in out.read_text().split()]
    return sum(after <= before for before, after in itertools.pairwise(numbers))


def owner(pool: Pool, name: str) -> PoolWorker:
    worker_id = pool.up[0].states(name)["0"][1]
    return next(worker for worker in pool.workers if worker.id == worker_id)


@pytest.mark.promise("P10")
@pytest.mark.parametrize("victim", ["leader", "follower"])
def test_a_worker_is_killed_and_comes_back(
    pool: Pool, new_topic: Callable[..., str], tmp_path: Path, victim: str
) -> None:
    """Whoever is lost had a sink: its records come again in the time that docs/distributed.md tells."""
    for key in OF_TESTS:
        del pool.settings[key]
    # Whoever takes a dead worker's sink over is its member of the group: nobody waits for that to end.
    pool.start(3, consumer_session_timeout_ms=str(int(4000 * LOSS_S)))
    new_topic(name=f"{pool.name}-lines")
    lines, out = through(pool, tmp_path, pool.up[0])
    outs = [out, *(tmp_path / f"out-{number}.txt" for number in range(4))]
    for number, file in enumerate(outs[1:]):
        pool.up[0].create(
            f"out{number}", {"connector.class": "FileStreamSink", "file": str(file), "topics": f"{pool.name}-lines"}
        )

    def all_arrived() -> bool:
        return all(arrived(file, lines) for file in outs)

    pool.until(lambda: pool.shared(6, 6) and all_arrived(), "three workers share it")
    dead = pool.leader() if victim == "leader" else pool.followers()[0]
    dead.kill()
    lines.grow()
    pool.until(all_arrived, "all records come", LOSS_S)
    pool.until(lambda: pool.shared(6, 6), "two workers have it all")
    dead.start()
    pool.until(dead.ready, "it answers again")
    pool.until(lambda: pool.shared(6, 6), "three workers share it again")
    lines.grow()
    pool.until(all_arrived, "all records come again")


def test_a_worker_that_is_restarted_gets_its_work_back(pool: Pool, tmp_path: Path) -> None:
    pool.start(3, scheduled_rebalance_max_delay_ms="60000")
    for number in range(3):
        pool.up[0].create(f"s{number}", steady(tmp_path, 3))
    pool.until(lambda: pool.shared(3, 9), "three workers share it")
    before = pool.owners()
    worker = pool.followers()[0]
    for end in (worker.stop, worker.kill):
        end()
        worker.start()
        pool.until(worker.ready, "it answers again")
        pool.until(lambda: pool.owners() == before, "all is where it was")


def test_a_pause_outlives_the_whole_pool(pool: Pool, tmp_path: Path) -> None:
    pool.start(2)
    pool.up[0].create("held", steady(tmp_path, 2))
    pool.up[0].create("ended", steady(tmp_path, 2))
    pool.up[0].create("free", steady(tmp_path, 2))
    pool.until(lambda: pool.shared(3, 6), "both share it")
    pool.up[1].do("PUT", "/connectors/held/pause")
    pool.up[1].do("PUT", "/connectors/ended/stop")

    def as_wished() -> bool:
        return all(
            worker.runs("held", 2, "PAUSED") and worker.runs("ended", 0, "STOPPED") and worker.runs("free", 2)
            for worker in pool.up
        )

    pool.until(as_wished, "all is as wished")
    logs = {worker: len(worker.log) for worker in pool.workers}
    for worker in pool.workers:
        worker.kill()
    for worker in pool.workers:
        worker.start()
    pool.until(lambda: all(worker.ready() for worker in pool.workers), "they answer again")
    pool.until(lambda: len(set(pool.owners().values())) == 2 and as_wished(), "all is as wished again")
    for worker in pool.workers:
        assert "  held-0  running" not in worker.log[logs[worker] :]
    pool.up[0].do("PUT", "/connectors/held/resume")
    pool.until(lambda: all(worker.runs("held", 2) for worker in pool.up), "it runs")


@pytest.mark.promise("P3")
@pytest.mark.parametrize("name", ["in", "out"])
def test_a_worker_is_frozen_for_longer_than_its_session(pool: Pool, tmp_path: Path, name: str) -> None:
    """Its tasks run on without it, but only as long as they certainly are its own."""
    pool.start(2)
    lines, out = through(pool, tmp_path, pool.up[0])
    pool.until(lambda: pool.shared(2, 2), "both share it")
    frozen = owner(pool, name)
    other = next(worker for worker in pool.workers if worker is not frozen)
    frozen.signal(signal.SIGSTOP)
    try:
        _until_moved(pool, other, name, lines)
    finally:
        frozen.signal(signal.SIGCONT)
    pool.until(frozen.ready, "it is back in the group")
    pool.until(lambda: pool.shared(2, 2), "both share it")
    lines.grow()
    pool.until(lambda: arrived(out, lines), "no line is lost")
    assert steps_back(out) <= 1, "two tasks wrote at the same time"


def test_the_broker_is_restarted(
    strict_broker: StrictBroker, pool_at: Callable[[str], Pool], new_topic: Any, tmp_path: Path
) -> None:
    pool = pool_at(strict_broker.bootstrap_servers)
    new_topic(on=strict_broker, name=f"{pool.name}-lines")
    pool.start(2)
    lines, out = through(pool, tmp_path, pool.up[0])
    pool.until(lambda: pool.shared(2, 2), "both share it")
    for end in (strict_broker.stop, strict_broker.kill):
        end()
        lines.grow()
        time.sleep(SESSION_S)  # nothing shows while nothing can be done
        assert all(worker.get("/connectors") == ["in", "out"] for worker in pool.workers), "REST answers meanwhile"
        strict_broker.start()
        pool.until(lambda: pool.shared(2, 2) and arrived(out, lines), "all goes on")
    pool.up[0].create("more", steady(tmp_path, 2))
    pool.until(lambda: pool.shared(3, 4), "changes are taken")


@pytest.mark.promise("P11")
def test_a_worker_stops_in_time_though_no_broker_answers(
    strict_broker: StrictBroker, pool_at: Callable[[str], Pool], new_topic: Any, tmp_path: Path
) -> None:
    """Nothing can be committed, stored or said any more; it is not waited for as if it could."""
    pool = pool_at(strict_broker.bootstrap_servers)
    new_topic(on=strict_broker, name=f"{pool.name}-lines")
    (worker,) = pool.start(1, task_shutdown_graceful_timeout_ms=str(int(GRACEFUL_S * 1000)))
    lines, _ = through(pool, tmp_path, worker)
    strict_broker.kill()
    try:
        lines.grow()
        assert worker.stop() == 0
        assert worker.stopped_in() < GRACEFUL_S + SLACK_S
    finally:
        strict_broker.start()


def _until_moved(pool: Pool, other: PoolWorker, name: str, lines: Lines) -> None:

    def moved() -> bool:
        lines.grow(20)
        return other.states(name).get("0") == ("RUNNING", other.id)

    pool.until(moved, f"{name} moves", within=SESSION_S * 3)
