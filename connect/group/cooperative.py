"""Incremental cooperative rebalancing: members go on with what they have, and only what must move is stopped.

A rebalance takes two rounds. In the first the leader tells members what to stop; they stop it and join again. In the
second what is free is given out. What a worker had that is gone is held back for a while, because it may return.

Everything here is a pure function of what the members report, of what is configured, and of the leader's memory. The
memory never decides who owns something, only how long to wait and whom to prefer: without it more moves, that is all.

https://cwiki.apache.org/confluence/display/KAFKA/KIP-415%3A+Incremental+Cooperative+Rebalancing+in+Kafka+Connect
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from connect.group.balance import Loads
from connect.group.work import NOTHING, TaskId, Work

_FIRST_PAUSE: Final = 2.0  # seconds after the second rebalance in a row that takes work away; doubled after each more
_LONGEST_PAUSE: Final = 60.0
_CALM: Final = 60.0  # seconds without one, after which they are not in a row any more


@dataclass(frozen=True)
class Delays:
    """How long the work of a worker that is gone waits for it, in seconds. See docs/decisions/0005-rebalance-delay.md.

    Attributes:
        lost: after it vanished: its session ended without a word.
        stopped: after it stopped its work in good order, as it does when it is restarted.
    """

    lost: float = 5.0
    stopped: float = 30.0

    @classmethod
    def of(cls, scheduled_rebalance_max_delay_ms: int | None) -> Delays:
        """What the worker's key asks for: its value in both cases, or the defaults if nobody set it."""
        if scheduled_rebalance_max_delay_ms is None:
            return cls()
        seconds = scheduled_rebalance_max_delay_ms / 1000
        return cls(seconds, seconds)


@dataclass(frozen=True)
class Member:
    """A member of this round: its id, where its REST interface is, and all that it owns by its own account."""

    id: str
    url: str
    owned: Work = NOTHING


@dataclass(frozen=True)
class Absent:
    """Work held back until a moment, for a worker that is gone."""

    url: str
    work: Work
    until: float


@dataclass(frozen=True)
class Memory:
    """What a leader remembers from the last round that it led. A new leader begins with `Memory()`.

    Attributes:
        members: each member by its id, with what it owned after that round.
        absent: what is held back.
        revocations: how many rounds in a row took work away for the sake of balance.
        quiet_until: the moment before which no further one may.
        loads: what tasks cost, as far as members told; see `connect.group.assignor`.
    """

    members: Mapping[str, Member] = field(default_factory=dict)
    absent: tuple[Absent, ...] = ()
    revocations: int = 0
    quiet_until: float = 0.0
    loads: Mapping[TaskId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """What one member is told: what to start on top of what it has, after it has stopped what is revoked."""

    new: Work
    revoked: Work


@dataclass(frozen=True)
class Round:
    """The outcome.

    Attributes:
        shares: for each member by its id.
        delay: seconds until the group has to rebalance again without cause; 0 for never.
        memory: what to remember, once this round has come through.
    """

    shares: dict[str, Share]
    delay: float
    memory: Memory


def rebalance(
    members: Sequence[Member],
    connectors: Collection[str],
    tasks: Mapping[TaskId, float],
    memory: Memory,
    now: float,
    *,
    delays: Delays,
    stopped: Collection[str] = (),
    complete_at: float = math.inf,
) -> Round:
    """Lead one round.

    No two shares have the same in `new`, and none has in it what any member owns: that has to be stopped first.

    Args:
        members: all members of the group, at least one.
        connectors: the configured connectors.
        tasks: the configured tasks with their loads, in cores of CPU; 0 where nothing is known.
        memory: what the last round left.
        now: seconds on a clock that only goes forward.
        delays: how long work waits for a worker that is gone.
        stopped: URLs of workers that are known to have stopped all their work in good order.
        complete_at: the last moment at which the group is known to have been complete. Work of who vanished waits from
            then on: members notice a loss a heartbeat's interval late, and join one after another.
    """
    configured = Work.of(connectors, tasks)
    unwanted = {member.id: _unwanted(member, members, configured, memory) for member in members}
    kept = {member.id: member.owned - unwanted[member.id] for member in members}

    unowned = configured - _union(member.owned for member in members)
    gone = _gone(members, memory, now, delays, stopped, min(now, complete_at))
    left = [replace(each, work=each.work & unowned) for each in (*memory.absent, *gone)]  # the longest gone first
    waiting = [each for each in left if each.work]
    returned, absent = _welcome(members, unowned, waiting, memory, now)

    loads = Loads(tasks, kept)
    new = loads.place(unowned - _union(each.work for each in absent), returned)
    moved = loads.surplus(kept)
    paused = any(moved.values()) and now < memory.quiet_until
    if paused:
        moved = dict.fromkeys(moved, NOTHING)

    waits = [each.until - now for each in absent] + ([memory.quiet_until - now] if paused else [])
    after = {
        member.id: replace(member, owned=(kept[member.id] - moved[member.id]) | new[member.id]) for member in members
    }
    return Round(
        {each: Share(new[each], unwanted[each] | moved[each]) for each in after},
        min(waits, default=0.0),
        Memory(after, absent, *_pace(memory, any(moved.values()), now)),
    )


def _unwanted(member: Member, members: Sequence[Member], configured: Work, memory: Memory) -> Work:
    """What a member must stop in any case: what is not configured any more, and what others own as well.

    Of several owners the one that the leader gave it to goes on. The others are zombies: workers that lost their
    session and did not notice. If nobody is known to be the right one, any may have been fenced off: all of them stop.
    """
    elsewhere = _union(other.owned for other in members if other.id != member.id)
    return (member.owned - configured) | ((member.owned & elsewhere) - _given(member, memory))


def _given(member: Member, memory: Memory) -> Work:
    """What this member was given, as far as is known."""
    return memory.members[member.id].owned if member.id in memory.members else NOTHING


def _gone(
    members: Sequence[Member],
    memory: Memory,
    now: float,
    delays: Delays,
    stopped: Collection[str],
    complete_at: float,
) -> list[Absent]:
    """The workers that were there in the last round, and what they had."""
    present = {member.id for member in members}
    return [
        Absent(member.url, member.owned, now + delays.stopped if member.url in stopped else complete_at + delays.lost)
        for _, member in sorted(memory.members.items())
        if member.id not in present
    ]


def _welcome(
    members: Sequence[Member], unowned: Work, waiting: Sequence[Absent], memory: Memory, now: float
) -> tuple[dict[str, Work], tuple[Absent, ...]]:
    """What members get back, and who is still waited for.

    A member that gave up its work, say because it lost the coordinator for a while, gets it back. So does a worker that
    returns: it has a new member id, but its URL. A newcomer with nothing replaces a worker that does not return.
    """
    returned = {member.id: _given(member, memory) & unowned for member in members}
    newcomers = [member for member in sorted(members, key=lambda member: member.id) if member.id not in memory.members]
    left = list(waiting)
    for member in newcomers:
        for each in [each for each in left if each.url == member.url]:
            returned[member.id] |= each.work
            left.remove(each)
    left = [each for each in left if each.until > now]
    for member in newcomers:
        if left and not member.owned and not returned[member.id]:
            returned[member.id] = left.pop(0).work
    return returned, tuple(left)


def _pace(memory: Memory, moved: bool, now: float) -> tuple[int, float]:
    """How many rounds in a row took work away, and until when no other may."""
    if not moved:
        return memory.revocations, memory.quiet_until
    in_a_row = 1 if now > memory.quiet_until + _CALM else memory.revocations + 1
    pause = 0.0 if in_a_row == 1 else min(_FIRST_PAUSE * 2.0 ** min(in_a_row - 2, 16), _LONGEST_PAUSE)
    return in_a_row, now + pause


def _union(works: Iterable[Work]) -> Work:
    works = list(works)
    return Work(
        frozenset().union(*(work.connectors for work in works)), frozenset().union(*(work.tasks for work in works))
    )
