"""What a worker measures of itself: how connectors and tasks start, what they report, and how much CPU they take."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping

from connect.settings.definition import Config
from connect.settings.metrics_keys import MetricsOptions
from connect.telemetry.metrics import Registry
from connect.telemetry.windows import Span, Window

#: Of what was measured of a task's CPU so long ago still a third counts.
_MEMORY_S = 300.0
#: A start says nothing of what comes: imports, catching up.
_FIRST_S = 30.0


def span_of(worker: Config) -> Span:
    """Over which rates, averages and extremes are: metrics.sample.window.ms and metrics.num.samples."""
    options = MetricsOptions.parse(worker)
    return Span(options.sample_window, options.samples)


class Startups:
    """Starts of connectors, or of tasks. Safe to use from many threads.

    Args:
        span: over which shares are.
        clock: monotonic, in seconds.
    """

    def __init__(self, span: Span, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._attempts = self._successes = self._failures = 0
        self._lately = Window(span, clock)  # 1 for a success, 0 for a failure

    def began(self) -> None:
        """One was begun."""
        with self._lock:
            self._attempts += 1

    def succeeded(self) -> None:
        """One has started."""
        with self._lock:
            self._successes += 1
            self._lately.record(1)

    def failed(self) -> None:
        """One did not start."""
        with self._lock:
            self._failures += 1
            self._lately.record(0)

    def figures(self, what: str) -> Mapping[str, float]:
        """Kafka's figures; `what` is connector or task."""
        with self._lock:
            share = self._lately.average
            some = share == share
            return {
                f"{what}-startup-attempts-total": self._attempts,
                f"{what}-startup-success-total": self._successes,
                f"{what}-startup-failure-total": self._failures,
                f"{what}-startup-success-percentage": share if some else 0.0,
                f"{what}-startup-failure-percentage": 1 - share if some else 0.0,
            }


class Measures:
    """What is measured on a worker, wherever it happens.

    Args:
        worker: its configuration: metrics.sample.window.ms and metrics.num.samples.

    Attributes:
        registry: of the worker, and of all its tasks.
        span: over which rates, averages and extremes are.
        connectors, tasks: how they start.
    """

    def __init__(self, worker: Config) -> None:
        self.registry = Registry()
        self.span = span_of(worker)
        self.connectors = Startups(self.span)
        self.tasks = Startups(self.span)

    def started_again(self, connector: str, task: int, reason: str) -> None:
        """A task that ran on this worker before starts again. The reason is failure, configuration or request."""
        self.registry.counter("connect_task_restarts_total", connector=connector, task=str(task), reason=reason).add()


class CpuShare:
    """Cores of CPU that one process takes, for placement. Not for several threads at once.

    It is measured over minutes, so that a moment's work moves nothing.
    """

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._share: float | None = None

    @property
    def cores(self) -> float | None:
        """1.0 for a core all of the time; None until it was measured."""
        return self._share

    def take(self, moment: float, cpu: float) -> None:
        """At this moment (seconds) it had used so many seconds of CPU in all."""
        if self._last is None:
            self._last = moment, cpu
            return
        seconds, used = moment - self._last[0], cpu - self._last[1]
        if self._share is None and seconds < _FIRST_S:
            return
        if seconds <= 0 or used < 0:
            return
        self._last = moment, cpu
        kept = 0.0 if self._share is None else math.exp(-seconds / _MEMORY_S)
        self._share = kept * (self._share or 0.0) + (1 - kept) * used / seconds
