"""The driver's side of reading: which offsets there are, how much of them a batch takes, into which parts it is cut.

Runs in a Python process that Spark starts beside its driver, called from one thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from connect.data.record import TopicPartition
from connect.kafka.range_consumer import DataLossError
from connect.kafka.topic_ends import TopicEnds
from spark_sink.query.gate import work_may_begin
from spark_sink.reading.plan import OffsetMap, ReadPlan

#: How often topics and partitions are looked for that came.
_PLACES_S: Final = 5.0
#: A part is not cut smaller.
_LEAST_ROWS: Final = 20_000


class Part(InputPartition):
    """A range of one partition's offsets, read by one Spark task."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(None)
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a plan's topics. Travels to the executors for `read`, without a client."""

    def __init__(self, plan: ReadPlan, schema: Any) -> None:
        self._plan = plan
        self._schema = schema
        self._ends: TopicEnds | None = None
        self._places: list[TopicPartition] = []
        self._places_due = 0.0
        self._latest: dict[TopicPartition, int] = {}
        self._frozen: dict[TopicPartition, int] | None = None
        self._allowed_at = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ends": None}

    # Called by Spark's driver.

    def initialOffset(self) -> OffsetMap:  # noqa: N802 - Spark's names, here and below
        return {topic: {str(k): int(v) for k, v in parts.items()} for topic, parts in self._plan.start.items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = [self._plan.most_records] if self._plan.most_records else []
        if self._plan.most_bytes:
            most.append(max(1, int(self._plan.most_bytes / max(1.0, self._plan.record_bytes))))
        return ReadMaxRows(min(most)) if most else ReadAllAvailable()

    def latestOffset(self, start: OffsetMap, limit: ReadLimit) -> OffsetMap:  # noqa: N802
        gate = self._plan.gate
        if gate is not None and not work_may_begin(gate):
            return start
        ends = self._frozen if self._frozen is not None else self._find_ends()
        begin = self._begin(start, ends)
        most = min(_rows(limit), self._by_rate())
        taken = _take(begin, ends, most)
        if self._plan.most_per_second:
            self._spent(sum(taken[place] - begin[place] for place in taken))
        return _as_map({**begin, **taken}, start)

    def reportLatestOffset(self) -> OffsetMap | None:  # noqa: N802
        return _as_map(self._latest, {}) if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._frozen = self._find_ends()

    def partitions(self, start: OffsetMap, end: OffsetMap) -> list[Part]:
        ranges = []
        for topic, parts in end.items():
            for partition, until in parts.items():
                begin = start.get(topic, {}).get(partition, 0)
                if begin < until:
                    ranges.append(Part(topic, int(partition), begin, until))
        whole = sum(part.end - part.start for part in ranges)
        if self._plan.rows is None or not self._plan.parts or not whole:
            return ranges
        size = max(_LEAST_ROWS, -(-whole // self._plan.parts))
        return [cut for part in ranges for cut in _cut(part, size)]

    def stop(self) -> None:
        self._ends = None

    # In the executors.

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from spark_sink.reading.executor import read

        assert isinstance(partition, Part)
        return read(self._plan, self._schema, partition)

    # Offsets.

    def _find_ends(self) -> dict[TopicPartition, int]:
        plan = self._plan
        if self._ends is None:
            self._ends = TopicEnds(plan.worker, plan.config, plan.subscription())
        now = time.monotonic()
        if now >= self._places_due:
            self._places = self._ends.places()
            self._places_due = now + _PLACES_S
        self._latest = {place: end for place, end in self._ends.ends(self._places).items() if end >= 0}
        return self._latest

    def _begin(self, start: OffsetMap, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Where each partition goes on: a new one with its first record."""
        known = {TopicPartition(t, int(p)): offset for t, parts in start.items() for p, offset in parts.items()}
        new = [place for place in ends if place not in known]
        if new:
            if self._ends is None:
                self._find_ends()
            assert self._ends is not None
            known.update({place: max(0, first) for place, first in self._ends.begins(new).items()})
        for place, end in ends.items():
            if known[place] > end and self._plan.fail_on_data_loss:
                raise DataLossError(
                    f"{place.topic}-{place.partition} ends at offset {end}, before {known[place]} where reading was to"
                    " go on: it was made anew, or truncated. Reset the connector's offsets, or set"
                    " fail.on.data.loss=false."
                )
        return known

    def _by_rate(self) -> float:
        """How many records may be read now."""
        rate = self._plan.most_per_second
        if not rate:
            return float("inf")
        now = time.monotonic()
        self._allowed_at = max(self._allowed_at, now - 1.0)  # at most a second's worth is saved up
        return max(0.0, (now - self._allowed_at) * rate)

    def _spent(self, records: int) -> None:
        self._allowed_at += records / self._plan.most_per_second


def _rows(limit: ReadLimit) -> float:
    return float(limit.max_rows) if isinstance(limit, ReadMaxRows) else float("inf")


def _take(
    begin: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: float
) -> dict[TopicPartition, int]:
    """Up to where each partition is read: of each the same share of what waits, so that none is left behind."""
    waiting = {place: max(0, end - begin[place]) for place, end in ends.items()}
    whole = sum(waiting.values())
    if whole <= most:
        return {place: begin[place] + count for place, count in waiting.items()}
    share, left = most / whole, int(most)
    taken = {}
    for place, count in sorted(waiting.items(), key=lambda item: -item[1]):
        rows = min(left, count, math.ceil(count * share))
        taken[place] = begin[place] + rows
        left -= rows
    return taken


def _cut(part: Part, size: int) -> Iterator[Part]:
    pieces = max(1, (part.end - part.start) // size)
    step = -(-(part.end - part.start) // pieces)
    for start in range(part.start, part.end, step):
        yield Part(part.topic, part.partition, start, min(part.end, start + step))


def _as_map(offsets: Mapping[TopicPartition, int], before: OffsetMap) -> OffsetMap:
    """As Spark keeps them. A topic that is gone keeps what was known of it."""
    merged: OffsetMap = {topic: dict(parts) for topic, parts in before.items()}
    for place, offset in sorted(offsets.items()):
        merged.setdefault(place.topic, {})[str(place.partition)] = offset
    return merged
