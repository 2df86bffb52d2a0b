"""Eager assignment: everybody has stopped everything, and all work is dealt out afresh, round robin."""

from __future__ import annotations

from collections.abc import Collection
from itertools import cycle

from connect.group.work import TaskId, Work


def deal(members: Collection[str], connectors: Collection[str], tasks: Collection[TaskId]) -> dict[str, Work]:
    """Deal connectors and then tasks in their order to members in theirs, so that counts differ by one at most."""
    connectors_of: dict[str, list[str]] = {member: [] for member in members}
    tasks_of: dict[str, list[TaskId]] = {member: [] for member in members}
    turn = cycle(sorted(members))
    for connector in sorted(connectors):
        connectors_of[next(turn)].append(connector)
    for task in sorted(tasks):
        tasks_of[next(turn)].append(task)
    return {member: Work.of(connectors_of[member], tasks_of[member]) for member in members}
