"""The checks of `checks`, put to a flow: some while faults go on, all in the end."""

from __future__ import annotations

from tests.chaos.suite import checks
from tests.chaos.suite.checks import Problem
from tests.chaos.suite.flows.flow import Flow, SinkFlow, SourceFlow
from tests.chaos.suite.flows.passing import Compacted
from tests.chaos.suite.world import World

#: How long the reader of what sources wrote may take to see what was stored as written, in seconds.
READER_S = 30.0


def meanwhile(world: World, flow: Flow) -> list[Problem]:
    """What is committed is in the target, and nothing is there twice that may not be.

    Raises:
        Exception: what clients raise while a target or brokers are away.
    """
    problems = []
    if isinstance(flow, SinkFlow):
        committed = world.topics.committed(flow.group, flow.feed.topic, flow.feed.partitions)
        places = flow.places()
        arrived = flow.arrived()
        # The reader of dead letters comes later than they do: whether one is missing shows in the end.
        excused = flow.excused_lost | flow.poison()
        problems += checks.ahead(flow.name, committed, places, arrived, excused)
    elif isinstance(flow, SourceFlow):
        before = flow.before(world.request("GET", f"/connectors/{flow.name}/offsets", within=10))
        arrived = flow.arrived()
        if before is not None:
            deadline = world.timeline.now() + READER_S
            while not set(range(before)) <= set(arrived) and world.timeline.now() < deadline:
                world.rest(1)
                arrived = flow.arrived()
            places = {number: (0, number) for number in range(before)}
            problems += checks.ahead(flow.name, {0: before}, places, arrived)
    else:
        arrived = flow.arrived()
    if flow.once:
        problems += checks.repeated(flow.name, arrived, flow.excused_repeated)
    return problems


def waits(flow: Flow) -> bool:
    """Whether something is still under way."""
    try:
        if not set(flow.written()) <= set(flow.arrived()) | flow.excused_lost:
            return True
        return isinstance(flow, SinkFlow) and not flow.poison() <= set(flow.dead())
    except Exception:  # its target is on its way up
        return True


def finally_(flow: Flow) -> list[Problem]:
    """Everything that has to hold when no more is under way."""
    written, arrived = flow.written(), flow.arrived()
    problems = checks.lost(flow.name, written, arrived, flow.excused_lost)
    if not isinstance(flow, Compacted):
        problems += checks.invented(flow.name, written, arrived)
    if flow.once:
        problems += checks.repeated(flow.name, arrived, flow.excused_repeated)
    if flow.ordered:
        once = flow.once and not flow.excused_repeated
        expected = set(written) - flow.excused_lost
        places = {n: place for n, place in flow.places().items() if n in expected}
        problems += checks.order(flow.name, arrived, places, once=once)
    if isinstance(flow, SinkFlow):
        missing = flow.poison() - set(flow.dead())
        if missing:
            problems.append(Problem("letters", flow.name, f"no dead letter for {checks.few(missing)}"))
    marks = getattr(flow, "marks", None)
    if marks is not None:
        for task, noted in marks().items():
            problems += checks.owners(f"{flow.name}-{task}", noted)
    return problems
