"""Brokers: killed, stopped, frozen, without room, one after the other. At most one is away at a time."""

from __future__ import annotations

import contextlib
import random
import resource
import signal
from collections.abc import Iterator

import psutil

from tests.chaos.suite.world import World
from tests.support.processes import gone

from .fault import fault
from .processes import long_enough


@fault("kill broker", "brokers")
def kill_broker(world: World, chance: random.Random) -> Iterator[str]:
    node = chance.choice(world.brokers.nodes)
    yield str(node)
    node.kill()
    world.rest(chance.choice([0, 5, 15]))
    node.start()


@fault("freeze broker", "brokers")
def freeze_broker(world: World, chance: random.Random) -> Iterator[str]:
    """Longer than its session with the controller: it comes back and is no leader any longer."""
    node = chance.choice(world.brokers.nodes)
    yield str(node)
    node.signal(signal.SIGSTOP)
    try:
        world.rest(long_enough(chance))
    finally:
        node.signal(signal.SIGCONT)


@fault("slow broker", "brokers")
def slow_broker(world: World, chance: random.Random) -> Iterator[str]:
    """One whose disk cannot be written now and then."""
    node = chance.choice(world.brokers.nodes)
    yield str(node)
    for _ in range(chance.randrange(5, 15)):
        node.signal(signal.SIGSTOP)
        try:
            world.rest(chance.uniform(0.2, 1.5))
        finally:
            node.signal(signal.SIGCONT)
        world.rest(chance.uniform(0.05, 0.3))


@fault("rolling restart of brokers", "brokers")
def roll_brokers(world: World, chance: random.Random) -> Iterator[str]:
    """The next one goes when the one before has its copies again, as in an upgrade that is done well."""
    yield "all brokers"
    for node in world.brokers.nodes:
        node.stop()
        node.start()
        world.rest(chance.uniform(6, 10))


@fault("disk of a broker full", "brokers")
def fill_broker(world: World, chance: random.Random) -> Iterator[str]:
    """Its files may not grow. Kafka ends when its only log directory fails."""
    node = chance.choice(world.brokers.nodes)
    yield str(node)
    pid = node.pid
    with contextlib.suppress(psutil.Error):
        psutil.Process(pid).rlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    gone([pid], within=chance.uniform(5, 20))
    if node.alive:
        node.kill()
    node.start()
