"""How often the group was rebalanced, how long that took, and why."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

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


class Rebalances:
    """The rebalances of this worker's group. Safe to use from many threads.

    Args:
        role: this worker's current role in the group.
        span: the window of averages and extremes.
        clock: monotonic, in seconds.
    """

    def __init__(
        self, role: Callable[[], Place], span: Span = SPAN, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._role = role
        self._registry = Registry()
        self._clock = clock
        self._lock = threading.Lock()
        self._milliseconds = Window(span, clock)
        self._completed = 0
        self._asked: str | None = None
        self._cause = "member"
        self._began: float | None = None
        self._ended: float | None = None

    def asked(self, cause: str) -> None:
        """This worker requests a rebalance; the first cause counts until it begins."""
        with self._lock:
            self._asked = self._asked or cause

    def began(self, cause: str = "member") -> None:
        """A rebalance begins. Its cause is the one that was requested, else this."""
        with self._lock:
            if self._began is None:
                self._began = self._clock()
                self._cause = self._asked or cause
                self._asked = None

    def ended(self) -> None:
        """The worker has its assignment."""
        with self._lock:
            now, cause = self._clock(), self._cause
            seconds = 0.0 if self._began is None else now - self._began
            self._began, self._cause, self._ended = None, "member", now
            self._completed += 1
            self._milliseconds.record(seconds * 1000)
        self._registry.counter("connect_rebalances_total", cause=cause).add()
        self._registry.histogram("connect_rebalance_seconds", cause=cause).observe(seconds)

    # What a worker measures besides: see `connect.herder.worker_metrics.MoreFigures`.

    def figures(self) -> Figures:
        """Kafka's figures."""
        role = self._role()
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
                }
            }

    def samples(self) -> list[Sample]:
        """Rebalances by their cause."""
        return self._registry.snapshot()
