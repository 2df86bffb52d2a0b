"""What this worker owns by its membership of the group: it joins, takes over, gives back, and leads in its turn."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from connect.errors import ConnectError
from connect.group import (
    CONFIG_MISMATCH,
    EAGER,
    PROTOCOLS,
    Assignment,
    Configured,
    Delays,
    Memory,
    Metadata,
    TaskId,
    Work,
    assign,
    decode_assignment,
    encode_metadata,
)
from connect.group.wire import NO_ERROR
from connect.herder.rebalances import Rebalances
from connect.kafka.membership import Membership
from connect.storage.config_log import ConfigLog
from connect.telemetry.windows import SPAN, Span
from connect.worker.lease import now

log = logging.getLogger("connect.herder")


@dataclass(frozen=True, slots=True)
class Role:
    """This worker's place in the group, from its last assignment.

    Attributes:
        leader: whether it leads.
        leader_url: where the leader's REST interface is; empty before the first assignment.
        protocol: what the group speaks.
        generation: of the group.
        since: the first generation from which it has led, or not led, without a break.
    """

    leader: bool = False
    leader_url: str = ""
    protocol: str = ""
    generation: int = -1
    since: int = -1


class GroupMember:
    """Holds what this worker owns, and has it started and stopped: `connect.kafka.membership.GroupCallbacks`.

    Args:
        settings: the worker's, under Java's keys.
        protocol: `connect.protocol`.
        url: where this worker's REST interface is, ending in "/".
        config: the config topic.
        delays: how long the work of a worker that is gone waits for it.
        sync_timeout: seconds to catch up with the config topic before an assignment is given up for now.
        stop: stops work and returns when it has ended. Whatever goes wrong is its own to tell.
        start: has work started, without waiting for it.
        stopped: the URLs of workers that are known to have stopped all their work in good order.
        failed: told when there is no way to be in the group.
        loads: what our tasks cost, in cores of CPU, as far as that was measured.
        span: over which what is measured of rebalances is averaged.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        protocol: str,
        url: str,
        config: ConfigLog,
        delays: Delays,
        sync_timeout: float,
        stop: Callable[[Work], None],
        start: Callable[[Work], None],
        stopped: Callable[[], Collection[str]],
        failed: Callable[[ConnectError], None],
        loads: Callable[[], Mapping[TaskId, float]] = dict,
        span: Span = SPAN,
    ) -> None:
        self._url = url
        self._config = config
        self._delays = delays
        self._sync_timeout = sync_timeout
        self._stop = stop
        self._start = start
        self._stopped = stopped
        self._failed = failed
        self._loads = loads
        self._owned = Work()
        self._role = Role()
        #: Whether it was ever in the group.
        self.has_joined = False
        self.rebalances = Rebalances(lambda: self._role, span)
        self._memory = Memory()
        self._led: tuple[int, Memory] | None = None
        self._later: threading.Timer | None = None
        self.membership = Membership(settings, PROTOCOLS[protocol], self, now)

    @property
    def owned(self) -> Work:
        """What is this worker's now."""
        return self._owned

    @property
    def role(self) -> Role:
        """See `Role`."""
        return self._role

    def join(self) -> None:
        """Join the group. Raises ConnectError when no broker answers or one refuses the login."""
        self.rebalances.began("start")
        self.membership.start()

    def leave(self, within: float) -> None:
        """Leave it; what was owned has been stopped before. Says good-bye for so many seconds at most."""
        if self._later is not None:
            self._later.cancel()
        self.membership.leave(within=within)

    def rebalance(self, reason: str, cause: str = "configuration") -> None:
        """Have the group share its work anew. The cause is one of `connect.herder.rebalances.CAUSES`."""
        self.rebalances.asked(cause)
        self.membership.request_rejoin(reason)

    # The callbacks, see `GroupCallbacks`.

    def metadata(self) -> Mapping[str, bytes]:
        role = self._role
        current = Assignment(NO_ERROR, "", role.leader_url, self._config.state.offset, self._owned)
        loads = {task: load for task, load in self._loads().items() if task in self._owned.tasks}
        mine = Metadata(self._url, self._config.state.offset, current if self._owned else None, loads)
        return {protocol: encode_metadata(mine, protocol) for protocol in PROTOCOLS["sessioned"]}

    def assign(self, protocol: str, leader: str, members: Sequence[tuple[str, bytes]]) -> Mapping[str, bytes]:
        state = self._config.state
        tasks = [TaskId(name, number) for name in state.connectors for number in state.task_ids(name)]
        configured = Configured(state.offset, state.connectors.keys(), tasks)
        shares, memory = assign(
            protocol,
            leader,
            members,
            configured,
            self._memory,
            now(),
            delays=self._delays,
            stopped=self._stopped(),
            complete_at=self.membership.complete_at(),
        )
        # It counts only once this round has come through.
        self._led = (self.membership.generation, memory)
        return shares

    def joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        try:
            self._follow(generation, member_id, protocol, assignment)
        finally:
            self.rebalances.ended()

    def _follow(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        mine = decode_assignment(assignment)
        leads = mine.leader == member_id
        before = self._role
        same = before.leader == leads and before.generation + 1 == generation
        self._role = Role(leads, mine.leader_url, protocol, generation, before.since if same else generation)
        self.has_joined = True
        self._memory = self._led[1] if leads and self._led is not None else Memory()
        self._led = None
        log.info(
            "generation %d of the group (%s%s): %d new, %d to give back",
            generation,
            protocol,
            ", leading" if leads else "",
            len(mine.new),
            len(mine.revoked),
        )
        if not self._caught_up(mine.offset):
            # Stay out of it: what we have runs on, what is new must not be started from an old configuration (P4).
            words = "the config topic could not be read as far as the leader has read it"
            self._rejoin_in(self._sync_timeout, words, "catching_up")
            return
        if mine.error == CONFIG_MISMATCH:
            self.rebalance("the leader had not read the configurations as far as others", "catching_up")
            return
        gone = self._owned - mine.new if protocol == EAGER else mine.revoked
        self._give_up(gone)
        self._owned = mine.new if protocol == EAGER else self._owned | mine.new
        self._start(mine.new)
        if mine.revoked:
            self.rebalance("work was given back", "given_back")
        elif mine.delay:
            self._rejoin_in(mine.delay / 1000, "the work of a worker that is gone has waited long enough", "delay")

    def rejoining(self, protocol: str) -> None:
        self.rebalances.began()
        if protocol == EAGER:
            self._give_up(self._owned)

    def lost(self, reason: str) -> None:
        self.rebalances.began("lost")
        log.warning("out of the group: %s; all work is stopped", reason)
        self._memory = Memory()
        self._role = Role()
        self._give_up(self._owned)

    def failed(self, error: ConnectError) -> None:
        self._failed(error)

    def _give_up(self, work: Work) -> None:
        # Not ours first, stopped second: what is being started on another thread must not slip through.
        self._owned -= work
        if work:
            self._stop(work)

    def _caught_up(self, offset: int) -> bool:
        if self._config.state.offset >= offset:
            return True
        try:
            return self._config.read_to_end(self._sync_timeout).offset >= offset
        except ConnectError as error:
            log.warning("%s", error)
            return False

    def _rejoin_in(self, seconds: float, reason: str, cause: str) -> None:
        if self._later is not None:
            self._later.cancel()
        self._later = threading.Timer(seconds, self.rebalance, [reason, cause])
        self._later.daemon = True
        self._later.start()
