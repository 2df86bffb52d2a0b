"""TopicTables: one query for any number of topics, each read in a shape of its own and written to its own tables.

A query and its Python processes for each topic cost 60 MB and more (300 tables: 19 GB). Here the query's source returns
only the ranges of offsets of a batch; the batch reads each topic's records, and writes topics in parallel.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from spark_sink.commit_notes import covered
from spark_sink.query.shapes import WRAP, shape_of
from spark_sink.reading.frame import rows_of
from spark_sink.reading.part import Part, begins_and_ends
from spark_sink.reading.plan import ReadPlan, changed_at
from spark_sink.reading.sample import MORE_ROWS, Sample, Sampler
from spark_sink.tables import TableSettings, TableWriter
from spark_sink.tables.hook import ForeachBatch, hooked
from spark_sink.tables.sessions import clone

log = logging.getLogger("connect.spark")

#: So many topics are written at once. A commit is mostly waiting for the driver, on a store mostly for the store.
_AT_ONCE: Final = 8


@dataclass
class _Topic:
    """What is known of one topic.

    Attributes:
        writer: of its tables.
        sample: of its records; None before the first.
    """

    writer: TableWriter | ForeachBatch
    sample: Sample | None = None


class _Lane:
    """Resources of one thread at a time. A lane is created by a batch, and kept for the next ones.

    Attributes:
        spark: a session with the settings of the query's. MERGE takes its transaction from there: another topic's must
            not be in it.
    """

    def __init__(self, spark: Any, plan: ReadPlan, settings: TableSettings) -> None:
        self.spark = _cloned(spark)
        self._make_sampler = partial(Sampler, plan, WRAP, settings.wrap_key, events=settings.events)
        self._sampler: Sampler | None = None

    @property
    def sampler(self) -> Sampler:
        if self._sampler is None:
            self._sampler = self._make_sampler()
        return self._sampler

    def close(self) -> None:
        if self._sampler is not None:
            self._sampler.close()


@dataclass
class TopicTables:
    """Writes batches of ranges (`spark_sink.raw_rows.RANGES_SCHEMA`); for `DataStreamWriter.foreachBatch`.

    Called with one batch after the other, in one thread, in the process that Spark runs such functions in: the task's,
    or one beside a Spark Connect server. What `TableWriter` guarantees for a repeated batch holds for each topic. What
    it learns of topics is kept as long as the object lives, but not pickled.

    Attributes:
        plan: of the query. Records are read by it, too, in the shape of their topic.
        settings: how tables are written.
        app_id: of the query; with the topic's name, it names the transactions of a topic.
        routed: whether transformations may change a record's topic.
    """

    plan: ReadPlan
    settings: TableSettings
    app_id: str
    routed: bool
    _topics: dict[str, _Topic] = field(default_factory=dict, init=False, repr=False)
    _lanes: list[_Lane] = field(default_factory=list, init=False, repr=False)  # those that no thread uses now

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_topics": {}, "_lanes": []}

    def __call__(self, df: Any, batch_id: int) -> None:
        """Write a batch. Returns or raises when no topic is being written any more.

        Raises:
            Exception: as `TableWriter`, for the first topic that fails; those that were being written are finished,
                others not begun.
        """
        from pyspark.util import inheritable_thread_target

        by_topic: dict[str, list[Part]] = {}
        for row in df.collect():
            by_topic.setdefault(row.topic, []).append(Part(row.topic, row.partition, row.start, row.end))
        spark = df.sparkSession
        # With the query's job group: who stops the query stops these jobs, too.
        write = inheritable_thread_target(spark)(self._write)
        with ThreadPoolExecutor(_AT_ONCE, "topic") as pool:
            running = [pool.submit(write, spark, topic, parts, batch_id) for topic, parts in by_topic.items()]
            for waiting in wait(running, return_when=FIRST_EXCEPTION).not_done:
                waiting.cancel()
        for each in running:
            if not each.cancelled():
                each.result()

    def close(self) -> None:
        """Close the clients. No batch is being written."""
        while self._lanes:
            self._lanes.pop().close()

    def _write(self, spark: Any, topic: str, parts: Sequence[Part], batch_id: int) -> None:
        if (known := self._topics.get(topic)) is None:
            known = self._topics[topic] = _Topic(self._writer(topic))
        ends = begins_and_ends(parts)
        ranges = covered({at: begin for at, (begin, _) in ends.items()}, {at: end for at, (_, end) in ends.items()})
        with self._lane(spark) as lane:
            if known.sample is None:
                known.sample = lane.sampler.look_at(ends, None)
            while True:
                shape = shape_of(topic, known.sample, self.settings)
                plan = replace(self.plan, rows=shape, only_ranges=False)
                try:
                    known.writer(rows_of(lane.spark, plan, parts), batch_id, ranges)
                except Exception as error:
                    if not self._learn(known, parts, error, lane.sampler):
                        raise
                else:
                    return

    def _learn(self, known: _Topic, parts: Sequence[Part], error: Exception, sampler: Sampler) -> bool:
        """Whether an error says that records have new fields, and a sample has shown which."""
        found = changed_at(error)
        if found is None:
            return False
        at, offset = found
        log.info("new fields in %s-%d at offset %d: the topic is read again with them", *at, offset)
        end = begins_and_ends(parts)[at][1]
        before = known.sample
        known.sample = sampler.look_at({at: (offset, end)}, before, rows=MORE_ROWS)
        return before is None or before.known != known.sample.known

    def _writer(self, topic: str) -> TableWriter | ForeachBatch:
        named = None if self.routed else topic
        writer = TableWriter(self.settings, self.plan.connector, f"{self.app_id}/{topic}", named)
        return hooked(writer, self.plan.plugin_path)

    @contextmanager
    def _lane(self, spark: Any) -> Iterator[_Lane]:
        try:
            one = self._lanes.pop()
        except IndexError:
            one = _Lane(spark, self.plan, self.settings)
        try:
            yield one
        finally:
            self._lanes.append(one)


def _cloned(spark: Any) -> Any:
    """A session for a lane. Over Spark Connect the same one.

    There each would be another connection, and code that takes its settings from the session clones it itself.
    """
    return spark if hasattr(type(spark), "cloneSession") else clone(spark)
