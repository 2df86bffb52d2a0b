"""Incremental cooperative rebalancing: members keep what they have, and only what must move is stopped.

A rebalance takes two rounds. In the first the leader tells members what to stop; they stop it and join again. In the
second free work is assigned. The work of a lost worker is held back for a while, because it may return.

Everything here is a pure function of what the members report, of what is configured, and of the leader's memory. The
memory never decides who owns something, only how long to wait and whom to prefer: without it merely more moves.

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
    """How long the work of a lost worker waits for it, in seconds. See docs/decisions/0005-rebalance-delay.md.

    Attributes:
        lost: after it vanished: its session expired.
        stopped: after it stopped its work before it left, as in a restart.
    """

    lost: float = 5.0
    stopped: float = 30.0

    @classmethod
    def of(cls, scheduled_rebalance_max_delay_ms: int | None) -> Delays:
        """From the worker's key: its value in both cases, or the defaults if it is not set."""
        if scheduled_rebalance_max_delay_ms is None:
            return cls()
        seconds = scheduled_rebalance_max_delay_ms / 1000
        return cls(seconds, seconds)


@dataclass(frozen=True)
class Member:
    """A member of this round: its id, the URL of its REST interface, and all that it reports to own."""

    id: str
    url: str
    owned: Work = NOTHING


@dataclass(frozen=True)
class Absent:
    """Work held back until a moment, for a lost worker."""

    url: str
    work: Work
    until: float


@dataclass(frozen=True)
class Memory:
    """What a leader keeps of the last round that it led. A new leader begins with `Memory()`, or with `of_stopped`.

    Attributes:
        members: each member by its id, with what it owned after that round.
        absent: what is held back.
        revocations: how many rounds in a row revoked work for balance.
        quiet_until: the moment before which no further one may.
        loads: of tasks, as far as members reported; see `connect.group.assignor`.
    """

    members: Mapping[str, Member] = field(default_factory=dict)
    absent: tuple[Absent, ...] = ()
    revocations: int = 0
    quiet_until: float = 0.0
    loads: Mapping[TaskId, float] = field(default_factory=dict)

    @classmethod
    def of_stopped(cls, workers: Mapping[str, Work]) -> Memory:
        """What is known of the last round without having led it: who stopped since, by its URL, and what it had."""
        return cls({url: Member(url, url, work) for url, work in workers.items()})


@dataclass(frozen=True)
class Share:
    """One member's assignment: what to start on top of what it has, after it has stopped what is revoked."""

    new: Work
    revoked: Work


@dataclass(frozen=True)
class Round:
    """The outcome.

    Attributes:
        shares: for each member by its id.
        delay: seconds until the group has to rebalance again without other cause; 0 for never.
        memory: for the next round, once this one has completed.
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
        tasks: the configured tasks with their loads, in cores of CPU; 0 where unknown.
        memory: of the last round.
        now: seconds on a monotonic clock.
        delays: how long the work of a lost worker waits for it.
        stopped: URLs of workers that are known to have stopped all their work before they left.
        complete_at: the last moment at which the group is known to have been complete. Work of lost workers waits from
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
    """What a member must stop in any case: what is no longer configured, and what others own as well.

    Of several owners the one that the leader gave it to continues. The others are zombies: workers that lost their
    session and did not notice. If the right one is unknown, any may have been fenced: all of them stop.
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
    """The workers of the last round that are missing now, and what they had."""
    present = {member.id for member in members}
    return [
        Absent(member.url, member.owned, now + delays.stopped if member.url in stopped else complete_at + delays.lost)
        for _, member in sorted(memory.members.items())
        if member.id not in present
    ]


def _welcome(
    members: Sequence[Member], unowned: Work, waiting: Sequence[Absent], memory: Memory, now: float
) -> tuple[dict[str, Work], tuple[Absent, ...]]:
    """What members get back, and which workers are still waited for.

    A member that gave up its work, say because it lost the coordinator for a while, gets it back. So does a worker that
    returns: it has a new member id, but its URL. A newcomer without work replaces a worker that does not return.
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
    """How many rounds in a row revoked work, and until when no other may."""
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
