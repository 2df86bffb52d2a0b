"""Counters, gauges and histograms of one process, and of the task processes that report to it.

Names are Prometheus's: snake case, with the unit, counters ending in `_total`. A task's process sends what has
`changed()` since its last message, once a second at most; the worker keeps the last value of each series with `merge`,
also after the task has failed. An engine that runs plug-ins in processes that end sooner, such as Spark's executors,
adds their `text()` to the series of its task.
"""

from __future__ import annotations

import json
import math
import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[tuple[str, str], ...]

#: Upper ends, in seconds: from a fast poll to a timeout of a minute.
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
#: Upper ends, in seconds, of how old a record is: from a topic that is followed closely to one that was left for a day.
AGES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400)
#: Upper ends, in records.
RECORDS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144)

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LABEL = re.compile(r"(?!__|le$)[a-zA-Z_][a-zA-Z0-9_]*")


class Buckets(NamedTuple):
    """A histogram's content. `counts[i]` lie above `bounds[i-1]` and not above `bounds[i]`; one more is for the rest.

    `smallest` and `largest` are of the measurements since the last `Registry.changed`; NaN without any.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float
    smallest: float = math.nan
    largest: float = math.nan

    @property
    def seen(self) -> int:
        """The number of measurements."""
        return sum(self.counts)


class Sample(NamedTuple):
    """The current value of one series. Plain data: msgspec and JSON accept it."""

    name: str
    kind: Kind
    labels: dict[str, str]
    value: float | Buckets


class Counter:
    """A value that only grows. `changed` says whether it did since it was last reported."""

    kind: Final = "counter"

    def __init__(self) -> None:
        self.changed = True
        self._value: float = 0
        self._lock = threading.Lock()

    def add(self, amount: float = 1) -> None:
        """Add to it; `amount` is not negative."""
        with self._lock:
            self._value += amount
            self.changed = True

    def reach(self, total: float) -> None:
        """Set what another party has counted so far."""
        with self._lock:
            if total != self._value:
                self._value = total
                self.changed = True

    @property
    def value(self) -> float:
        """The sum so far."""
        return self._value

    def take(self) -> float:
        """The sum so far, which is being reported now."""
        with self._lock:
            self.changed = False
            return self._value


class Gauge:
    """A value that goes up and down. `changed` says whether it did since it was last reported."""

    kind: Final = "gauge"

    def __init__(self) -> None:
        self.changed = True
        self._value: float = 0

    def set(self, value: float) -> None:
        """Set the current value."""
        if value != self._value:
            self._value = value
            self.changed = True

    @property
    def value(self) -> float:
        """The last value."""
        return self._value

    def take(self) -> float:
        """The last value, which is being reported now."""
        self.changed = False
        return self._value


class Histogram:
    """The distribution of measurements. `changed` says whether there was one since it was last reported."""

    kind: Final = "histogram"

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = tuple(bounds)
        self.changed = True
        self._counts = [0] * (len(self.bounds) + 1)
        self._sum = 0.0
        self._smallest = math.inf
        self._largest = -math.inf
        self._lock = threading.Lock()

    def add(self, measured: Buckets) -> None:
        """Add the measurements of another process. ValueError when its buckets are others."""
        if measured.bounds != self.bounds:
            raise ValueError(f"Buckets that end at {measured.bounds} cannot be added to those at {self.bounds}.")
        with self._lock:
            self._counts = [mine + theirs for mine, theirs in zip(self._counts, measured.counts, strict=True)]
            self._sum += measured.sum
            if measured.smallest <= measured.largest:
                self._smallest = min(self._smallest, measured.smallest)
                self._largest = max(self._largest, measured.largest)
            self.changed = True

    def observe(self, value: float) -> None:
        """Add one measurement."""
        with self._lock:
            self._counts[bisect_left(self.bounds, value)] += 1
            self._sum += value
            self._smallest = min(self._smallest, value)
            self._largest = max(self._largest, value)
            self.changed = True

    @property
    def value(self) -> Buckets:
        """All measurements so far."""
        with self._lock:
            return self._buckets()

    def take(self) -> Buckets:
        """All measurements so far, which are being reported now."""
        with self._lock:
            told = self._buckets()
            self.changed = False
            self._smallest, self._largest = math.inf, -math.inf
            return told

    def _buckets(self) -> Buckets:
        seen = self._largest >= self._smallest
        extremes = (self._smallest, self._largest) if seen else (math.nan, math.nan)
        return Buckets(self.bounds, tuple(self._counts), self._sum, *extremes)


_Instrument = TypeVar("_Instrument", Counter, Gauge, Histogram)


class Registry:
    """All metrics of a process. Safe to use from many threads; keep the returned objects, they are cheap to add to."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, Labels], Counter | Gauge | Histogram] = {}
        self._kinds: dict[str, Kind] = {}
        self._merged: dict[str, dict[tuple[str, Labels], Sample]] = {}
        self._lock = threading.Lock()

    def counter(self, name: str, /, **labels: str) -> Counter:
        """The counter with this name, ending in `_total`, and these labels. ValueError for an invalid name."""
        return self._get(name, labels, Counter())

    def gauge(self, name: str, /, **labels: str) -> Gauge:
        """The gauge with this name and these labels."""
        return self._get(name, labels, Gauge())

    def histogram(self, name: str, bounds: Sequence[float] = SECONDS, /, **labels: str) -> Histogram:
        """The histogram with this name and these labels. `bounds` are the upper ends of its buckets, ascending."""
        return self._get(name, labels, Histogram(bounds))

    def labelled(self, **labels: str) -> Labelled:
        """The same metrics for a plug-in, with these labels on all."""
        return Labelled(self, labels)

    def snapshot(self) -> list[Sample]:
        """All current values, including merged ones. Counters and histograms of one name and labels are summed."""
        with self._lock:
            own = list(self._own.items())
            merged = [sample for part in self._merged.values() for sample in part.values()]
        samples = [Sample(name, one.kind, dict(labels), one.value) for (name, labels), one in own]
        found: dict[tuple[str, Labels], Sample] = {}
        for sample in (*samples, *merged):
            key = sample.name, _labels(sample.labels)
            found[key] = _sum(found[key], sample) if key in found else sample
        return list(found.values())

    def text(self) -> str:
        """All current values, for `Labelled.add` in another process; empty when there are none."""
        samples = self.snapshot()
        return json.dumps(samples, separators=(",", ":")) if samples else ""

    def changed(self) -> list[Sample]:
        """The series that this process has measured and not reported yet in this form: new ones too."""
        if not any(one.changed for one in tuple(self._own.values())):
            return []
        with self._lock:
            own = [(key, one) for key, one in self._own.items() if one.changed]
        return [Sample(name, one.kind, dict(labels), one.take()) for (name, labels), one in own]

    def merge(self, source: str, told: Iterable[Sample]) -> None:
        """Keep the report of another process, each series in place of its earlier value."""
        samples = {(sample.name, _labels(sample.labels)): sample for sample in told}
        with self._lock:
            self._merged.setdefault(source, {}).update(samples)

    def forget(self, source: str) -> None:
        """Drop the reports of another process: its task is gone for good."""
        with self._lock:
            self._merged.pop(source, None)

    def remove(self, **labels: str) -> None:
        """Drop the own series that have these labels: what they are about is gone for good."""
        wanted = labels.items()
        with self._lock:
            self._own = {key: one for key, one in self._own.items() if not wanted <= dict(key[1]).items()}

    def _get(self, name: str, labels: dict[str, str], new: _Instrument) -> _Instrument:
        key = name, _labels(labels)
        with self._lock:
            found = self._own.get(key)
            if found is None:
                self._check(name, labels, new.kind)
                self._own[key] = found = new
            if not isinstance(found, type(new)):
                raise ValueError(f"The metric {name} is a {found.kind}, not a {new.kind}.")
            return found

    def _check(self, name: str, labels: Iterable[str], kind: Kind) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f'"{name}" is not the name of a metric. Write it in snake case, with its unit.')
        if (kind == "counter") != name.endswith("_total"):
            raise ValueError(f"The metric {name} is a {kind}: names of counters end in _total, and no others.")
        for label in labels:
            if not _LABEL.fullmatch(label):
                raise ValueError(f'The metric {name} cannot have a label "{label}". Use letters, digits and _.')
        if self._kinds.setdefault(name, kind) != kind:
            raise ValueError(f"The metric {name} is a {self._kinds[name]}, not a {kind}.")


class Labelled:
    """Metrics of one plug-in: `connect.api.PluginMetrics`; `connect.api.EngineMetrics` where an engine runs it."""

    def __init__(self, registry: Registry, labels: dict[str, str]) -> None:
        self._registry = registry
        self._labels = labels

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        self._registry.counter(name, **(labels | self._labels)).add(amount)

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._registry.gauge(name, **(labels | self._labels)).set(value)

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Add one measurement to a histogram."""
        self._registry.histogram(name, SECONDS, **(labels | self._labels)).observe(value)

    def add(self, measured: str) -> None:
        """Add the `Registry.text` of another process: counters and histograms grow, gauges are set."""
        for name, kind, own, value in json.loads(measured) if measured else ():
            labels = own | self._labels
            if kind == "counter":
                self._registry.counter(name, **labels).add(value)
            elif kind == "gauge":
                self._registry.gauge(name, **labels).set(value)
            else:
                bounds, counts, *rest = value
                buckets = Buckets(tuple(bounds), tuple(counts), *rest)
                self._registry.histogram(name, buckets.bounds, **labels).add(buckets)


def _labels(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _sum(first: Sample, second: Sample) -> Sample:
    one, other = first.value, second.value
    if isinstance(one, Buckets) and isinstance(other, Buckets) and one.bounds == other.bounds:
        counts = tuple(a + b for a, b in zip(one.counts, other.counts, strict=True))
        return first._replace(value=Buckets(one.bounds, counts, one.sum + other.sum))
    if first.kind == "counter" and not isinstance(one, Buckets) and not isinstance(other, Buckets):
        return first._replace(value=one + other)
    return second
