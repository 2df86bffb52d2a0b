"""Which of the connectors and tasks that are configured are this worker's: a group says so, or all of them are."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from connect.group import TaskId, Work
from connect.herder.rebalances import Rebalances
from connect.peers import PeerClient
from connect.storage.config_log import ConfigLog


@dataclass(frozen=True, slots=True)
class Role:
    """This worker's place in the group, from its last assignment.

    Attributes:
        leader: whether it leads.
        leader_url: where the leader's REST interface is; empty before the first assignment.
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
    """Does what a group says, and tells what the group has to know for it."""

    def start(self, work: Work) -> None:
        """A generation has begun, with this new work: have it started, without waiting for it."""

    def stop(self, work: Work) -> None:
        """Stop work that is not ours any more, and return when it has ended. Whatever goes wrong is its own to tell."""

    def loads(self) -> Mapping[TaskId, float]:
        """What our tasks cost, in cores of CPU, as far as that was measured."""

    def stopped_workers(self) -> Collection[str]:
        """The URLs of workers that are known to have stopped all their work in good order."""


class Membership(Protocol):
    """What this worker owns, and up to when. Safe to use from many threads.

    Attributes:
        shared: whether there may be other workers, which own what this one does not, and are asked over REST.
        measured: what is measured of it besides.
        peers: asks other workers.
    """

    shared: bool
    peers: PeerClient

    @property
    def measured(self) -> Sequence[Rebalances]: ...

    @property
    def owned(self) -> Work:
        """What is this worker's now."""

    @property
    def role(self) -> Role:
        """Its place in the group."""

    @property
    def has_joined(self) -> bool:
        """Whether it was ever in the group."""

    def live(self) -> bool:
        """Whether what is owned certainly is at this moment."""

    def live_until(self) -> float:
        """Up to when it is, by `connect.worker.lease.now`."""

    def join(self, listener: WorkListener) -> None:
        """Begin to own. Raises ConnectError when no broker answers or one refuses the login."""

    def leave(self, within: float) -> None:
        """Own nothing more; what was owned has been stopped before. Says good-bye for this many seconds at most."""

    def rebalance(self, reason: str, cause: str = "configuration") -> None:
        """Have the work distributed again. The cause is one of `connect.herder.rebalances.CAUSES`."""


class Alone:
    """A worker that shares with nobody: it leads, and what is configured is its own as soon as it is written.

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
        """For ever."""
        return math.inf

    def join(self, listener: WorkListener) -> None:
        """There is no group."""

    def leave(self, within: float) -> None:
        """There is no group."""

    def rebalance(self, reason: str, cause: str = "configuration") -> None:
        """There is nobody to share with: who follows the configurations does all that is to be done."""
