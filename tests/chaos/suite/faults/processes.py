"""Processes of the pool: killed, and stopped for longer than a session and a lease hold."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Callable, Iterator

import psutil

from tests.chaos.suite.pool import CHECKOUT, ChaosWorker
from tests.chaos.suite.world import World
from tests.integration.distributed.pool import SESSION_S

from .fault import fault


def long_enough(chance: random.Random) -> float:
    """Seconds: longer than a session."""
    return chance.uniform(1.3, 3) * SESSION_S


def _kill(process: psutil.Process | None) -> None:
    if process is not None:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _freeze(world: World, process: psutil.Process | None, seconds: float) -> None:
    if process is None:
        return
    with contextlib.suppress(psutil.Error):
        process.suspend()
    try:
        world.rest(seconds)
    finally:
        with contextlib.suppress(psutil.Error):
            process.resume()


def _one(processes: list[psutil.Process], chance: random.Random) -> psutil.Process | None:
    return chance.choice(processes) if processes else None


def _faults_of(part: str, found: Callable[[ChaosWorker, random.Random], psutil.Process | None]) -> None:
    """A part of a worker is killed, and it is frozen."""

    @fault(f"kill {part}", "workers")
    def kill(world: World, chance: random.Random) -> Iterator[str]:
        worker = chance.choice(world.pool.up)
        yield f"{worker}: {part}"
        _kill(found(worker, chance))

    @fault(f"freeze {part}", "workers")
    def freeze(world: World, chance: random.Random) -> Iterator[str]:
        worker = chance.choice(world.pool.up)
        yield f"{worker}: {part}"
        _freeze(world, found(worker, chance), long_enough(chance))


_faults_of("task", lambda worker, chance: _one(worker.tasks(), chance))
_faults_of("host", lambda worker, chance: _one(worker.hosts(), chance))
_faults_of("fork server", lambda worker, _: worker.fork_server())


def _faults_of_spark(part: str, holds: Callable[[psutil.Process], bool]) -> None:
    @fault(f"kill {part} of Spark", "workers", wants="Spark")
    def kill(world: World, chance: random.Random) -> Iterator[str]:
        worker = chance.choice(world.pool.up)
        yield f"{worker}: {part}"
        found = []
        for task in worker.forked():
            with contextlib.suppress(psutil.Error):
                found += [each for each in task.children(recursive=True) if holds(each)]
        _kill(_one(found, chance))


_faults_of_spark("JVM", lambda process: process.name() == "java")
_faults_of_spark("Python worker", lambda process: "pyspark.daemon" in " ".join(process.cmdline()))


@fault("kill all tasks", "workers")
def kill_all_tasks(world: World, chance: random.Random) -> Iterator[str]:
    worker = chance.choice(world.pool.up)
    yield f"{worker}: all tasks"
    for each in worker.tasks():
        _kill(each)


@fault("kill worker", "workers")
def kill_worker(world: World, chance: random.Random) -> Iterator[str]:
    worker = chance.choice(world.pool.up)
    yield str(worker)
    worker.kill()
    world.rest(chance.choice([0, 2, 12]))
    worker.start()


@fault("freeze worker", "workers")
def freeze_worker(world: World, chance: random.Random) -> Iterator[str]:
    """It comes back as a zombie, whose work others have."""
    worker = chance.choice(world.pool.up)
    yield str(worker)
    _freeze(world, psutil.Process(worker.process.pid), long_enough(chance))


@fault("freeze worker with its tasks", "workers")
def freeze_all(world: World, chance: random.Random) -> Iterator[str]:
    """As a virtual machine that is moved: everything stops at one moment, and goes on later."""
    worker = chance.choice(world.pool.up)
    yield f"{worker} with its tasks"
    processes = list(worker.processes().values())
    for each in processes:
        with contextlib.suppress(psutil.Error):
            each.suspend()
    try:
        world.rest(long_enough(chance))
    finally:
        for each in reversed(processes):
            with contextlib.suppress(psutil.Error):
                each.resume()


@fault("freeze two workers for a moment", "workers")
def freeze_two(world: World, chance: random.Random) -> Iterator[str]:
    """For about as long as a lease or a session holds."""
    workers = chance.sample(world.pool.up, min(2, len(world.pool.up)))
    yield " and ".join(map(str, workers))
    for worker in workers:
        worker.signal(signal.SIGSTOP)
    world.rest(chance.uniform(1, 1.5 * SESSION_S))
    for worker in workers:
        worker.signal(signal.SIGCONT)


@fault("stop worker", "workers")
def stop_worker(world: World, chance: random.Random) -> Iterator[str]:
    worker = chance.choice(world.pool.up)
    yield str(worker)
    _end(worker)
    world.rest(chance.choice([0, 8]))
    worker.start()


@fault("rolling restart of workers", "workers")
def roll_workers(world: World, chance: random.Random) -> Iterator[str]:
    """As at an upgrade, in order or not."""
    yield "all workers"
    for worker in world.pool.up:
        if chance.random() < 0.3:
            worker.kill()
        else:
            _end(worker)
        worker.start()
        world.pool.until(lambda: worker.ready() or world.stopped.is_set(), f"{worker} is back", 120)  # noqa: B023


@fault("update of workers", "workers", wants="an older version")
def update_workers(world: World, chance: random.Random) -> Iterator[str]:
    """One worker after the other gets the new version; where all have it, the older one again.

    All has to run after each, so the pool is of two versions for a while, and works.
    """
    assert world.older is not None
    code = CHECKOUT if any(worker.code != CHECKOUT for worker in world.pool.workers) else world.older
    yield f"all workers, to the {'new' if code == CHECKOUT else 'older'} version"
    for worker in chance.sample(world.pool.workers, len(world.pool.workers)):
        _end(worker)
        worker.run_code(code)
        worker.start()
        world.pool.until(lambda: worker.ready() or world.stopped.is_set(), f"{worker} is back", 120)  # noqa: B023
        world.await_running(180)
        world.rest(chance.uniform(0, 6))


def _end(worker: ChaosWorker) -> None:
    """In good order. P11 bounds it: what takes longer than a minute is an error."""
    worker.stop(60)
