"""The last hour of the connectors that have tasks here, in memory: a point every ten seconds, for charts.

A chart needs no database then. Whoever wants to look back further asks Prometheus.
"""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

EVERY_S: Final = 10.0
#: Points of a connector: an hour.
POINTS: Final = 360
#: A sparkline has a point for two minutes, so that 30 of them are the same hour.
SPARKLINE_EVERY_S: Final = 120.0
SPARKLINE_POINTS: Final = 30
_LAST_LOOK_S: Final = 1.0


class TaskTotals(NamedTuple):
    """What a task has done until now.

    Attributes:
        process: changes when the task starts again, and its totals from zero.
        records: handed to the target or acknowledged by the broker.
        errors: records given up.
        lag: records that wait in the topics of a sink; NaN where that is unknown.
        put_s: the average of recent puts, in seconds; NaN without any, and of a source.
        age_s: the age of the oldest recent record when it was put or acknowledged; NaN without any.
    """

    process: int
    records: float
    errors: float
    lag: float
    put_s: float
    age_s: float


class Point(NamedTuple):
    """The tasks of a connector together, over ten seconds.

    Attributes:
        at: the end, in ms since the epoch.
        records, errors: for each second.
        lag: the sum of the tasks; NaN if no task knows its own.
        put_s, age_s: the highest of the tasks; NaN without any.
        tasks: how many.
    """

    at: float
    records: float
    errors: float
    lag: float
    put_s: float
    age_s: float
    tasks: float


class Sparkline(NamedTuple):
    """The same hour in few points, oldest first; NaN where nothing is known.

    Attributes:
        newest: the number of the last interval since the epoch. It may not be over yet.
        records: for each second, on average.
        lag: the highest.
    """

    newest: int
    records: Sequence[float]
    lag: Sequence[float]


def _unknown() -> deque[float]:
    return deque([math.nan] * SPARKLINE_POINTS, maxlen=SPARKLINE_POINTS)


@dataclass(slots=True)
class _Intervals:
    """The points of a sparkline, kept up to date point by point: it is read for all connectors at once."""

    newest: int = 0
    looks: int = 0
    records: deque[float] = field(default_factory=_unknown)
    lag: deque[float] = field(default_factory=_unknown)

    def add(self, point: Point) -> None:
        middle = point.at / 1000 - EVERY_S / 2
        ahead = int(middle // SPARKLINE_EVERY_S) - self.newest
        if ahead > 0:  # else the clock was set back
            self.newest += ahead
            self.looks = 0
            for kept in (self.records, self.lag):
                kept.extend([math.nan] * min(ahead, SPARKLINE_POINTS))
        self.looks += 1
        before = self.records[-1] if self.looks > 1 else 0.0
        self.records[-1] = before + (point.records - before) / self.looks
        self.lag[-1] = _known(max, (self.lag[-1], point.lag))


@dataclass(slots=True)
class _Series:
    """Points in a ring, one number after another."""

    numbers: array[float]
    next: int = 0
    intervals: _Intervals = field(default_factory=_Intervals)

    def add(self, point: Point) -> None:
        self.intervals.add(point)
        width = len(point)
        self.numbers[self.next * width : (self.next + 1) * width] = array("d", point)
        self.next = (self.next + 1) % POINTS

    def points(self) -> list[Point]:
        width = len(Point._fields)
        found = [Point(*self.numbers[at : at + width]) for at in range(0, len(self.numbers), width)]
        return found if len(found) < POINTS else [*found[self.next :], *found[: self.next]]


class LastHour:
    """Safe to use from many threads.

    Args:
        totals: of each task that runs here, by connector and number. Called every ten seconds.
        clock, wall: monotonic, and since the epoch; both in seconds.
    """

    def __init__(
        self,
        totals: Callable[[], Mapping[tuple[str, int], TaskTotals]],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._totals = totals
        self._clock, self._wall = clock, wall
        self._before: dict[tuple[str, int], TaskTotals] = {}
        self._moment = clock()
        self._series: dict[str, _Series] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="last hour", daemon=True)

    def start(self) -> None:
        """Start to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more. No thread is left to the end of the interpreter."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_LOOK_S)

    def of(self, connector: str) -> list[Point]:
        """The points of a connector, oldest first; none if it has no task here."""
        with self._lock:
            series = self._series.get(connector)
            return [] if series is None else series.points()

    def sparklines(self) -> dict[str, Sparkline]:
        """Of each connector that had a task here within the hour."""
        with self._lock:
            found = {name: series.intervals for name, series in self._series.items()}
            return {name: Sparkline(one.newest, tuple(one.records), tuple(one.lag)) for name, one in found.items()}

    def look(self) -> None:
        """Add a point to each connector. Forgets connectors that have had no task here for an hour."""
        now, seconds = self._totals(), self._clock() - self._moment
        self._moment += seconds
        by_connector: dict[str, list[tuple[float, float, TaskTotals]]] = {}
        for key, totals in now.items():
            before = self._before.get(key)
            if before is None or before.process != totals.process:
                before = totals._replace(records=0.0, errors=0.0)
            done = max(0.0, totals.records - before.records), max(0.0, totals.errors - before.errors)
            by_connector.setdefault(key[0], []).append((*done, totals))
        self._before = dict(now)
        at = self._wall() * 1000
        with self._lock:
            for connector, tasks in by_connector.items():
                series = self._series.setdefault(connector, _Series(array("d")))
                series.add(_point(at, seconds, tasks))
            old = at - EVERY_S * POINTS * 1000
            for connector in [name for name in self._series if name not in by_connector]:
                if self._series[connector].points()[-1].at < old:
                    del self._series[connector]

    def _run(self) -> None:
        while not self._ended.wait(until_next_look(self._wall())):
            self.look()


def until_next_look(wall: float) -> float:
    """Seconds from this time. All workers look at the same moments, so that their points can be added up."""
    left = EVERY_S - wall % EVERY_S
    return left if left > EVERY_S / 2 else left + EVERY_S


def _point(at: float, seconds: float, tasks: list[tuple[float, float, TaskTotals]]) -> Point:
    return Point(
        at,
        sum(records for records, _, _ in tasks) / seconds,
        sum(errors for _, errors, _ in tasks) / seconds,
        _known(sum, (totals.lag for _, _, totals in tasks)),
        _known(max, (totals.put_s for _, _, totals in tasks)),
        _known(max, (totals.age_s for _, _, totals in tasks)),
        len(tasks),
    )


def _known(together: Callable[[list[float]], float], values: Iterable[float]) -> float:
    found = [value for value in values if value == value]
    return together(found) if found else math.nan
