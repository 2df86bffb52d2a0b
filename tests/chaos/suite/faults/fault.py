"""What a fault is, and the list of all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from tests.chaos.suite.world import World

Act = Callable[[World, random.Random], Iterator[str]]


class Fault(NamedTuple):
    """One kind of fault.

    Attributes:
        kind: its name.
        act: does it: yields whom it meets once it has chosen; by its end it is undone.
        on: what it disturbs; two faults that disturb the same do not come at a time.
        wants: a flow or a target without which there is nothing to do.
    """

    kind: str
    act: Act
    on: str
    wants: str = ""


FAULTS: Final[dict[str, Fault]] = {}


def fault(kind: str, on: str, wants: str = "") -> Callable[[Act], Act]:
    """Add a fault to the list."""

    def add(act: Act) -> Act:
        FAULTS[kind] = Fault(kind, act, on, wants)
        return act

    return add


def possible(world: World) -> list[Fault]:
    """Those for which this run has what they want."""
    there = {"", *world.flows, *world.targets.all}
    if any(target.server for target in world.targets.all.values()):
        there.add("a server")
    if world.targets.all:
        there.add("a target")
    if any(flow.on_spark for flow in world.flows.values()):
        there.add("Spark")
    if world.older is not None:
        there.add("an older version")
    return [each for each in FAULTS.values() if each.wants in there]
