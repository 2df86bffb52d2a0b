"""How far streaming queries are, from what Spark says of each batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from connect.api.metrics import PluginMetrics
from connect.data.record import TopicPartition
from spark_sink.reading.plan import as_offsets


class QueryProgress:
    """One query's, over all its runs in this process.

    Args:
        name: of the query, for metrics.
        metrics: where figures go.

    Attributes:
        rows: read, since the first run.
        offsets: up to where everything is written.
        latest: where the topics end, as far as the query knows.
        topics: that rows were read from.
    """

    def __init__(self, name: str, metrics: PluginMetrics) -> None:
        self.rows = 0
        self.offsets: dict[TopicPartition, int] = {}
        self.latest: dict[TopicPartition, int] = {}
        self.topics: set[str] = set()
        self._name = name
        self._metrics = metrics
        self._seen: tuple[str, int] = ("", -1)

    @property
    def written(self) -> int:
        """Records that were written: as many as were read, where nobody counts them."""
        return self.rows

    @property
    def errors(self) -> int:
        """Records that were given up, where somebody counts them."""
        return 0

    @property
    def lag(self) -> int:
        """Records that wait; -1 while that is unknown."""
        if not self.latest:
            return -1
        return sum(max(0, end - self.offsets.get(place, 0)) for place, end in self.latest.items())

    def take(self, query: Any) -> None:
        """Take what is new. Reports of batches come in order; those of idle moments repeat the last batch's number."""
        for report in query.recentProgress:
            batch, run = int(report["batchId"]), str(report["runId"])
            source = report["sources"][0] if report["sources"] else {}
            self._places(source)
            if self._seen[0] == run and batch <= self._seen[1]:
                continue
            if rows := int(report["numInputRows"]):
                self._seen = (run, batch)
                self.rows += rows
                self._measure(report, rows)

    def _places(self, source: Mapping[str, Any]) -> None:
        if end := _offsets(source, "endOffset"):
            before = self.offsets
            self.offsets = {**before, **end}
            self.topics.update(place.topic for place, offset in end.items() if offset > before.get(place, 0))
        if latest := _offsets(source, "latestOffset"):
            self.latest = latest

    def _measure(self, report: Mapping[str, Any], rows: int) -> None:
        seconds = int(report["batchDuration"]) / 1000
        self._metrics.observe("connect_spark_batch_seconds", seconds, query=self._name)
        self._metrics.count("connect_spark_rows_total", rows, query=self._name)
        self._metrics.gauge("connect_spark_rows_per_second", rows / max(seconds, 0.001), query=self._name)
        state = sum(int(operator["numRowsTotal"]) for operator in report["stateOperators"])
        if state:
            self._metrics.gauge("connect_spark_state_rows", state, query=self._name)


def _offsets(source: Mapping[str, Any], which: str) -> dict[TopicPartition, int]:
    found = source.get(which) if isinstance(source, Mapping) else getattr(source, which, None)
    if isinstance(found, str):
        found = json.loads(found)
    return as_offsets(found) if isinstance(found, dict) else {}
