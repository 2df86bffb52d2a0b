"""How often the group was rebalanced, how long that took, and why; and the last of them, one by one."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from connect.group import Work
from connect.herder.rebalance_history import KEPT, Led, Moved, Rebalance, worker_id
from connect.herder.task_figures import Figures
from connect.telemetry.metrics import Registry, Sample
from connect.telemetry.windows import SPAN, Span, Window

#: Began it: this worker came, or came back after it was lost; what is configured changed; work was given back; the work
#: of a worker that is gone had waited long enough; somebody has to catch up with the config topic; or another member.
CAUSES: Final = ("start", "lost", "configuration", "given_back", "delay", "catching_up", "member")


class Place(Protocol):
    """A worker's role in its group: see `connect.herder.group_member.Role`."""

    @property
    def leader_url(self) -> str: ...

    @property
    def protocol(self) -> str: ...

    @property
    def generation(self) -> int: ...


class _Why(NamedTuple):
    """A cause, and the reason in words."""

    cause: str
    reason: str = ""


_ANOTHER: Final = _Why("member")


class Rebalances:
    """The rebalances of this worker's group. Safe to use from many threads. The order of calls:

        began -> joining -> (joining)* -> ended -> began ...; asked at any time

    Args:
        role: this worker's current role in the group.
        owned: what it owns at this moment.
        span: the window of averages and extremes.
        clock, wall: monotonic, and since the epoch; both in seconds.
    """

    def __init__(
        self,
        role: Callable[[], Place],
        owned: Callable[[], Work],
        span: Span = SPAN,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._role = role
        self._owned = owned
        self._registry = Registry()
        self._clock, self._wall = clock, wall
        self._lock = threading.Lock()
        self._milliseconds = Window(span, clock)
        self._completed = 0
        self._asked: _Why | None = None
        self._why = _ANOTHER
        self._began: float | None = None
        self._had = Work()  # after the last one; it changes only between `began` and `ended`
        self._ended: float | None = None
        self._recent: deque[Rebalance] = deque(maxlen=KEPT)
        self._told: Callable[[Rebalance], object] = lambda _: None

    def listen(self, told: Callable[[Rebalance], object]) -> None:
        """Have this called with each rebalance that has ended. It must not block."""
        self._told = told

    def asked(self, cause: str, reason: str = "") -> None:
        """This worker requests a rebalance; the first cause counts until it begins."""
        with self._lock:
            self._asked = self._asked or _Why(cause, reason)

    def began(self, cause: str = "member", reason: str = "") -> None:
        """A rebalance begins. Its cause is the one that was requested, else this.

        One that has begun is not over before the worker has an assignment, even if it is lost meanwhile.
        """
        with self._lock:
            if self._began is None:
                self._began = self._clock()
                self._why = self._asked or _Why(cause, reason)
                self._asked = None

    def joining(self) -> None:
        """The worker tells the group what it has and knows. What it has requested by now is served by this rebalance,
        and must not pass for the cause of a later one.
        """
        with self._lock:
            if self._asked is not None and self._why == _ANOTHER:
                self._why = self._asked
            self._asked = None

    def ended(self, leader_member: str, led: Led | None = None) -> None:
        """The worker has its assignment, and has stopped what it gave up.

        Args:
            leader_member: the leader's id in the group.
            led: what this worker knows as the leader.
        """
        role = self._role()
        with self._lock:
            now, why = self._clock(), self._why
            seconds = 0.0 if self._began is None else now - self._began
            had, self._had = self._had, self._owned()
            self._began, self._why, self._ended = None, _ANOTHER, now
            self._completed += 1
            self._milliseconds.record(seconds * 1000)
            ended = int(self._wall() * 1000)
            rebalance = Rebalance(
                generation=role.generation,
                leader=worker_id(role.leader_url),
                leader_member=leader_member,
                began=ended - int(seconds * 1000),
                ended=ended,
                cause=why.cause,
                reason=why.reason,
                assigned=Moved.of(self._had - had),
                revoked=Moved.of(had - self._had),
                led=led,
            )
            self._recent.append(rebalance)
        self._registry.counter("connect_rebalances_total", cause=why.cause).add()
        self._registry.histogram("connect_rebalance_seconds", cause=why.cause).observe(seconds)
        self._told(rebalance)

    def recent(self) -> list[Rebalance]:
        """The last two hundred, newest first."""
        with self._lock:
            return list(reversed(self._recent))

    # What a worker measures besides: see `connect.herder.worker_metrics.MoreFigures`.

    def figures(self) -> Figures:
        """Kafka's figures."""
        role, owned = self._role(), self._owned()
        with self._lock:
            since = math.nan if self._ended is None else (self._clock() - self._ended) * 1000
            return {
                "connect-worker-rebalance-metrics": {
                    "connect-protocol": role.protocol,
                    "leader-name": role.leader_url,
                    "epoch": role.generation,
                    "completed-rebalances-total": self._completed,
                    "rebalancing": float(self._began is not None),
                    "rebalance-max-time-ms": self._milliseconds.largest,
                    "rebalance-avg-time-ms": self._milliseconds.average,
                    "time-since-last-rebalance-ms": since,
                },
                "connect-coordinator-metrics": {
                    "assigned-connectors": len(owned.connectors),
                    "assigned-tasks": len(owned.tasks),
                },
            }

    def samples(self) -> list[Sample]:
        """Rebalances by their cause."""
        return self._registry.snapshot()
