"""The progress of streaming queries, from Spark's report of each batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from connect.api.metrics import PluginMetrics
from connect.data.record import TopicPartition
from spark_sink.reading.plan import as_offsets

#: The phase that is all of them together.
_WHOLE: Final = "triggerExecution"


class QueryProgress:
    """The progress of one query, over all its runs in this process.

    Args:
        name: of the query, for metrics.
        metrics: for its figures.
        rows_are_ranges: whether it reads ranges of offsets: these give the number of records that it wrote.

    Attributes:
        rows: read, since the first run.
        offsets: everything before them is written.
        latest: the ends of the topics, as far as the query knows.
        topics: that rows were read from.
    """

    def __init__(self, name: str, metrics: PluginMetrics, *, rows_are_ranges: bool = False) -> None:
        self.rows = 0
        self.offsets: dict[TopicPartition, int] = {}
        self.latest: dict[TopicPartition, int] = {}
        self.topics: set[str] = set()
        self._name = name
        self._metrics = metrics
        self._rows_are_ranges = rows_are_ranges
        self._seen: tuple[str, str] | None = None

    @property
    def newest(self) -> tuple[str, str] | None:
        """What distinguishes the last report: it changes with each batch."""
        return self._seen

    @property
    def written(self) -> int:
        """Written records: the number of read ones, where they are not counted."""
        return self.rows

    @property
    def errors(self) -> int:
        """Records that were given up, where they are counted."""
        return 0

    @property
    def lag(self) -> int:
        """Records that wait; -1 while that is unknown."""
        if not self.latest:
            return -1
        return sum(max(0, end - self.offsets.get(partition, 0)) for partition, end in self.latest.items())

    def take(self, query: Any) -> None:
        """Read new reports."""
        new = []
        for report in _newest_first(query):
            if (seen := (str(report["runId"]), str(report["timestamp"]))) == self._seen:
                break
            new.append((seen, report))
        for seen, report in reversed(new):
            self._seen = seen
            self._take(report)

    def _take(self, report: Mapping[str, Any]) -> None:
        source = report["sources"][0] if report["sources"] else {}
        end = _offsets(source, "endOffset")
        begin = dict.fromkeys(end, 0) | self.offsets | _offsets(source, "startOffset")
        # An end before the beginning is that of a partition recreated.
        moved = {
            partition: offset - (begin[partition] if begin[partition] <= offset else 0)
            for partition, offset in end.items()
        }
        self.offsets = {**self.offsets, **end}
        self.latest = _offsets(source, "latestOffset") or self.latest
        self.topics.update(partition.topic for partition, count in moved.items() if count)
        rows = sum(moved.values())
        if not self._rows_are_ranges:
            # Spark counts rows as often as they are read: a batch may be read more than once to be written.
            rows = min(rows_in(report), rows)
        if rows:
            self.rows += rows
            self._measure(report, rows)

    def _measure(self, report: Mapping[str, Any], rows: int) -> None:
        seconds = int(report["batchDuration"]) / 1000
        self._metrics.observe("connect_spark_batch_seconds", seconds, query=self._name)
        self._metrics.count("connect_spark_rows_total", rows, query=self._name)
        self._metrics.gauge("connect_spark_rows_per_second", rows / max(seconds, 0.001), query=self._name)
        for phase, milliseconds in report["durationMs"].items():
            if phase != _WHOLE:
                self._metrics.observe("connect_spark_phase_seconds", milliseconds / 1000, query=self._name, phase=phase)
        state = sum(int(operator["numRowsTotal"]) for operator in report["stateOperators"])
        if state:
            self._metrics.gauge("connect_spark_state_rows", state, query=self._name)


def rows_in(report: Mapping[str, Any]) -> int:
    """The number of rows of a batch. Over Spark Connect only the sources report it."""
    return sum(int(source["numInputRows"] or 0) for source in report["sources"])


def _newest_first(query: Any) -> Iterator[Mapping[str, Any]]:
    """Spark's stored reports of a query. `recentProgress` would transfer all of them each time."""
    if (in_java := getattr(query, "_jsq", None)) is None:  # Spark Connect
        yield from reversed(query.recentProgress)
        return
    reports = in_java.recentProgress()
    for index in reversed(range(len(reports))):
        yield json.loads(reports[index].json())


def _offsets(source: Mapping[str, Any], which: str) -> dict[TopicPartition, int]:
    found = source.get(which)
    if isinstance(found, str):
        found = json.loads(found)
    return as_offsets(found) if isinstance(found, dict) else {}
