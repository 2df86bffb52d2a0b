"""A member's conversation with the coordinator of its group: kafka-python's, reduced to membership.

All of this runs on kafka-python's network thread, where nothing may block.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from kafka import errors
from kafka.coordinator.base import BaseCoordinator
from kafka.future import Future
from kafka.net.wakeup_notifier import WakeupNotifier
from kafka.protocol.consumer import HeartbeatRequest
from kafka.structs import MemberState

from connect.kafka.clients.errors import away_from
from connect.kafka.group.session import Session
from connect.telemetry.outages import Waiter

_log = logging.getLogger(__name__)

_TICK: Final = 0.25  # seconds between two looks at the connection
_RETRY: Final = 1.0  # seconds after a join that failed
# What trying again does not fix.
_FINAL: Final = (
    errors.AuthorizationError,
    errors.SaslAuthenticationFailedError,
    errors.GroupMaxSizeReachedError,
    errors.InconsistentGroupProtocolError,
    errors.InvalidGroupIdError,
    errors.InvalidSessionTimeoutError,
)
_NO_BROKER: Final = (
    errors.KafkaConnectionError,
    errors.KafkaTimeoutError,
    errors.NodeNotReadyError,
)
EAGER: Final = "default"  # the protocol under which all work is stopped before a join
_DEDICATED: Final = "coordinator-"  # how kafka-python names the connection that is the coordinator's only


class Member(Protocol):
    """The member's decisions. Only `metadata` and `assign` are computed at once, the rest elsewhere, in order."""

    def metadata(self) -> Mapping[str, bytes]:
        """The metadata of this member, for each protocol."""

    def assign(self, protocol: str, leader: str, members: Sequence[tuple[str, bytes]]) -> Mapping[str, bytes]:
        """The assignment of every member, if this is the leader."""

    def joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        """The group is complete."""

    def rejoining(self, protocol: str) -> None:
        """The member joins again as soon as earlier events are processed."""

    def lost(self, reason: str) -> None:
        """The membership is lost."""

    def failed(self, error: Exception) -> None:
        """It cannot be a member."""

    def when_done(self, call: Callable[[], None]) -> None:
        """Call this, on any thread, when all earlier events are processed."""

    def busy(self) -> bool:
        """Whether an event is not processed yet."""


class Coordinator(BaseCoordinator):
    """One member's view of its coordinator.

    Differences from kafka-python: heartbeats continue while the others join, on another connection, because the broker
    reads nothing more from the one with the pending join; an answer counts from the moment of its request; a request to
    join again that arrives during a join is kept. A coordinator that cannot be reached costs the membership when the
    session is over, and not after a heartbeat's interval as in Java: leases end with the session.
    """

    def __init__(
        self, client: Any, session: Session, protocols: Sequence[str], member: Member, config: Mapping[str, Any]
    ) -> None:
        super().__init__(client, **config)
        self._servers = ",".join(config["bootstrap_servers"])
        self._session = session
        self._protocols = protocols
        self._member = member
        self._asked = False  # to join again, since the metadata was last told
        self._losses = 0  # the session's count, when the metadata was last told
        self._sync_sent = 0.0
        self._spoken = ""  # the protocol of the last generation
        self._leaving = threading.Event()
        self._waiter = Waiter(f"group {self.group_id}")
        self._wakeup = WakeupNotifier(self._net)

    # From other threads

    def begin(self) -> None:
        """Join, and stay a member."""
        self._manager.call_soon(self._stay)
        self._manager.call_soon(self._watch)

    def ask_rejoin(self) -> None:
        """Join again when the current join, if any, is over."""
        self._net.call_soon_threadsafe(self.request_rejoin)

    def start_over(self) -> None:
        """The session has expired without an answer of the coordinator: find it and join again."""
        self._net.call_soon_threadsafe(self._start_over)

    def end(self, reason: str, within: float) -> None:
        """Leave the group if that is possible within this many seconds, and close all connections."""
        self._leaving.set()
        self._close_heartbeat()
        try:
            self._net.run(self._say_goodbye, reason, within * 1000)
        except (errors.KafkaError, RuntimeError) as error:
            _log.warning("group %s: could not leave: %s", self.group_id, error)
        self._waiter.leaves()
        self._client.close()

    @property
    def connected(self) -> bool:
        """Whether the coordinator is known and connected."""
        return self.coordinator_id is not None and bool(self._client.connected(self.coordinator_id))

    @property
    def generation_id(self) -> int:
        """The generation, or -1."""
        return int(self._generation.generation_id)

    @property
    def member_id(self) -> str:
        """The id that the coordinator assigned, or empty."""
        return str(self._generation.member_id)

    # What kafka-python asks of its heirs

    def protocol_type(self) -> str:
        return "connect"

    def group_protocols(self) -> list[tuple[str, bytes]]:
        self._asked = False
        self._losses = self._session.losses
        metadata = self._member.metadata()
        return [(protocol, metadata[protocol]) for protocol in self._protocols]

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        return dict(
            self._member.assign(protocol, leader_id, [(each.member_id, bytes(each.metadata)) for each in members])
        )

    async def _on_join_prepare_async(self, generation: int, member_id: str, timeout_ms: float | None = None) -> None:
        if self._session.held():
            self._member.rejoining(self._spoken)
        await self._done()  # heartbeats go on meanwhile

    async def _do_join_and_sync_async(self) -> bytes:
        # Metadata tells what is owned, so what was assigned before and what was lost has to be known by then.
        await self._done()
        if self._leaving.is_set():
            raise errors.IllegalStateError("it leaves")  # or the broker would wait for the one that joins now
        assignment: bytes = await super()._do_join_and_sync_async()
        if self._losses != self._session.losses:
            # The assignment builds on work that was given up meanwhile.
            raise errors.RebalanceInProgressError("the membership was lost while others joined")
        return assignment

    def _process_join_group_response(self, response: Any, send_time: float) -> Any:
        joined = super()._process_join_group_response(response, send_time)
        self._sync_sent = self._session.clock()  # the next request, and the next thing to happen
        return joined

    async def _on_join_complete_async(
        self, generation: int, member_id: str, protocol: str, member_assignment_bytes: bytes
    ) -> None:
        cooperative_before = self._session.held() and self._spoken != EAGER
        self._session.joined(self._sync_sent)
        self._waiter.goes_on()
        self._spoken = protocol
        if protocol == EAGER and cooperative_before:
            # Nobody has stopped anything before this join, so nobody may begin anything after it: once more.
            self._member.rejoining(EAGER)
            self.rejoin_needed = True
            return
        self._member.joined(generation, member_id, protocol, bytes(member_assignment_bytes))
        if self._asked:
            self.rejoin_needed = True

    # What happens to the membership

    def request_rejoin(self) -> None:
        self._asked = True
        super().request_rejoin()
        self._wakeup.notify()

    def reset_generation(self, member_id: str = "") -> None:
        super().reset_generation(member_id)
        self._lose("the coordinator does not know this member any more")
        self._wakeup.notify()

    async def _send_heartbeat_request(self) -> None:
        sent = self._session.clock()
        try:
            await super()._send_heartbeat_request()
        except errors.RebalanceInProgressError:
            self._session.heard(sent, rebalancing=True)
            raise
        self._session.heard(sent, rebalancing=False)

    def _handle_find_coordinator_response(self, response: Any) -> Any:
        found = super()._handle_find_coordinator_response(response)
        self.heartbeat.fail_heartbeat()  # so that the next one is sent soon: there may be little time left
        return found

    def _lose(self, reason: str) -> None:
        if self._session.lose():
            _log.debug("group %s: membership lost: %s", self.group_id, reason)
            self._member.lost(reason)
            self.request_rejoin()

    def _start_over(self) -> None:
        if self.coordinator_id is not None:
            self._manager.close(self.coordinator_id)  # whatever waits for an answer there fails now
            self.coordinator_dead("no answer from it for the session's time")
        self.request_rejoin()

    async def _stay(self) -> None:
        while not self._leaving.is_set():
            try:
                await self.ensure_active_group_async()
            except Exception as error:
                if self._leaving.is_set():
                    return  # everything is being closed
                if isinstance(error, errors.KafkaError) and not isinstance(error, _FINAL):
                    _log.debug("group %s: joining again after %s: %s", self.group_id, type(error).__name__, error)
                    self._not_in_group(error)
                    await self._net.sleep(_RETRY)
                    continue
                self._lose(str(error) or type(error).__name__)  # also if `metadata` or `assign` raised
                self._member.failed(error)
                return
            if not self.need_rejoin():
                await self._wakeup()

    def _not_in_group(self, error: errors.KafkaError) -> None:
        said = " ".join(str(error).split())
        if isinstance(error, _NO_BROKER):
            self._waiter.waits(f"No broker answers at {self._servers}: {said}.", what=away_from(self._servers))
        else:
            self._waiter.waits(f"The worker is not in group {self.group_id}: {said or type(error).__name__}.")

    async def _watch(self) -> None:
        while not self._leaving.is_set():
            await self._net.sleep(_TICK)
            if not self._member.busy():
                try:
                    self.poll_heartbeat()  # a callback that hangs costs the membership after the rebalance timeout
                except errors.KafkaError:
                    self._maybe_start_heartbeat_loop()
            self._look_at_connection()
            if (
                self._session.held()
                and self.rebalance_in_progress()
                and self._session.silence() > self.config["heartbeat_interval_ms"] / 1000
            ):
                await self._beat_aside()

    def _look_at_connection(self) -> None:
        if self._session.held() and not self.connected:
            self._heartbeat_wakeup.notify()  # which looks for it; there may be little time left

    async def _beat_aside(self) -> None:
        """A heartbeat on the connection that has no pending join."""
        sent = self._session.clock()
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self._generation.generation_id,
            member_id=self._generation.member_id,
            group_instance_id=None,
        )
        try:
            answer = self._manager.send(request, node_id=self._other_connection())
            response = await self._manager.wait_for(answer, self.config["heartbeat_interval_ms"])
        except errors.KafkaError:
            return  # the join will tell
        if response.error_code in (errors.NoError.errno, errors.RebalanceInProgressError.errno):
            self._session.heard(sent, rebalancing=True)

    def _other_connection(self) -> int | None:
        """The connection to the same broker that is not the coordinator's only."""
        name = str(self.coordinator_id)
        return int(name.removeprefix(_DEDICATED)) if name.startswith(_DEDICATED) else None

    async def _done(self) -> None:
        """Wait until the member has processed the events."""
        done = Future()

        def tell() -> None:
            self._net.call_soon_threadsafe(lambda: done.success(None))

        self._member.when_done(tell)
        await done

    async def _say_goodbye(self, reason: str, timeout_ms: float) -> None:
        if self.state is MemberState.REBALANCING and (other := self._other_connection()) is not None:
            self.coordinator_id = other
        await self.maybe_leave_group_async(reason, timeout_ms)
