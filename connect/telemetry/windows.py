"""Recent measurements: rates, averages and extremes over the last samples, as Kafka's metrics have them.

A sample covers `metrics.sample.window.ms`; the last `metrics.num.samples` of them count. So with 30 s and 2, an average
is over the last 30 to 60 seconds, and NaN without measurements in them.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from connect.telemetry.metrics import Buckets


class Span(NamedTuple):
    """The length of a sample, in seconds, and their number."""

    seconds: float = 30.0
    samples: int = 2


#: What Kafka's metrics have by default.
SPAN: Final = Span()


class _Sample:
    __slots__ = ("count", "largest", "since", "smallest", "total")

    def __init__(self, since: float) -> None:
        self.since = since
        self.count = 0.0
        self.total = 0.0
        self.smallest = math.inf
        self.largest = -math.inf


class Window:
    """Measurements of the last samples. For one thread at a time.

    Args:
        span: see `Span`.
        clock: monotonic, in seconds.
    """

    def __init__(self, span: Span = SPAN, clock: Callable[[], float] = time.monotonic) -> None:
        self._span = span._replace(seconds=max(span.seconds, 0.001))
        self._clock = clock
        self._samples: deque[_Sample] = deque()

    def record(
        self, total: float, count: float = 1, smallest: float | None = None, largest: float | None = None
    ) -> None:
        """Add `count` measurements with this sum and these extremes; by default one, of `total`."""
        now = self._clock()
        self._forget(now)
        if not self._samples or now - self._samples[-1].since >= self._span.seconds:
            self._samples.append(_Sample(now))
        sample = self._samples[-1]
        sample.count += count
        sample.total += total
        sample.smallest = min(sample.smallest, total if smallest is None else smallest)
        sample.largest = max(sample.largest, total if largest is None else largest)

    @property
    def rate(self) -> float:
        """The sum of the measurements per second. 0 when there was none."""
        now = self._clock()
        self._forget(now)
        if not self._samples:
            return 0.0
        # Before there are enough samples the time of the missing ones counts, or a first burst would seem endless.
        least = max(self._span.seconds * (self._span.samples - 1), 0.001)
        return sum(sample.total for sample in self._samples) / max(now - self._samples[0].since, least)

    @property
    def total(self) -> float:
        """The sum of the measurements."""
        self._forget(self._clock())
        return sum(sample.total for sample in self._samples)

    @property
    def average(self) -> float:
        """The mean of the measurements; NaN when there was none."""
        self._forget(self._clock())
        count = sum(sample.count for sample in self._samples)
        return sum(sample.total for sample in self._samples) / count if count else math.nan

    @property
    def smallest(self) -> float:
        """The smallest measurement; NaN when there was none."""
        self._forget(self._clock())
        return min((sample.smallest for sample in self._samples), default=math.nan)

    @property
    def largest(self) -> float:
        """The largest measurement; NaN when there was none."""
        self._forget(self._clock())
        return max((sample.largest for sample in self._samples), default=math.nan)

    def _forget(self, now: float) -> None:
        oldest = now - self._span.seconds * self._span.samples
        while self._samples and self._samples[0].since <= oldest:
            self._samples.popleft()


class Growth:
    """A window over the growth of another process's total, between its reports."""

    def __init__(self, span: Span = SPAN, clock: Callable[[], float] = time.monotonic) -> None:
        self.window = Window(span, clock)
        self._total = 0.0
        self._count = 0

    def take(self, value: float | Buckets) -> None:
        """The total is this now, of a counter or a histogram. A smaller one means that counting started over."""
        if not isinstance(value, Buckets):
            grown, self._total = value - self._total, value
            if grown > 0:
                self.window.record(grown)
            return
        count = value.seen
        if count < self._count:
            self._total, self._count = 0.0, 0
        if count > self._count:
            self.window.record(value.sum - self._total, count - self._count, value.smallest, value.largest)
        self._total, self._count = value.sum, count


class Rate:
    """Growth per second of a total that is read at intervals.

    Args:
        window: the period of the rate, in seconds.
        clock: monotonic, in seconds.
    """

    def __init__(self, window: float = 5, clock: Callable[[], float] = time.monotonic) -> None:
        self._window = window
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque()

    def update(self, total: float) -> None:
        """The total is this now. A smaller one than before means that counting started over."""
        if self._seen and total < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((self._clock(), total))
        self._forget()

    def per_second(self) -> float:
        """Growth per second over the window; 0 before there is anything to compare, and when nothing moves."""
        self._forget()
        if not self._seen:
            return 0.0
        since, first = self._seen[0]
        elapsed = self._clock() - since
        return (self._seen[-1][1] - first) / elapsed if elapsed > 0 else 0.0

    def _forget(self) -> None:
        # One that is older than the window stays, as where the window began.
        while len(self._seen) > 1 and self._seen[1][0] <= self._clock() - self._window:
            self._seen.popleft()
