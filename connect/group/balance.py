"""How much each member carries: connectors by their number, tasks by their weights, each balanced by itself."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Final, TypeVar

from connect.group.work import TaskId, Work

Item = TypeVar("Item", bound=Hashable)
# A task moves only if the difference is so many times its weight. With equal weights: if it is 2 or more. With measured
# ones, which are never quite the same, small differences move nothing.
_WORTH_MOVING: Final = 1.5


class Loads:
    """The loads of members, with which `place` and then `surplus` reckon.

    Args:
        weights: the weight of each configured task, above 0.
        kept: what each member has to begin with.
    """

    def __init__(self, weights: Mapping[TaskId, float], kept: Mapping[str, Work]) -> None:
        self._weights = weights
        self._connectors = {member: float(len(work.connectors)) for member, work in kept.items()}
        self._tasks = {member: float(sum(weights[task] for task in work.tasks)) for member, work in kept.items()}

    def place(self, free: Work, returned: Mapping[str, Work]) -> dict[str, Work]:
        """Give out what is free: to whom it returns, the rest to whoever has least."""
        new = {member: returned[member] & free for member in self._connectors}
        for member, work in new.items():
            self._connectors[member] += len(work.connectors)
            self._tasks[member] += sum(self._weights[task] for task in work.tasks)
            free -= work
        connectors: dict[str, set[str]] = {member: set() for member in new}
        for connector in sorted(free.connectors):
            member = min(self._connectors, key=lambda member: (self._connectors[member], self._tasks[member], member))
            self._connectors[member] += 1
            connectors[member].add(connector)
        tasks: dict[str, set[TaskId]] = {member: set() for member in new}
        for task in sorted(free.tasks, key=lambda task: (-self._weights[task], task)):
            member = min(self._tasks, key=lambda member: (self._tasks[member], self._connectors[member], member))
            self._tasks[member] += self._weights[task]
            tasks[member].add(task)
        return {member: work | Work.of(connectors[member], tasks[member]) for member, work in new.items()}

    def surplus(self, kept: Mapping[str, Work]) -> dict[str, Work]:
        """What members have to give away of what they had, until all carry about the same."""
        connectors = _surplus(
            self._connectors, {member: work.connectors for member, work in kept.items()}, lambda _: 1.0
        )
        tasks = _surplus(self._tasks, {member: work.tasks for member, work in kept.items()}, self._weights.__getitem__)
        return {member: Work.of(connectors[member], tasks[member]) for member in kept}


def _surplus(
    loads: dict[str, float], kept: Mapping[str, Collection[Item]], weight: Callable[[Item], float]
) -> dict[str, list[Item]]:
    """Move from the heaviest that has something to give to the lightest, as long as that is worth it."""
    stacks = {member: sorted((weight(item), str(item), item) for item in items) for member, items in kept.items()}
    moved: dict[str, list[Item]] = {member: [] for member in kept}
    while True:
        to = min(loads, key=lambda member: (loads[member], member))
        for giver in sorted(loads, key=lambda member: (-loads[member], member)):
            difference = loads[giver] - loads[to]
            # The one that comes nearest to half of the difference, from below if it can be.
            at = max(bisect_left(stacks[giver], (difference / 2, "\U0010ffff")) - 1, 0)
            if at < len(stacks[giver]) and stacks[giver][at][0] * _WORTH_MOVING < difference:
                break
        else:
            return moved
        moving, _, item = stacks[giver].pop(at)
        loads[giver] -= moving
        loads[to] += moving
        moved[giver].append(item)
