"""The network: between one worker and brokers, between workers, and to targets."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.chaos.suite.relay import FAIR, Relay, Weather
from tests.chaos.suite.world import World

from .fault import fault
from .processes import long_enough


def _weather(world: World, links: list[Relay], weather: Weather, seconds: float, *, reset: bool = False) -> None:
    for each in links:
        each.set(weather)
        if reset:
            each.reset()
    try:
        world.rest(seconds)
    finally:
        for each in links:
            each.set(FAIR)


@fault("worker cut from all brokers", "links")
def cut_worker(world: World, chance: random.Random) -> Iterator[str]:
    worker = chance.choice(world.pool.workers)
    yield str(worker)
    _weather(world, worker.brokers, Weather(refuses=True), long_enough(chance), reset=True)


@fault("worker cut from one broker", "links")
def cut_one(world: World, chance: random.Random) -> Iterator[str]:
    worker, node = chance.choice(world.pool.workers), chance.randrange(3)
    yield f"{worker} from broker {node + 1}"
    _weather(world, [worker.brokers[node]], Weather(refuses=True), long_enough(chance), reset=True)


@fault("half-open connections to brokers", "links")
def half_open(world: World, chance: random.Random) -> Iterator[str]:
    """Nothing moves and nobody hears of it. Afterwards packets flow again, or the connections turn out to be dead."""
    worker = chance.choice(world.pool.workers)
    links = worker.brokers if chance.random() < 0.6 else [chance.choice(worker.brokers)]
    yield f"{worker}, {len(links)} of 3 brokers"
    _weather(world, links, Weather(holds=True), long_enough(chance))
    if chance.random() < 0.5:
        for each in links:
            each.reset()


@fault("delay to brokers", "links")
def delay(world: World, chance: random.Random) -> Iterator[str]:
    worker, seconds = chance.choice(world.pool.workers), chance.choice([0.05, 0.2, 0.8])
    yield f"{worker}, {seconds:g} s each way"
    _weather(world, worker.brokers, Weather(delay=seconds), long_enough(chance))


@fault("loss to brokers", "links")
def loss(world: World, chance: random.Random) -> Iterator[str]:
    worker, share = chance.choice(world.pool.workers), chance.choice([0.05, 0.2, 0.5])
    yield f"{worker}, {share:.0%} of pieces"
    _weather(world, worker.brokers, Weather(loss=share), long_enough(chance))


@fault("connections to brokers reset", "links")
def reset(world: World, chance: random.Random) -> Iterator[str]:
    worker = chance.choice(world.pool.workers)
    yield str(worker)
    for _ in range(chance.randrange(3, 10)):
        for each in worker.brokers:
            each.reset()
        world.rest(chance.uniform(0.1, 2))


@fault("worker cut from the others", "links")
def cut_peers(world: World, chance: random.Random) -> Iterator[str]:
    """Brokers see it, so it stays a member; what others forward to it does not arrive."""
    worker = chance.choice(world.pool.workers)
    yield str(worker)
    weather = chance.choice([Weather(refuses=True), Weather(holds=True)])
    _weather(world, [worker.peers], weather, long_enough(chance), reset=weather.refuses)


@fault("target flapping", "targets", wants="a target")
def flapping(world: World, chance: random.Random) -> Iterator[str]:
    target = chance.choice(list(world.targets.all.values()))
    yield str(target)
    for _ in range(chance.randrange(3, 8)):
        _weather(world, [target.link], Weather(refuses=True), chance.uniform(0.3, 3), reset=True)
        world.rest(chance.uniform(0.2, 2))


@fault("target slow", "targets", wants="a target")
def slow_target(world: World, chance: random.Random) -> Iterator[str]:
    target = chance.choice(list(world.targets.all.values()))
    weather = chance.choice([Weather(delay=0.5), Weather(rate=8000), Weather(loss=0.3)])
    yield f"{target}, {weather}"
    _weather(world, [target.link], weather, 2 * long_enough(chance))


@fault("target half open", "targets", wants="a target")
def hold_target(world: World, chance: random.Random) -> Iterator[str]:
    target = chance.choice(list(world.targets.all.values()))
    yield str(target)
    _weather(world, [target.link], Weather(holds=True), long_enough(chance))
    if chance.random() < 0.5:
        target.link.reset()
