"""Families of series as the SDK's data: counters as monotonic sums, gauges, histograms with their buckets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from connect.telemetry.exposition import Family
from connect.telemetry.metrics import Buckets
from connect.telemetry.otlp.names import attributes, named

_CUMULATIVE: Final = AggregationTemporality.CUMULATIVE
_Key = tuple[str, tuple[tuple[str, str], ...]]


class Points:
    """Makes data of what a page for Prometheus shows. For one thread.

    A receiver of sums has to know since when they were added up. A task that starts again counts from 0: its series
    have begun anew when they are smaller than before.

    Args:
        resource: that of the process.
        scope: who measures.
        began: of the process, in nanoseconds since the epoch.
    """

    def __init__(self, resource: Resource, scope: InstrumentationScope, began: int) -> None:
        self._resource = resource
        self._scope = scope
        self._began = began
        self._since: dict[_Key, tuple[float, int]] = {}
        self._last = began

    def of(self, families: Iterable[Family], now: int) -> MetricsData:
        """The data of all series, at this time in nanoseconds since the epoch. Gauges without a value are left out."""
        since, self._since = self._since, {}
        metrics = [metric for family in families if (metric := self._metric(family, since, now)) is not None]
        self._last = now
        scoped = ScopeMetrics(self._scope, metrics, "")
        return MetricsData([ResourceMetrics(self._resource, [scoped], "")])

    def _metric(self, family: Family, since: Mapping[_Key, tuple[float, int]], now: int) -> Metric | None:
        name, unit = named(family.name, family.kind)
        points: list[Any] = []
        for labels, value in family.series:
            about = attributes(family.name, labels)
            if isinstance(value, Buckets):
                start = self._start(family.name, labels, value.seen, since)
                # What was smallest and largest is known for the time since a task's last report only.
                extremes: Any = None
                points.append(
                    HistogramDataPoint(
                        *(about, start, now, value.seen, value.sum, value.counts, value.bounds, extremes, extremes)
                    )
                )
            elif family.kind == "counter":
                points.append(NumberDataPoint(about, self._start(family.name, labels, value, since), now, float(value)))
            elif math.isfinite(value):
                points.append(NumberDataPoint(about, 0, now, float(value)))
        if not points:
            return None
        data: Any
        if family.kind == "histogram":
            data = Histogram(points, _CUMULATIVE)
        elif family.kind == "counter":
            data = Sum(points, _CUMULATIVE, is_monotonic=True)
        else:
            data = Gauge(points)
        return Metric(name, family.doc, unit, data)

    def _start(
        self, name: str, labels: Mapping[str, str], total: float, since: Mapping[_Key, tuple[float, int]]
    ) -> int:
        key = name, tuple(labels.items())
        before = since.get(key)
        start = self._last if before is None or total < before[0] else before[1]
        self._since[key] = total, start
        return start
