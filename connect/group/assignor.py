"""What the leader does when all members have joined: from their metadata to their assignments, as bytes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import cycle

from connect.group.cooperative import Delays, Member, Memory, rebalance
from connect.group.wire import (
    CONFIG_MISMATCH,
    EAGER,
    NO_ERROR,
    Assignment,
    Metadata,
    can_be_told,
    decode_metadata,
    encode_assignment,
)
from connect.group.work import NOTHING, TaskId, Work

_LONGEST_DELAY = 2**31 - 1  # milliseconds; what the wire can say


@dataclass(frozen=True)
class Configured:
    """The configured connectors and tasks, as far as the leader has read them.

    Attributes:
        offset: the offset after the last record that was read.
        connectors: all connectors.
        tasks: all tasks whose configuration is committed.
    """

    offset: int
    connectors: Collection[str]
    tasks: Collection[TaskId]

    def that_can_be_told(self) -> Configured:
        """Without connectors whose names fit into no assignment: nobody gets them, and they break nobody."""
        untold = {name for name in self.connectors if not can_be_told(name)}
        if not untold:
            return self
        connectors = [name for name in self.connectors if name not in untold]
        return Configured(self.offset, connectors, [task for task in self.tasks if task.connector not in untold])


def assign(
    protocol: str,
    leader: str,
    members: Iterable[tuple[str, bytes]],
    configured: Configured,
    memory: Memory,
    now: float,
    *,
    delays: Delays,
    stopped: Collection[str] = (),
    complete_at: float = math.inf,
) -> tuple[dict[str, bytes], Memory]:
    """Assign all that is configured, and fits into an assignment, to the members.

    If a member has read further than the leader, all get CONFIG_MISMATCH and nothing else, with the offset that
    everyone has to reach before joining again.

    Args:
        protocol: the one that the broker chose: "default", "compatible" or "sessioned".
        leader: the leader's member id; it is among the members.
        members: for each its id and its metadata.
        configured: what should run.
        memory: what `assign` returned for the last round, if that round completed and this worker led it too; otherwise
            `Memory()`, as after all work has been stopped for "default", or what `Memory.of_stopped` knows.
        now: seconds on a monotonic clock.
        delays: how long the work of a lost worker waits for it.
        stopped: URLs of workers that are known to have stopped all their work before they left. A worker writes
            UNASSIGNED to the status topic for what it stops.
        complete_at: see `connect.group.cooperative.rebalance`.

    Returns:
        For each member the bytes of its assignment; and the memory for the next round, once this one has completed.
    """
    configured = configured.that_can_be_told()
    metadata = {member: decode_metadata(data) for member, data in members}
    leader_url = metadata[leader].url
    furthest = max(each.offset for each in metadata.values())
    if furthest > configured.offset:
        refusal = encode_assignment(Assignment(CONFIG_MISMATCH, leader, leader_url, furthest), protocol)
        return dict.fromkeys(metadata, refusal), memory
    if protocol == EAGER:
        if memory.members:
            # The last round was under another protocol, so everybody still has its work. It stops it, and joins again.
            dealt = dict.fromkeys(metadata, NOTHING)
        else:
            dealt = deal(metadata, configured.connectors, configured.tasks)
        return {
            member: encode_assignment(Assignment(NO_ERROR, leader, leader_url, configured.offset, work), protocol)
            for member, work in dealt.items()
        }, Memory()
    loads = _loads(configured.tasks, metadata.values(), memory)
    outcome = rebalance(
        [Member(member, each.url, each.owned) for member, each in metadata.items()],
        configured.connectors,
        {task: loads.get(task, 0.0) for task in configured.tasks},
        memory,
        now,
        delays=delays,
        stopped=stopped,
        complete_at=complete_at,
    )
    delay = min(math.ceil(outcome.delay * 1000), _LONGEST_DELAY)
    return {
        member: encode_assignment(
            Assignment(NO_ERROR, leader, leader_url, configured.offset, share.new, share.revoked, delay), protocol
        )
        for member, share in outcome.shares.items()
    }, replace(outcome.memory, loads=loads)


def _loads(tasks: Collection[TaskId], members: Iterable[Metadata], memory: Memory) -> dict[TaskId, float]:
    """The load of tasks, as their members measured it last. Missing ones are unknown.

    A task that has moved is not measured yet, and nobody reports one without an owner: their last loads are kept.
    """
    loads = dict(memory.loads)
    for member in members:
        loads |= {task: load for task, load in member.loads.items() if task in member.owned.tasks}
    configured = set(tasks)
    return {task: load for task, load in loads.items() if task in configured}


def deal(members: Collection[str], connectors: Collection[str], tasks: Collection[TaskId]) -> dict[str, Work]:
    """Eager assignment: distribute everything again, round robin, so that counts differ by one at most.

    Connectors and then tasks are assigned in their order to members in theirs.
    """
    connectors_of: dict[str, list[str]] = {member: [] for member in members}
    tasks_of: dict[str, list[TaskId]] = {member: [] for member in members}
    turn = cycle(sorted(members))
    for connector in sorted(connectors):
        connectors_of[next(turn)].append(connector)
    for task in sorted(tasks):
        tasks_of[next(turn)].append(task)
    return {member: Work.of(connectors_of[member], tasks_of[member]) for member in members}
