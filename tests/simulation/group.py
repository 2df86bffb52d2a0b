"""The coordinator of a group, by Kafka's classic protocol: joins, syncs, heartbeats, session time-outs, fail-over.

https://kafka.apache.org/protocol, and the states of kafka.coordinator.group.GroupMetadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final

from kafka import errors

from tests.simulation.network import Reply
from tests.simulation.scheduler import Scheduler

EMPTY: Final = "Empty"
PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"

_UNKNOWN: Final = errors.UnknownMemberIdError.errno
_ILLEGAL: Final = errors.IllegalGenerationError.errno
_REBALANCING: Final = errors.RebalanceInProgressError.errno
_NOT_HERE: Final = errors.NotCoordinatorError.errno
_NOBODY: Final = errors.CoordinatorNotAvailableError.errno
_WITHOUT_ID: Final = errors.MemberIdRequiredError.errno


@dataclass
class Member:
    """One member, as the coordinator knows it."""

    id: str
    metadata: bytes
    session: float
    rebalance: float
    join: Reply | None = None
    sync: Reply | None = None
    assignment: bytes = b""
    written: bytes = b""  # its metadata of the last generation
    timer: list[Any] | None = None


@dataclass
class Group:
    """One group. `members` keeps the order in which they joined."""

    state: str = EMPTY
    generation: int = 0
    leader: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    pending: dict[str, list[Any]] = field(default_factory=dict)
    timer: list[Any] | None = None
    protocol: str = "sessioned"


class Coordinator:
    """Handles the requests of one group. `reply` takes each answer to its member.

    Args:
        scheduler: see there.
        initial_delay: seconds that an empty group waits for more members.

    Attributes:
        away: whether no broker is the coordinator for now.
    """

    def __init__(self, scheduler: Scheduler, initial_delay: float) -> None:
        self._scheduler = scheduler
        self._initial_delay = initial_delay
        self._made = 0
        self.away = False
        self.epoch = 0  # which broker it is
        self.group = Group()

    def handle_at(self, node: Any, request: Any, reply: Reply) -> None:
        """Handle any of its requests, sent to this broker."""
        name = type(request).__name__
        if name == "FindCoordinatorRequest":
            code = _NOBODY if self.away else 0
            where = SimpleNamespace(error_code=code, node_id=self.epoch, host="broker", port=9092)
            reply(SimpleNamespace(error_code=code, coordinators=[where]))
        elif self.away or str(node).removeprefix("coordinator-") != str(self.epoch):
            reply(SimpleNamespace(error_code=_NOT_HERE, members=[]))
        elif name == "JoinGroupRequest":
            self._join(request, reply)
        elif name == "SyncGroupRequest":
            self._sync(request, reply)
        elif name == "HeartbeatRequest":
            self._heartbeat(request, reply)
        else:
            self._leave(request, reply)

    # Joining.

    def _join(self, request: Any, reply: Reply) -> None:
        group = self.group
        offered = dict(request.protocols)
        metadata = bytes(offered[group.protocol])
        session, rebalance = request.session_timeout_ms / 1000, request.rebalance_timeout_ms / 1000
        if not request.member_id:
            self._made += 1
            new = f"member-{self._made}"
            group.pending[new] = self._scheduler.after(session, self._forget_pending, new)
            reply(SimpleNamespace(error_code=_WITHOUT_ID, member_id=new, protocol_type=None))
            return
        member = group.members.get(request.member_id)
        if member is None:
            timer = group.pending.pop(request.member_id, None)
            if timer is None:
                reply(SimpleNamespace(error_code=_UNKNOWN, member_id="", protocol_type=None))
                return
            self._scheduler.cancel(timer)
            member = group.members[request.member_id] = Member(request.member_id, metadata, session, rebalance)
            changed = True
        else:
            changed = member.metadata != metadata or member.id == group.leader
            member.metadata = metadata
        if group.state in (STABLE, COMPLETING) and not changed:
            self._beats(member)
            reply(self._joined(member))
            return
        self._fail(member, _REBALANCING)
        member.join = reply
        self._stop_timer(member)
        if group.state in (STABLE, COMPLETING, EMPTY):
            self._prepare()
        else:
            self._complete_if_all()

    def _forget_pending(self, member_id: str) -> None:
        self.group.pending.pop(member_id, None)
        if self.group.state == PREPARING:
            self._complete_if_all()

    def _prepare(self) -> None:
        group = self.group
        first = group.state == EMPTY
        for member in group.members.values():
            if member.sync is not None:
                member.sync(
                    SimpleNamespace(error_code=_REBALANCING, assignment=b"", protocol_type=None, protocol_name=None)
                )
                member.sync = None
        group.state = PREPARING
        self._cancel_timer()
        wait = self._initial_delay if first else max(member.rebalance for member in group.members.values())
        group.timer = self._scheduler.after(wait, self._complete)
        if not first:
            self._complete_if_all()

    def _complete_if_all(self) -> None:
        group = self.group
        if group.state != PREPARING or group.pending or any(member.join is None for member in group.members.values()):
            return
        if group.generation or not self._initial_delay:
            self._complete()

    def _complete(self) -> None:
        group = self.group
        self._cancel_timer()
        for member in [member for member in group.members.values() if member.join is None]:
            self._remove(member)
        if not group.members:
            group.state = EMPTY
            group.generation += 1
            return
        if group.leader not in group.members:
            group.leader = next(iter(group.members))
        group.generation += 1
        group.state = COMPLETING
        self._scheduler.note("group", f"generation {group.generation}: {' '.join(group.members)}")
        for member in group.members.values():
            assert member.join is not None
            join, member.join = member.join, None
            member.assignment = b""
            join(self._joined(member))
            self._beats(member)
        longest = max(member.rebalance for member in group.members.values())
        group.timer = self._scheduler.after(longest, self._not_synced)

    def _joined(self, member: Member) -> Any:
        group = self.group
        members = []
        if member.id == group.leader:
            members = [SimpleNamespace(member_id=each.id, metadata=each.metadata) for each in group.members.values()]
        return SimpleNamespace(
            error_code=0,
            protocol_type="connect",
            protocol_name=group.protocol,
            generation_id=group.generation,
            member_id=member.id,
            leader=group.leader,
            members=members,
        )

    def _not_synced(self) -> None:
        group = self.group
        group.timer = None
        if group.state == COMPLETING:
            for member in [each for each in group.members.values() if each.sync is None]:
                self._remove(member)
            self._changed()

    # Syncing.

    def _sync(self, request: Any, reply: Reply) -> None:
        group = self.group
        member = group.members.get(request.member_id)
        code = 0
        if member is None:
            code = _UNKNOWN
        elif request.generation_id != group.generation:
            code = _ILLEGAL
        elif group.state == PREPARING:
            code = _REBALANCING
        if code or member is None:
            reply(SimpleNamespace(error_code=code, assignment=b"", protocol_type=None, protocol_name=None))
            return
        self._beats(member)
        if group.state == STABLE:
            reply(self._assigned(member))
            return
        member.sync = reply
        if member.id == group.leader:
            given = dict(request.assignments)
            self._cancel_timer()
            group.state = STABLE
            for each in group.members.values():
                each.assignment, each.written = bytes(given.get(each.id, b"")), each.metadata
                if each.sync is not None:
                    each.sync(self._assigned(each))
                    each.sync = None

    def _assigned(self, member: Member) -> Any:
        return SimpleNamespace(
            error_code=0, assignment=member.assignment, protocol_type="connect", protocol_name=self.group.protocol
        )

    # Staying, and leaving.

    def _heartbeat(self, request: Any, reply: Reply) -> None:
        group = self.group
        member = group.members.get(request.member_id)
        code = 0
        if member is None:
            code = _UNKNOWN
        elif request.generation_id != group.generation:
            code = _ILLEGAL
        else:
            self._beats(member)
            if group.state == PREPARING:
                code = _REBALANCING
        reply(SimpleNamespace(error_code=code))

    def _leave(self, request: Any, reply: Reply) -> None:
        member = self.group.members.get(request.members[0].member_id)
        if member is not None:
            self._remove(member)
            self._changed()
        reply(SimpleNamespace(error_code=0, members=[]))

    def _beats(self, member: Member) -> None:
        self._stop_timer(member)
        member.timer = self._scheduler.after(member.session, self._expired, member)

    def _expired(self, member: Member) -> None:
        member.timer = None
        if self.group.members.get(member.id) is member and member.join is None:
            self._scheduler.note("group", f"the session of {member.id} is over")
            self._remove(member)
            self._changed()

    def _changed(self) -> None:
        group = self.group
        if group.state in (STABLE, COMPLETING):
            if group.members:
                self._prepare()
            else:
                self._cancel_timer()
                group.state = EMPTY
        else:
            self._complete_if_all()

    def _remove(self, member: Member) -> None:
        self.group.members.pop(member.id, None)
        self._stop_timer(member)
        self._fail(member, _UNKNOWN)

    def _fail(self, member: Member, code: int) -> None:
        join, sync = member.join, member.sync
        member.join = member.sync = None
        if join is not None:
            join(SimpleNamespace(error_code=code, member_id=member.id, protocol_type=None))
        if sync is not None:
            sync(SimpleNamespace(error_code=code, assignment=b"", protocol_type=None, protocol_name=None))

    def _stop_timer(self, member: Member) -> None:
        if member.timer is not None:
            self._scheduler.cancel(member.timer)
            member.timer = None

    def _cancel_timer(self) -> None:
        if self.group.timer is not None:
            self._scheduler.cancel(self.group.timer)
            self.group.timer = None

    # Another broker takes over.

    def moves(self) -> None:
        """The broker is gone: who waits for an answer gets none from it."""
        group = self.group
        self.away = True
        self._cancel_timer()
        for member in list(group.members.values()):
            self._stop_timer(member)
            self._fail(member, _NOT_HERE)
        for timer in group.pending.values():
            self._scheduler.cancel(timer)
        group.pending.clear()

    def has_moved(self) -> None:
        """Another broker has read the group as it was written: members get a new session, a rebalance begins again."""
        group = self.group
        self.away = False
        self.epoch += 1
        if group.state in (PREPARING, COMPLETING):
            group.state = STABLE  # the last that was written; who has not joined since learns that it must
        for member in group.members.values():
            member.metadata = member.written or member.metadata
            self._beats(member)
        if group.members and any(not member.assignment for member in group.members.values()):
            self._prepare()
