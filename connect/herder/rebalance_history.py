"""What rebalances of the group did, as one worker saw them: for whoever asks later why work moved.

Every worker knows what it got and what it gave up. The leader also knows the members and all assignments; its knowledge
ends with it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from connect.group import Memory, TaskId, Work, decode_assignment, decode_metadata
from connect.worker.lease import now

#: Rebalances that a worker remembers, and names that it remembers of each share of work: thousands of tasks may move.
KEPT: Final = 200
NAMES: Final = 20
#: Names that a leader remembers of all shares together, if there are that many: each worker tells of its own.
_NAMES_OF_ALL: Final = 100


@dataclass(frozen=True, slots=True)
class Moved:
    """Connectors and tasks that moved: how many, and the first names of both together, at most twenty."""

    connectors: int = 0
    tasks: int = 0
    first_connectors: tuple[str, ...] = ()
    first_tasks: tuple[TaskId, ...] = ()

    @classmethod
    def of(cls, work: Work, names: int = NAMES) -> Moved:
        """In the order of names, with at most so many."""
        connectors = tuple(sorted(work.connectors)[:names])
        tasks = tuple(sorted(work.tasks)[: names - len(connectors)])
        return cls(len(work.connectors), len(work.tasks), connectors, tasks)

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work of a worker that left, held back for it: until a moment in ms since the epoch."""

    worker: str
    work: Moved
    until: int


@dataclass(frozen=True, slots=True)
class Led:
    """What the leader knows of a rebalance. Workers are named by their ids: host and port.

    Attributes:
        members: of the group from now on.
        joined, left: who was not in the generation before, and who was. A worker in both was restarted, or was out of
            the group. A new leader does not know who joined (None), and knows of the former leader alone that it left.
        assigned, revoked: by members, without those to whom nothing happened.
        waiting: what is held back.
    """

    members: Sequence[str]
    joined: Sequence[str] | None
    left: Sequence[str]
    assigned: Mapping[str, Moved]
    revoked: Mapping[str, Moved]
    waiting: Sequence[Waiting]


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A completed rebalance.

    Attributes:
        generation: that began with it.
        leader: the leader's worker id.
        leader_member: the leader's id in the group, which no other member ever had: together with the generation it
            names this rebalance, at every worker.
        began, ended: in ms since the epoch.
        cause: why, as far as this worker knows: one of `connect.herder.rebalances.CAUSES`.
        reason: in words; empty where another worker began it.
        assigned, revoked: what this worker has now and had not before, and the reverse.
        led: where this worker leads.
    """

    generation: int
    leader: str
    leader_member: str
    began: int
    ended: int
    cause: str
    reason: str
    assigned: Moved
    revoked: Moved
    led: Led | None = None


@dataclass(frozen=True, slots=True)
class KnownMembers:
    """The members of the last generation that this worker knows: as its leader all of them, else the leader.

    Attributes:
        ids: worker ids by the members' ids in the group.
        complete: whether these are all.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True, slots=True)
class LedRound:
    """A round that this worker has led. It counts once the worker has its own assignment.

    Attributes:
        memory: for the next round.
        members: the id of each in the group, with its metadata as bytes.
        shares: the assignments, as bytes, by the same ids.
    """

    memory: Memory
    members: Sequence[tuple[str, bytes]]
    shares: Mapping[str, bytes]

    def known(self) -> KnownMembers:
        """Its members."""
        return KnownMembers({member: worker_id(decode_metadata(data).url) for member, data in self.members}, True)

    def compared_with(self, before: KnownMembers) -> Led:
        """What it did, after a generation with these members."""
        here = self.known().ids
        names = max(1, min(NAMES, _NAMES_OF_ALL // len(here)))
        shares = {here[member]: decode_assignment(data) for member, data in self.shares.items()}
        return Led(
            members=sorted(here.values()),
            joined=sorted(here[member] for member in here.keys() - before.ids.keys()) if before.complete else None,
            left=sorted(before.ids[member] for member in before.ids.keys() - here.keys()),
            assigned={worker: Moved.of(share.new, names) for worker, share in shares.items() if share.new},
            revoked={worker: Moved.of(share.revoked, names) for worker, share in shares.items() if share.revoked},
            waiting=[
                Waiting(worker_id(each.url), Moved.of(each.work), int((time.time() + each.until - now()) * 1000))
                for each in self.memory.absent
            ],
        )


def worker_id(url: str) -> str:
    """The id of a worker with this URL: http://host:8083/ is host:8083."""
    return url.partition("://")[2].rstrip("/")
