"""The driver's side of reading: which offsets exist, how many of them a batch gets, and how it is split.

Runs in a Python process that Spark starts beside its driver, called from one thread.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from connect.data.record import TopicPartition
from connect.errors import ConnectError
from connect.kafka.reading.range_consumer import DataLossError
from connect.kafka.reading.topic_ends import TopicEnds
from spark_sink.lease_file import work_may_begin
from spark_sink.reading.admission import Pace, take
from spark_sink.reading.part import Part, Parts, cut_all
from spark_sink.reading.plan import OffsetMap, ReadPlan, as_map, as_offsets
from spark_sink.reading.sizes import RecordSizes

log = logging.getLogger("connect.spark")

#: How often topics and partitions are looked for that came.
_PLACES_S: Final = 5.0
#: How long brokers may not say where topics end before the query fails.
_SILENCE_S: Final = 60.0


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a plan's topics. Travels to the executors for `read`, without a client."""

    def __init__(self, plan: ReadPlan, schema: Any) -> None:
        self._plan = plan
        self._schema = schema
        self._ends: TopicEnds | None = None
        self._sizes: RecordSizes | None = None
        self._partitions: list[TopicPartition] = []
        self._places_due = 0.0
        self._latest: dict[TopicPartition, int] = {}
        self._answered: float | None = None
        self._frozen: dict[TopicPartition, int] | None = None
        self._pace = Pace(plan.most_per_second)
        self._turn = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ends": None, "_sizes": None}

    # Called by Spark's driver.

    def initialOffset(self) -> OffsetMap:  # noqa: N802 - Spark's names, here and below
        return {topic: {str(k): int(v) for k, v in parts.items()} for topic, parts in self._plan.start.items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # Spark asks once. How many records the limit of bytes allows is found out for each batch.
        return ReadMaxRows(self._plan.most_records) if self._plan.most_records else ReadAllAvailable()

    def latestOffset(self, start: OffsetMap, limit: ReadLimit) -> OffsetMap:  # noqa: N802
        lease_file = self._plan.lease_file
        if lease_file is not None and not work_may_begin(lease_file):
            self._pace.allowed()  # what was not read meanwhile is not made up for
            return start
        ends = self._frozen if self._frozen is not None else self._find_ends()
        begin = self._begin(start, ends)
        ends = {partition: max(begin[partition], end) for partition, end in self._bounded(ends).items()}
        if self._frozen is not None and any(end > begin[partition] for partition, end in ends.items()):
            self._pace.wait()  # "nothing more" would be the end of the query
        most = min(_rows(limit), self._pace.allowed())
        if self._plan.most_bytes:
            most = min(most, self._measured().records(begin, ends, most))
        if lease_file is not None and not work_may_begin(lease_file):
            return start  # brokers have taken their time
        taken = take(begin, ends, most, self._turn)
        self._turn += len(taken)
        self._pace.spend(sum(offset - begin[partition] for partition, offset in taken.items()))
        return _as_map({**begin, **taken}, start)

    def reportLatestOffset(self) -> OffsetMap | None:  # noqa: N802
        return _as_map(self._bounded(self._latest), {}) if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._frozen = self._find_ends()

    def partitions(self, start: OffsetMap, end: OffsetMap) -> list[InputPartition]:
        ranges = self._ranges(start, end)
        if self._plan.only_ranges:
            return [Parts(cut_all(ranges, self._plan.parts))] if ranges else []
        return list(ranges if self._plan.rows is None else cut_all(ranges, self._plan.parts))

    def _ranges(self, start: OffsetMap, end: OffsetMap) -> list[Part]:
        known, until = as_offsets(start), as_offsets(end)
        # Of a partition that came, or was recreated, all that there is.
        firsts = self._firsts(
            [partition for partition, offset in until.items() if known.get(partition, offset + 1) > offset]
        )
        begin = {**known, **firsts}
        return [
            Part(*partition, begin[partition], offset)
            for partition, offset in until.items()
            if begin[partition] < offset
        ]

    def stop(self) -> None:
        self._ends = None
        if self._sizes is not None:
            self._sizes.close()
            self._sizes = None

    # In the executors.

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from spark_sink.reading.executor import read

        if isinstance(partition, Parts):
            return iter([partition.rows()])
        assert isinstance(partition, Part)
        return read(self._plan, self._schema, partition)

    # Offsets.

    def _asked(self) -> TopicEnds:
        if self._ends is None:
            self._ends = TopicEnds(self._plan.worker, self._plan.config, self._plan.subscription())
        return self._ends

    def _measured(self) -> RecordSizes:
        if self._sizes is None:
            self._sizes = RecordSizes(self._plan)
        return self._sizes

    def _find_ends(self) -> dict[TopicPartition, int]:
        """Find the ends of partitions, or return those that the brokers reported recently.

        Raises:
            ConnectError: they do not answer for a while, or never did.
        """
        try:
            self._latest = self._ask_for_ends()
            self._answered = time.monotonic()
        except ConnectError as error:
            if self._answered is None or time.monotonic() - self._answered > _SILENCE_S:
                raise
            log.warning("%s Trying again; nothing is lost.", error)
        return self._latest

    def _bounded(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The ends, not beyond that of the plan. A partition that came after the plan was made is not read by it."""
        if not self._plan.end:
            return dict(ends)
        bounds = as_offsets(self._plan.end)
        return {partition: min(end, bounds.get(partition, 0)) for partition, end in ends.items()}

    def _ask_for_ends(self) -> dict[TopicPartition, int]:
        if looked := time.monotonic() >= self._places_due:
            self._look_for_places()
        try:
            return self._asked().ends(self._partitions)
        except ConnectError:
            if looked:
                raise
            self._look_for_places()  # a topic may be gone
            return self._asked().ends(self._partitions)

    def _look_for_places(self) -> None:
        self._partitions = self._asked().partitions()
        self._places_due = time.monotonic() + _PLACES_S

    def _begin(self, start: OffsetMap, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Where each partition continues: a new one at its first record."""
        known = as_offsets(start)
        for partition, end in ends.items():
            if known.get(partition, 0) > end:
                words = (
                    f"{partition.topic}-{partition.partition} ends at offset {end}, before {known[partition]} where"
                    " reading was to go on: it was recreated, or truncated."
                )
                if self._plan.fail_on_data_loss:
                    raise DataLossError(
                        f"{words} Reset the connector's offsets (a DataFrame's stream: take another checkpoint), "
                        "or set fail.on.data.loss=false."
                    )
                log.warning("%s It is read from its first record.", words)
                del known[partition]
        return {**known, **self._firsts([partition for partition in ends if partition not in known])}

    def _firsts(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The offsets of the first records; 0 for a deleted partition, which the executors then report as missing."""
        if not partitions:
            return {}
        there = set(self._asked().partitions()).intersection(partitions)
        return {**dict.fromkeys(partitions, 0), **self._asked().begins(there)}


def _rows(limit: ReadLimit) -> float:
    return float(limit.max_rows) if isinstance(limit, ReadMaxRows) else math.inf


def _as_map(offsets: Mapping[TopicPartition, int], before: OffsetMap) -> OffsetMap:
    """In Spark's form. A deleted topic keeps its last offsets."""
    return as_map({**as_offsets(before), **offsets})
