"""Servers of targets, disks without room, clocks that jump."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

from tests.chaos.suite.world import World

from .fault import fault
from .processes import long_enough


@fault("kill target", "targets", wants="a server")
def kill_target(world: World, chance: random.Random) -> Iterator[str]:
    target = chance.choice([each for each in world.targets.all.values() if each.server])
    yield str(target)
    assert target.server is not None
    target.server.kill()
    world.rest(chance.choice([0, 8]))
    target.server.start()


@fault("freeze target", "targets", wants="a server")
def freeze_target(world: World, chance: random.Random) -> Iterator[str]:
    target = chance.choice([each for each in world.targets.all.values() if each.server])
    yield str(target)
    target.signal(signal.SIGSTOP)
    try:
        world.rest(long_enough(chance))
    finally:
        target.signal(signal.SIGCONT)


@fault("disk of the store full", "targets", wants="s3")
def fill_store(world: World, chance: random.Random) -> Iterator[str]:
    target = world.targets.all["s3"]
    yield str(target)
    target.fill_disk(True)
    try:
        world.rest(long_enough(chance))
    finally:
        target.fill_disk(False)


@fault("disk of a worker full", "disks")
def fill_worker(world: World, chance: random.Random) -> Iterator[str]:
    """Each worker's, as the file of the file sink may be written by any: one disk for all."""
    yield "all workers"
    for worker in world.pool.workers:
        worker.fill_disk(True)
    try:
        world.rest(long_enough(chance))
    finally:
        for worker in world.pool.workers:
            worker.fill_disk(False)


@fault("clock jump", "clocks")
def jump(world: World, chance: random.Random) -> Iterator[str]:
    """Of one worker and its tasks. Beyond an hour ahead brokers refuse its timestamps."""
    worker = chance.choice(world.pool.workers)
    seconds = chance.choice([-86400.0, -600.0, 300.0, 7200.0])
    yield f"{worker}, {seconds:+g} s"
    worker.jump(seconds)
    try:
        world.rest(2 * long_enough(chance))
    finally:
        worker.jump(0)
