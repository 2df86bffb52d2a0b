"""Balances the load: connectors and tasks by their number first, then tasks by their load as well.

Numbers differ by one at most, as in Kafka Connect: a task costs memory even when it is idle. Which tasks a member has
is chosen so that loads are even too; but a running task is moved for its load only where that is worth a restart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from connect.group.work import TaskId, Work

#: Loads are cores of CPU. A difference between two members moves nothing unless it is half a core, and two fifths of
#: what a member carries on average: measured loads are never quite the same twice.
WORTH_MOVING: Final = 0.5
WORTH_MOVING_SHARE: Final = 0.4
#: Shares of that: the difference at which it is enough, and by how much each exchange has to make it smaller.
_ENOUGH: Final = 0.5
_LEAST: Final = 0.4
#: Of all tasks at most this share, and so many, are exchanged for others in one round.
_AT_ONCE: Final = (0.1, 20)
_LAST = "\U0010ffff"


class _Exchange(NamedTuple):
    """What a member gives, and what it gets in return, if anything; and the remaining difference."""

    left: float
    giver: str
    taker: str
    given: TaskId
    taken: TaskId | None


class Loads:
    """The loads of members, for `place` and `surplus`.

    Args:
        loads: of each configured task, 0 or more; 0 where unknown.
        kept: what each member has at the beginning.
    """

    def __init__(self, loads: Mapping[TaskId, float], kept: Mapping[str, Work]) -> None:
        self._load_of = loads
        self._connectors = {member: len(work.connectors) for member, work in kept.items()}
        self._tasks = {member: len(work.tasks) for member, work in kept.items()}
        self._loads = {member: sum(loads[task] for task in sorted(work.tasks)) for member, work in kept.items()}

    def place(self, free: Work, returned: Mapping[str, Work]) -> dict[str, Work]:
        """Assign free work: to its previous owner if it returns, the rest to the member with least."""
        new = {member: returned[member] & free for member in self._connectors}
        for member, work in new.items():
            self._connectors[member] += len(work.connectors)
            self._tasks[member] += len(work.tasks)
            self._loads[member] += sum(self._load_of[task] for task in sorted(work.tasks))
            free -= work
        connectors: dict[str, set[str]] = {member: set() for member in new}
        for connector in sorted(free.connectors):
            member = min(self._connectors, key=lambda member: (self._connectors[member], self._tasks[member], member))
            self._connectors[member] += 1
            connectors[member].add(connector)
        tasks: dict[str, set[TaskId]] = {member: set() for member in new}
        level = self._level(len(free.tasks))
        more = len(free.tasks) - sum(max(0, level - count) for count in self._tasks.values())
        # The heaviest first, each to who carries least. All get as many as there are for all, some one more.
        for task in sorted(free.tasks, key=lambda task: (-self._load_of[task], task)):
            most = level if more else level - 1
            member = min((member for member, count in self._tasks.items() if count <= most), key=self._order)
            more -= self._tasks[member] == level
            self._add(member, task)
            tasks[member].add(task)
        return {member: work | Work.of(connectors[member], tasks[member]) for member, work in new.items()}

    def surplus(self, kept: Mapping[str, Work]) -> dict[str, Work]:
        """What members have to give up of what they had, until all have about the same."""
        connectors = _even_out(self._connectors, {member: sorted(work.connectors) for member, work in kept.items()})
        stacks = {
            member: sorted((self._load_of[task], str(task), task) for task in work.tasks)
            for member, work in kept.items()
        }
        tasks = self._even_counts(stacks)
        for member, given in self._even_loads(stacks).items():
            tasks[member] |= given
        return {member: Work.of(connectors[member], tasks[member]) for member in kept}

    def _order(self, member: str) -> tuple[float, int, int, str]:
        return self._loads[member], self._tasks[member], self._connectors[member], member

    def _add(self, member: str, task: TaskId, sign: int = 1) -> None:
        self._tasks[member] += sign
        self._loads[member] += sign * self._load_of[task]

    def _level(self, count: int) -> int:
        """The minimum number of tasks of a member, when this many more are given to those with fewest."""
        counts = sorted(self._tasks.values())
        for filled, higher in enumerate(counts[1:], 1):
            missing = (higher - counts[filled - 1]) * filled
            if missing > count:
                return counts[filled - 1] + count // filled
            count -= missing
        return counts[-1] + count // len(counts)

    def _even_counts(self, stacks: Mapping[str, list[tuple[float, str, TaskId]]]) -> dict[str, set[TaskId]]:
        """Have members with more tasks than others give some up; which, is decided by their loads."""
        moved: dict[str, set[TaskId]] = {member: set() for member in stacks}
        while True:
            to = min(self._tasks, key=lambda member: (self._tasks[member], *self._order(member)))
            for giver in sorted(self._tasks, key=lambda member: (-self._tasks[member], -self._loads[member], member)):
                if stacks[giver] and self._tasks[giver] - self._tasks[to] >= 2:
                    break
            else:
                return moved
            gap = self._loads[giver] - self._loads[to]
            _, _, task = stacks[giver].pop(_nearest(stacks[giver], gap / 2))
            self._add(giver, task, -1)
            self._add(to, task)
            moved[giver].add(task)

    def _even_loads(self, stacks: Mapping[str, list[tuple[float, str, TaskId]]]) -> dict[str, set[TaskId]]:
        """Have members with much higher loads exchange tasks with others, without changing the numbers."""
        moved: dict[str, set[TaskId]] = {member: set() for member in stacks}
        average = sum(self._loads.values()) / max(1, len(self._loads))
        worth = max(WORTH_MOVING, WORTH_MOVING_SHARE * average)
        if max(self._loads.values()) - min(self._loads.values()) < worth:
            return moved
        # Once at it, thoroughly: a little more of a difference must not begin it again.
        enough, least = worth * _ENOUGH, worth * _LEAST
        share, most = _AT_ONCE
        for _ in range(min(most, max(1, int(share * sum(self._tasks.values()))))):
            exchange = self._best_exchange(stacks, enough, least)
            if exchange is None:
                break
            _, giver, taker, given, taken = exchange
            for member, other, task in ((giver, taker, given), (taker, giver, taken)):
                if task is not None:
                    stacks[member].remove((self._load_of[task], str(task), task))
                    self._add(member, task, -1)
                    self._add(other, task)
                    moved[member].add(task)
        return moved

    def _best_exchange(
        self, stacks: Mapping[str, list[tuple[float, str, TaskId]]], enough: float, least: float
    ) -> _Exchange | None:
        giver = max(self._loads, key=lambda member: (self._loads[member], member))
        for taker in sorted(self._loads, key=self._order):
            gap = self._loads[giver] - self._loads[taker]
            if gap < enough:
                return None
            found = self._exchanges(stacks, giver, taker, gap)
            best = min(found, key=lambda each: (each.left, each.taken is not None, each.given), default=None)
            if best is not None and gap - best.left >= least:
                return best
        return None

    def _exchanges(
        self, stacks: Mapping[str, Sequence[tuple[float, str, TaskId]]], giver: str, taker: str, gap: float
    ) -> list[_Exchange]:
        found = []
        for load, _, task in stacks[giver]:
            if self._tasks[giver] > self._tasks[taker]:
                found.append(_Exchange(abs(gap - 2 * load), giver, taker, task, None))
            if stacks[taker]:
                other, _, taken = stacks[taker][_nearest(stacks[taker], load - gap / 2)]
                found.append(_Exchange(abs(gap - 2 * (load - other)), giver, taker, task, taken))
        return [exchange for exchange in found if exchange.left < gap]


def _nearest(stack: Sequence[tuple[float, str, TaskId]], load: float) -> int:
    """The position of the load nearest to this, from below if possible."""
    return max(bisect_left(stack, (load, _LAST)) - 1, 0)


def _even_out(counts: dict[str, int], kept: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Move connectors from the member with most that can give to the one with least, until they differ by one."""
    stacks = {member: list(items) for member, items in kept.items()}
    moved: dict[str, list[str]] = {member: [] for member in kept}
    while True:
        to = min(counts, key=lambda member: (counts[member], member))
        for giver in sorted(counts, key=lambda member: (-counts[member], member)):
            if stacks[giver] and counts[giver] - counts[to] >= 2:
                break
        else:
            return moved
        moved[giver].append(stacks[giver].pop())
        counts[giver] -= 1
        counts[to] += 1
