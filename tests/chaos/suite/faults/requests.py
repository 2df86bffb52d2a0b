"""What users do meanwhile, by REST: configurations changed, connectors paused, stopped, restarted, offsets set back."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.chaos.suite.flows.flow import SinkFlow
from tests.chaos.suite.world import World

from .fault import fault

#: By how many records offsets are set back.
BACK = 40


@fault("configuration changed", "requests")
def change(world: World, chance: random.Random) -> Iterator[str]:
    name = chance.choice(sorted(world.flows))
    yield name
    config = world.configs[name]
    config["errors.log.enable"] = "false" if config.get("errors.log.enable") == "true" else "true"
    world.request("PUT", f"/connectors/{name}/config", config)


@fault("connector paused", "requests")
def pause(world: World, chance: random.Random) -> Iterator[str]:
    name = chance.choice(sorted(set(world.flows) - {"short-lived", "compacted"}))
    yield name
    world.request("PUT", f"/connectors/{name}/pause")
    world.rest(chance.uniform(0, 8))
    world.request("PUT", f"/connectors/{name}/resume")


@fault("connector stopped", "requests")
def stop(world: World, chance: random.Random) -> Iterator[str]:
    name = chance.choice(sorted(set(world.flows) - {"short-lived", "compacted"}))
    yield name
    world.request("PUT", f"/connectors/{name}/stop")
    world.rest(chance.uniform(0, 8))
    world.request("PUT", f"/connectors/{name}/resume")


@fault("connector restarted", "requests")
def restart(world: World, chance: random.Random) -> Iterator[str]:
    name = chance.choice(sorted(world.flows))
    yield name
    world.request("POST", f"/connectors/{name}/restart?includeTasks=true")


@fault("offsets of a sink set back", "requests")
def back(world: World, chance: random.Random) -> Iterator[str]:
    """Records from there on come again, and only those may."""
    names = [name for name in ("http-sink", "notes-sink", "jdbc-sink", "delta-sink") if name in world.flows]
    if not names:
        yield "none"
        return
    flow = world.flows[chance.choice(names)]
    assert isinstance(flow, SinkFlow)
    yield flow.name
    world.request("PUT", f"/connectors/{flow.name}/stop")
    try:
        world.await_state(flow.name, "STOPPED")
        found = world.request("GET", f"/connectors/{flow.name}/offsets")["offsets"]
        if found:
            each = chance.choice(found)
            partition, offset = int(each["partition"]["kafka_partition"]), int(each["offset"]["kafka_offset"])
            low = max(0, offset - chance.randrange(1, BACK))
            each["offset"]["kafka_offset"] = low
            places = flow.places().items()
            flow.excused_repeated |= {n for n, place in places if place[0] == partition and place[1] >= low}
            world.request("PATCH", f"/connectors/{flow.name}/offsets", {"offsets": [each]})
    finally:
        world.request("PUT", f"/connectors/{flow.name}/resume")


@fault("offsets of a source set back", "requests", wants="numbers")
def back_source(world: World, chance: random.Random) -> Iterator[str]:
    flow = world.flows["numbers"]
    yield flow.name
    world.request("PUT", f"/connectors/{flow.name}/stop")
    try:
        world.await_state(flow.name, "STOPPED")
        found = world.request("GET", f"/connectors/{flow.name}/offsets")["offsets"]
        if found:
            (each,) = found
            following = int(each["offset"]["next"])
            low = max(0, following - chance.randrange(1, BACK))
            flow.excused_repeated |= set(range(low, following + 1))
            world.request("PATCH", f"/connectors/{flow.name}/offsets", {"offsets": [{**each, "offset": {"next": low}}]})
    finally:
        world.request("PUT", f"/connectors/{flow.name}/resume")
