"""The Spark sink connector's task: topics into tables."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from connect.data.record import TopicPartition
from connect.kafka.reading.topic_ends import TopicEnds
from spark_sink.layout_keys import DELTA, TOPIC
from spark_sink.query.generations import GENERATIONS, GENERATIONS_OF_ALL, Generations
from spark_sink.query.shapes import WRAP, shape_of
from spark_sink.query.sink_task import Former, SinkQuery, SinkQueryTask
from spark_sink.query.supervised import Query
from spark_sink.query.topic_tables import TopicTables
from spark_sink.reading.places import places
from spark_sink.reading.plan import RowShape, as_offsets, changed_at
from spark_sink.reading.sample import MORE_ROWS, Sampler
from spark_sink.table_rules import table_for
from spark_sink.table_settings import TableOptions, checkpoint_location
from spark_sink.tables import TableSettings, TableWriter
from spark_sink.tables.batch_offsets import BatchOffsets
from spark_sink.tables.hook import hooked, load
from spark_sink.tables.table import Table

log = logging.getLogger("connect.spark")

_LOOK_AGAIN_S: Final = 1.0


class TableTask(SinkQueryTask):
    """See `SinkQueryTask`.

    Where the table's name has the topic in it, each topic has columns of its own: the query reads ranges of offsets and
    `TopicTables` reads their records. Else all topics share the columns, and the query reads rows.
    """

    def prepare(self) -> None:
        config = TableOptions.definition().named(self.context.connector_config)
        self._settings = TableSettings.of(config)
        self._running = TableOptions.parse(config)
        self.only_ranges = TOPIC in config.get("table", "")
        self._samplers: dict[str, Sampler] = {}
        self._tables: TopicTables | None = None
        self._look_due = 0.0
        super().prepare()

    def begins(self, ends: TopicEnds) -> dict[TopicPartition, int]:
        options = self._running
        if options.starting_ms is None and not options.starting_offsets:
            return {}
        return places(ends, options.starting_offsets, options.starting_ms, ends.begins)

    def ends(self, ends: TopicEnds) -> dict[TopicPartition, int]:
        options = self._running
        if options.ending_ms is None and not options.ending_offsets:
            return {}
        return places(ends, options.ending_offsets, options.ending_ms, ends.ends)

    def check(self) -> None:
        if self._settings.hook and not self.session.remote:  # else it is imported where the server is
            load(self._settings.hook, self.context.plugin_path)

    def checkpoint_location(self) -> str:
        found = checkpoint_location(self.context.connector_config)
        if found is None:
            return self.folder_of_this_machine()
        return found

    def ledger(self) -> str:
        return GENERATIONS_OF_ALL if self.only_ranges else GENERATIONS

    def write(self, query: SinkQuery, rows: Any) -> Any:
        if query.only_ranges:
            return rows.writeStream.foreachBatch(self._topic_tables(query))
        topic = query.topics[0] if len(query.topics) == 1 and not self._routed() else None
        checkpoint = self.generations.checkpoint(self.generation, query.name)
        offsets = BatchOffsets(checkpoint, as_offsets(self.generation.start))
        writer = TableWriter(self._settings, self.context.connector, self.app_id(query), topic, offsets)
        return rows.writeStream.foreachBatch(hooked(writer, self.context.plugin_path))

    def written(self, query: SinkQuery, batch: int, topics: set[str]) -> set[str]:
        settings = self._settings
        if settings.format != DELTA or settings.hook:
            return set()  # what a function has done, only it knows
        if settings.is_one_table:
            return topics if self._has(settings.table, self.app_id(query), batch) else set()
        if not query.only_ranges or self._routed() or settings.table_field:
            return set()  # to which tables a topic's records went, only they say
        app_id = self._topic_tables(query).app_id
        return {
            topic for topic in topics if self._has(table_for(settings.table, topic, None), f"{app_id}/{topic}", batch)
        }

    def _has(self, table: str, app_id: str, batch: int) -> bool:
        newest = Table(self.session.spark, table).newest_transaction(app_id)
        return newest is not None and newest >= batch

    def former(self) -> Former | None:
        if not self.only_ranges:
            return None
        of_topics = Generations(self.session.spark, self.location)
        if (last := of_topics.current()) is None:
            return None
        there = {partition.topic for partition in self._ends.partitions()}
        everything = self.topics if isinstance(self.topics, list) else []
        found = []
        for name in sorted(of_topics.queries(last)):
            # A table for all topics, as it may have been configured before, had one query, too.
            of_all = name == self.queries[0].name and name not in there
            found.append(self.make_query(name, everything if of_all else [name], only_ranges=False))
        return Former(last, found)

    def _topic_tables(self, query: SinkQuery) -> TopicTables:
        """Writes a generation's batches; kept for all runs of the query, with what it knows of topics."""
        app_id = f"connect/{self.context.connector}/{self.generation.name}"
        if self._tables is None or self._tables.app_id != app_id:
            self._tables = made = TopicTables(self.plan(query, None), self._settings, app_id, self._routed())
            self.context.exit_stack.callback(made.close)
        return self._tables

    def _routed(self) -> bool:
        """Whether transformations may route records to other topics."""
        return bool((self.context.connector_config.get("transforms") or "").strip())

    def shape(self, query: SinkQuery) -> RowShape | None:
        if query.only_ranges:
            return None
        if query.sample is None or query.sample.values is None:
            self._look(query)
        return shape_of(query.name, query.sample, self._settings)

    def recover(self, query: Query, error: BaseException) -> bool:
        found = changed_at(error)
        if found is None:
            return False
        assert isinstance(query, SinkQuery)
        at, offset = found
        log.info("new fields, or fewer, in %s-%d at offset %d: the query restarts with them", *at, offset)
        before, sampler = query.sample, self._sampler(query)
        positions = {**query.progress.offsets, at: offset}
        query.sample = sampler.look(positions, before, self.keep_going, MORE_ROWS, first=at)
        return before is None or before.known != query.sample.known

    def _look(self, query: SinkQuery) -> None:
        now = time.monotonic()
        if query.sample is not None and now < self._look_due:
            return
        self._look_due = now + _LOOK_AGAIN_S
        positions, _ = self.generations.positions(self.generation, query.name)
        query.sample = self._sampler(query).look(positions, query.sample, self.keep_going)

    def _sampler(self, query: SinkQuery) -> Sampler:
        if query.name not in self._samplers:
            settings = self._settings
            made = Sampler(self.plan(query, None), WRAP, settings.wrap_key, events=settings.events)
            self._samplers[query.name] = made
            self.context.exit_stack.callback(made.close)
        return self._samplers[query.name]
