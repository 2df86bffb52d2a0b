"""This worker's membership of the group: it joins, takes over work, gives it up, and leads when it is its turn."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

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
from connect.herder.measures import span_of
from connect.herder.membership import Role, WorkListener
from connect.herder.rebalance_history import KnownMembers, Led, LedRound, worker_id
from connect.herder.rebalances import Rebalances
from connect.kafka.group.membership import Membership
from connect.peers import PeerClient
from connect.settings.definition import Config
from connect.storage.config_log import ConfigLog
from connect.worker.lease import now

log = logging.getLogger("connect.herder")

#: How long the work of a worker that is gone waits for it.
_DELAY: Final = "scheduled.rebalance.max.delay.ms"
#: Work that does not end in its graceful time is killed; the rest is for the kernel to take its processes away.
_KILLED_S: Final = 30


class GroupMember:
    """Knows what this worker owns, and has it started and stopped.

    A `connect.herder.membership.Membership`, and `connect.kafka.group.membership.GroupCallbacks`.

    Args:
        raw: the worker's properties, brokers known.
        config: the same, parsed.
        url: of this worker's REST interface, ending in "/".
        config_log: what is configured.
        peers: asks other workers.
        failed: called when the worker cannot be in the group.
    """

    shared = True

    def __init__(
        self,
        raw: Mapping[str, str],
        config: Config,
        url: str,
        config_log: ConfigLog,
        peers: PeerClient,
        failed: Callable[[ConnectError], None],
    ) -> None:
        self._url = url
        self._config = config_log
        self.peers = peers
        self._delays = Delays.of(config[_DELAY] if _DELAY in raw else None)
        # Seconds to catch up with the config topic before an assignment is given up for now.
        self._sync_timeout: float = config["worker.sync.timeout.ms"] / 1000
        self._failed = failed
        self._listener: WorkListener
        self._owned = Work()
        self._given_up = threading.Event()  # all that is no longer owned has ended
        self._given_up.set()
        self._role = Role()
        self._has_joined = False
        self._rebalances = Rebalances(lambda: self._role, lambda: self._owned, span_of(config))
        self._memory = Memory()
        self._known = KnownMembers()
        self._led: LedRound | None = None
        self._later: threading.Timer | None = None
        self._membership = Membership(raw, PROTOCOLS[config["connect.protocol"].lower()], self, now)

    @property
    def owned(self) -> Work:
        """What this worker owns now."""
        return self._owned

    @property
    def role(self) -> Role:
        """Its role in the group, from its last assignment."""
        return self._role

    @property
    def has_joined(self) -> bool:
        """Whether it was ever in the group."""
        return self._has_joined

    @property
    def measured(self) -> Sequence[Rebalances]:
        """The rebalances that it took part in."""
        return [self._rebalances]

    def live(self) -> bool:
        """Whether it is certainly in the group at this moment."""
        return self._membership.live()

    def live_until(self) -> float:
        """Until when it is certainly in the group."""
        return self._membership.live_until()

    def join(self, listener: WorkListener) -> None:
        """See `Membership.join`."""
        self._listener = listener
        self._rebalances.began("start")
        self._membership.start()

    def leave(self, within: float) -> None:
        """See `Membership.leave`."""
        if self._later is not None:
            self._later.cancel()
        until = time.monotonic() + within
        # What the group took away ends on the membership's thread: whoever gets it next must not begin before (P3).
        if not self._given_up.wait(within + _KILLED_S):
            log.error("Work that was given back does not end: the group is left without a word.")
            return
        self._membership.leave(within=max(0.0, until - time.monotonic()))

    def rebalance(self, reason: str, cause: str = "configuration") -> None:
        """See `Membership.rebalance`."""
        self._rebalances.asked(cause, reason)
        self._membership.request_rejoin(reason)

    # The callbacks, see `GroupCallbacks`.

    def metadata(self) -> Mapping[str, bytes]:
        self._rebalances.joining()
        role = self._role
        current = Assignment(NO_ERROR, "", role.leader_url, self._config.state.offset, self._owned)
        loads = {task: load for task, load in self._listener.loads().items() if task in self._owned.tasks}
        mine = Metadata(self._url, self._config.state.offset, current if self._owned else None, loads)
        return {protocol: encode_metadata(mine, protocol) for protocol in PROTOCOLS["sessioned"]}

    def assign(self, protocol: str, leader: str, members: Sequence[tuple[str, bytes]]) -> Mapping[str, bytes]:
        state = self._config.state
        tasks = [TaskId(name, number) for name in state.connectors for number in state.task_ids(name)]
        configured = Configured(state.offset, state.connectors.keys(), tasks)
        stopped = self._listener.stopped_workers()
        shares, memory = assign(
            protocol,
            leader,
            members,
            configured,
            self._memory if protocol == EAGER else self._remembered(stopped),
            now(),
            delays=self._delays,
            stopped=stopped,
            complete_at=self._membership.complete_at(),
        )
        # It counts only once this round has come through.
        self._led = LedRound(memory, members, shares)
        return shares

    def _remembered(self, stopped: Mapping[str, Work]) -> Memory:
        """The memory for a round that this worker leads.

        A new leader knows what stopped workers had, the former leader among them, by the states that they left in the
        status topic. It goes by these only if it followed in the generation before: else they may be those of a pool
        that was shut down long ago.
        """
        followed = self._role.generation >= 0 and not self._role.leader
        return Memory.of_stopped(stopped) if followed else self._memory

    def joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        mine = decode_assignment(assignment)
        leads = mine.leader == member_id
        round_led, self._led = self._led if leads else None, None
        before = self._role
        same = before.leader == leads and before.generation + 1 == generation
        self._role = Role(leads, mine.leader_url, protocol, generation, before.since if same else generation)
        self._has_joined = True
        self._memory = Memory() if round_led is None else round_led.memory
        try:
            self._follow(generation, protocol, mine, leads=leads)
        finally:
            self._rebalances.ended(mine.leader, self._compared(round_led, mine))

    def _compared(self, round_led: LedRound | None, mine: Assignment) -> Led | None:
        """What this worker knows as the leader, by the members of the generation before."""
        before = self._known
        if round_led is None:
            self._known = KnownMembers({mine.leader: worker_id(mine.leader_url)})
            return None
        self._known = round_led.known()
        return round_led.compared_with(before)

    def _follow(self, generation: int, protocol: str, mine: Assignment, *, leads: bool) -> None:
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
        self._listener.start(mine.new)
        if mine.revoked:
            self.rebalance("work was given back", "given_back")
        elif mine.delay:
            self._rejoin_in(mine.delay / 1000, "the work of a worker that left has waited long enough", "delay")

    def rejoining(self, protocol: str) -> None:
        self._rebalances.began()
        if protocol == EAGER:
            self._give_up(self._owned)

    def lost(self, reason: str) -> None:
        self._rebalances.began("lost", reason)
        log.warning("out of the group: %s; all work is stopped", reason)
        self._memory = Memory()
        self._known = KnownMembers()
        self._role = Role()
        self._give_up(self._owned)

    def failed(self, error: ConnectError) -> None:
        self._failed(error)

    def _give_up(self, work: Work) -> None:
        # Not ours first, stopped second: what is being started on another thread must not slip through.
        self._given_up.clear()
        self._owned -= work
        try:
            if work:
                self._listener.stop(work)
        finally:
            self._given_up.set()

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
