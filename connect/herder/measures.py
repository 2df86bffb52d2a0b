"""What a worker measures of itself: starts of connectors and tasks, their reports, and their CPU."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping

from connect.settings.definition import Config
from connect.settings.metrics_keys import MetricsOptions
from connect.telemetry.metrics import Registry
from connect.telemetry.spans import Tracer
from connect.telemetry.windows import Span, Window

#: Of what was measured of a task's CPU so long ago still a third counts.
_MEMORY_S = 300.0
#: A start says nothing of what comes: imports, catching up.
_FIRST_S = 30.0


def span_of(worker: Config) -> Span:
    """The window of rates, averages and extremes: metrics.sample.window.ms and metrics.num.samples."""
    options = MetricsOptions.parse(worker)
    return Span(options.sample_window, options.samples)


class Startups:
    """Starts of connectors, or of tasks. Safe to use from many threads.

    Args:
        span: the window of percentages.
        clock: monotonic, in seconds.
    """

    def __init__(self, span: Span, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._attempts = self._successes = self._failures = 0
        self._lately = Window(span, clock)  # 1 for a success, 0 for a failure

    def began(self) -> None:
        """A start began."""
        with self._lock:
            self._attempts += 1

    def succeeded(self) -> None:
        """A start succeeded."""
        with self._lock:
            self._successes += 1
            self._lately.record(1)

    def failed(self) -> None:
        """A start failed."""
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
    """A worker's measurements, wherever they are taken.

    Args:
        worker: its configuration: metrics.sample.window.ms and metrics.num.samples.

    Attributes:
        registry: of the worker, and of all its tasks.
        span: the window of rates, averages and extremes.
        connectors, tasks: their starts.
        tracer: of the worker, and of what its tasks report.
    """

    def __init__(self, worker: Config) -> None:
        self.registry = Registry()
        self.span = span_of(worker)
        self.connectors = Startups(self.span)
        self.tasks = Startups(self.span)
        self.tracer = Tracer()

    def started_again(self, connector: str, task: int, reason: str) -> None:
        """A task that ran on this worker before is restarted. The reason is failure, configuration or request."""
        self.registry.counter("connect_task_restarts_total", connector=connector, task=str(task), reason=reason).add()

    def forget(self, connector: str) -> None:
        """A connector was deleted: its tasks have no restarts any more."""
        self.registry.remove(connector=connector)


class CpuShare:
    """Cores of CPU that one process uses, for task placement. Not thread-safe.

    It is averaged over minutes, so that a short burst moves no task.
    """

    def __init__(self) -> None:
        self._last: tuple[float, float] | None = None
        self._share: float | None = None

    @property
    def cores(self) -> float | None:
        """1.0 for one core all the time; None until it was measured."""
        return self._share

    @property
    def total(self) -> float | None:
        """Seconds of CPU in total, when it was measured last; None until it was."""
        return None if self._last is None else self._last[1]

    def take(self, moment: float, cpu: float) -> None:
        """At this time (seconds) the process had used this many seconds of CPU in total."""
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
