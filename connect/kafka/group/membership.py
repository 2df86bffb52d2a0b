"""Membership of a Connect group: joining, heartbeats, and until when the membership is certain.

Built on kafka-python's `BaseCoordinator`, which is not a stable interface: the version is pinned, and
tests/integration/group holds it against a real broker. Records go through confluent-kafka, never through here.

https://kafka.apache.org/protocol (JoinGroup, SyncGroup, Heartbeat, LeaveGroup)
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from connect.errors import ConnectError
from connect.kafka.clients.callbacks import CallbackThread
from connect.kafka.clients.java_rules import ClientSettingError, whole_number
from connect.kafka.clients.kafka_python_settings import connected_client, kafka_python_settings
from connect.kafka.group.session import Session

if TYPE_CHECKING:
    from connect.kafka.group.coordinator import Coordinator

_log = logging.getLogger(__name__)

_LEAVE_WITHIN: Final = 3.0  # seconds for saying good-bye; without it the others wait for the session's end

# What the broker says to a member that it refuses, and what can be done about it.
_ADVICE: Final = {
    "GroupAuthorizationFailedError": "this user may not join it. Grant READ on the group",
    "GroupMaxSizeReachedError": "it has as many members as the brokers allow (group.max.size)",
    "InconsistentGroupProtocolError": "its members are of another kind, or share no protocol with this one. "
    "Choose another group.id, or the connect.protocol of the others",
    "InvalidGroupIdError": "the brokers refuse this group.id",
    "InvalidSessionTimeoutError": "the brokers do not allow this session.timeout.ms. "
    "Choose one between their group.min.session.timeout.ms and group.max.session.timeout.ms",
    "SaslAuthenticationFailedError": "the brokers refuse the login. Check user and password in sasl.jaas.config",
}


class GroupCallbacks(Protocol):
    """Callbacks of a member. The order of calls:

        metadata -> (assign) -> joined -> rejoining -> metadata -> (assign) -> joined ... lost -> metadata -> ...

    `metadata` and `assign` are called on the thread that also sends the heartbeats: they return at once, from what is
    in memory. The others have a thread of their own, one call at a time; while one runs heartbeats continue, but the
    member does not join again before it has returned, and leaves the group if that takes `rebalance.timeout.ms`.
    """

    def metadata(self) -> Mapping[str, bytes]:
        """The metadata for joining, for each protocol. It must contain all that this member owns at this moment."""

    def assign(self, protocol: str, leader: str, members: Sequence[tuple[str, bytes]]) -> Mapping[str, bytes]:
        """The leader's work: an assignment for each member, from its id and its metadata.

        The members have it for certain when `joined` is called with the leader's own.
        """

    def joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        """This member is in the group with this assignment. On return `metadata` tells what it owns by it."""

    def rejoining(self, protocol: str) -> None:
        """The member is about to join again; `protocol` is what the group used last.

        Under "default" (eager) all work is stopped and forgotten here, before others may start it; under the others it
        continues. When a group falls back to "default", this is called instead of `joined`: all stop, and join once
        more.
        """

    def lost(self, reason: str) -> None:
        """The membership is lost, or uncertain: others may own the work by now. Stop everything; own nothing.

        `live()` is false before this is called. The member joins again by itself when it can.
        """

    def failed(self, error: ConnectError) -> None:
        """The group refuses this member, or a callback raised: the membership cannot continue. The last call."""


class Membership:
    """One member of a group of type "connect". All methods are thread-safe.

    Static membership (`group.instance.id`) is off: a member restarted within its session would get its last delta back,
    without a rebalance, and lose its work.

    Args:
        settings: the worker's, under Java's keys: `group.id`, `session.timeout.ms`, `heartbeat.interval.ms`,
            `rebalance.timeout.ms`, `client.id`, the brokers' addresses and their security.
        protocols: in order of preference, such as ("sessioned", "compatible", "default").
        callbacks: see there.
        clock: seconds on a clock that nobody sets back and that continues while the machine sleeps.

    Raises:
        ClientSettingError: a setting is wrong, or requests what cannot be done.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        protocols: Sequence[str],
        callbacks: GroupCallbacks,
        clock: Callable[[], float],
    ) -> None:
        self._client_settings = kafka_python_settings(settings)
        self._group = settings["group.id"]
        session = _milliseconds(settings, "session.timeout.ms", 10_000)
        heartbeat = _milliseconds(settings, "heartbeat.interval.ms", 3_000)
        rebalance = _milliseconds(settings, "rebalance.timeout.ms", 60_000)
        if heartbeat >= session:
            raise ClientSettingError("heartbeat.interval.ms", "it is not below session.timeout.ms; write a third of it")
        self._protocols = tuple(protocols)
        self._callbacks = callbacks
        self._times = {
            "session_timeout_ms": session,
            "heartbeat_interval_ms": heartbeat,
            "max_poll_interval_ms": rebalance,  # what kafka-python calls it
        }
        self._session = Session(clock, session / 1000, rebalance / 1000)
        self._thread = CallbackThread("connect-group", self._look_at_clock, self._callback_failed)
        self._coordinator: Coordinator | None = None
        self._ended = threading.Event()

    def start(self, timeout: float = 10.0) -> None:
        """Connect to the brokers, then join in the background.

        Raises:
            ConnectError: within `timeout` seconds no broker answered; or, at once, one refused the login or has a
                certificate that is not trusted.
        """
        from connect.kafka.group.coordinator import Coordinator

        client = connected_client(self._client_settings, timeout)
        told = _Told(self._callbacks, self._thread, self._session)
        settings = {
            **self._client_settings,
            **self._times,
            "group_id": self._group,
            "api_version": client.get_broker_version(),
        }
        self._coordinator = Coordinator(client, self._session, self._protocols, told, settings)
        self._thread.start()
        self._coordinator.begin()

    def request_rejoin(self, reason: str) -> None:
        """Make the group rebalance; during a join after it, unless the join still includes the change."""
        if self._coordinator and not self._ended.is_set():
            _log.info("group %s: joining again: %s", self._group, reason)
            self._coordinator.ask_rejoin()

    def leave(self, reason: str = "the worker stops", within: float = _LEAVE_WITHIN) -> None:
        """Leave the group, so that the others learn of it at once, and end. The work was stopped before.

        No callback is called from now on. May be called from a callback, and twice. Takes this many seconds at most.
        """
        if self._coordinator is None or self._ended.is_set():
            return
        self._ended.set()
        self._session.lose()
        deadline = time.monotonic() + within
        self._coordinator.end(reason, within)
        self._thread.stop(max(0.0, deadline - time.monotonic()))

    def live(self) -> bool:
        """Whether this is certainly a member at this moment."""
        return self._session.live()

    def live_until(self) -> float:
        """The moment until which this is certainly a member, if no answer arrives: minus infinity if it is none.

        It is the moment at which the last answered heartbeat was sent, plus `session.timeout.ms` (or, if that is
        sooner, the moment of the last one before a rebalance, plus `rebalance.timeout.ms`): the coordinator counts from
        its arrival, so it gives the work to nobody before. Leases end with it.
        """
        return self._session.until()

    def complete_at(self) -> float:
        """The last moment at which the group was certainly complete: a member that is missing now left after it."""
        return self._session.undisturbed()

    @property
    def generation(self) -> int:
        """The generation of the group this member is in; -1 if in none."""
        return self._coordinator.generation_id if self._coordinator else -1

    @property
    def member_id(self) -> str:
        """The id that the coordinator assigned; empty if it has not yet."""
        return self._coordinator.member_id if self._coordinator else ""

    @property
    def coordinator_known(self) -> bool:
        """Whether the group's coordinator is known and connected."""
        return self._coordinator is not None and self._coordinator.connected

    @property
    def rebalancing(self) -> bool:
        """Whether this member has joined and waits for the others."""
        return self._coordinator is not None and bool(self._coordinator.rebalance_in_progress())

    def _look_at_clock(self) -> None:
        """Independent of the network thread: whatever delays that, the end of the session is noticed."""
        if self._coordinator and self._session.held() and not self._session.live() and self._session.lose():
            self._callbacks.lost("no answer from the coordinator for session.timeout.ms")
            self._coordinator.start_over()

    def _callback_failed(self, error: Exception) -> None:
        _log.error("group %s: a callback failed", self._group, exc_info=error)
        self._session.lose()
        why = _ADVICE.get(type(error).__name__) or str(error) or type(error).__name__
        failure = ConnectError(f"This worker cannot be in group {self._group}: {why}")
        failure.__cause__ = error
        self._callbacks.failed(failure)


class _Told:
    """Passes events to the callbacks: at once those that need an answer, the rest through their thread."""

    def __init__(self, callbacks: GroupCallbacks, thread: CallbackThread, session: Session) -> None:
        self._callbacks = callbacks
        self._thread = thread
        self.metadata = callbacks.metadata
        self.assign = callbacks.assign
        self.when_done = thread.put

    def joined(self, generation: int, member_id: str, protocol: str, assignment: bytes) -> None:
        self._thread.put(lambda: self._callbacks.joined(generation, member_id, protocol, assignment))

    def rejoining(self, protocol: str) -> None:
        self._thread.put(lambda: self._callbacks.rejoining(protocol))

    def lost(self, reason: str) -> None:
        self._thread.put(lambda: self._callbacks.lost(reason))

    def failed(self, error: Exception) -> None:
        def fail() -> None:
            raise error

        self._thread.put(fail)

    def busy(self) -> bool:
        return not self._thread.idle()


def _milliseconds(settings: Mapping[str, str], key: str, default: int) -> int:
    return whole_number(key, settings[key]) if key in settings else default
