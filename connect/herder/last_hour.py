"""The last hour of the connectors that have tasks here, in memory: a point every ten seconds, for charts.

A chart needs no database then. Whoever wants to look back further asks Prometheus.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

EVERY_S: Final = 10.0
#: Points of a connector: an hour.
POINTS: Final = 360
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


@dataclass(slots=True)
class _Series:
    """Points in a ring, one number after another."""

    numbers: array[float]
    next: int = 0

    def add(self, point: Point) -> None:
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
        while not self._ended.wait(EVERY_S):
            self.look()


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
    return together(found) if found else float("nan")
