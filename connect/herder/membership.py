"""Which of the configured connectors and tasks this worker owns: a group decides, or it owns them all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from connect.group import TaskId, Work
from connect.herder.rebalances import Rebalances
from connect.peers import PeerClient
from connect.storage.config_log import ConfigLog


@dataclass(frozen=True, slots=True)
class Role:
    """This worker's role in the group, from its last assignment.

    Attributes:
        leader: whether it leads.
        leader_url: of the leader's REST interface; empty before the first assignment.
        protocol: what the group speaks.
        generation: of the group; below 0 outside of it.
        since: the first generation from which it has led, or not led, without a break.
    """

    leader: bool = False
    leader_url: str = ""
    protocol: str = ""
    generation: int = -1
    since: int = -1


class WorkListener(Protocol):
    """Starts and stops work as the group assigns it, and reports what the group has to know for it."""

    def start(self, work: Work) -> None:
        """A generation has begun, with this new work: have it started, without waiting for it."""

    def stop(self, work: Work) -> None:
        """Stop work that this worker no longer owns, and return when it has ended. Errors are handled inside."""

    def loads(self) -> Mapping[TaskId, float]:
        """The CPU of this worker's tasks, in cores, as far as it was measured."""

    def stopped_workers(self) -> Mapping[str, Work]:
        """The URLs of workers that have stopped all their work before they left, with that work."""


class Membership(Protocol):
    """What this worker owns, and until when. Safe to use from many threads.

    Attributes:
        shared: whether there may be other workers, which own what this one does not, and are asked over REST.
        measured: its own metrics, and the rebalances that it took part in.
        peers: asks other workers.
    """

    shared: bool
    peers: PeerClient

    @property
    def measured(self) -> Sequence[Rebalances]: ...

    @property
    def owned(self) -> Work:
        """What this worker owns now."""

    @property
    def role(self) -> Role:
        """Its role in the group."""

    @property
    def has_joined(self) -> bool:
        """Whether it was ever in the group."""

    def live(self) -> bool:
        """Whether the ownership is certain at this moment."""

    def live_until(self) -> float:
        """Until when the ownership is certain, by `connect.worker.lease.now`."""

    def join(self, listener: WorkListener) -> None:
        """Join the group. Raises ConnectError when no broker answers or one refuses the login."""

    def leave(self, within: float) -> None:
        """Leave the group, within this many seconds; what was owned has been stopped before."""

    def rebalance(self, reason: str, cause: str = "configuration") -> None:
        """Have the work distributed again. The cause is one of `connect.herder.rebalances.CAUSES`."""


class Alone:
    """A worker without others: it leads, and owns what is configured as soon as it is written.

    Args:
        config: what is configured.
    """

    shared = False
    peers = PeerClient()
    measured: Sequence[Rebalances] = ()
    role = Role(leader=True, generation=0)
    has_joined = True

    def __init__(self, config: ConfigLog) -> None:
        self._config = config

    @property
    def owned(self) -> Work:
        """Everything."""
        state = self._config.state
        return Work.of(state.connectors, [(name, task) for name in state.connectors for task in state.task_ids(name)])

    def live(self) -> bool:
        """Always."""
        return True

    def live_until(self) -> float:
        """Always."""
        return math.inf

    def join(self, listener: WorkListener) -> None:
        """There is no group."""

    def leave(self, within: float) -> None:
        """There is no group."""

    def rebalance(self, reason: str, cause: str = "configuration") -> None:
        """There are no others: the follower of the configurations does all that is to be done."""
