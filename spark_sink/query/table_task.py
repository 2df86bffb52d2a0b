"""The Spark sink connector's task: topics into tables, a query for each table that has a topic in its name."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

from connect.data.schema import OPTIONAL_STRING, Schema
from spark_sink.query.sink_task import SinkQuery, SinkQueryTask, TooEarly
from spark_sink.query.supervised import Query
from spark_sink.reading.plan import NOTHING_KNOWN, ReadPlan, RowShape, changed_at
from spark_sink.reading.sample import Sample, Sampler
from spark_sink.table_settings import DELTA, TOPIC, UPSERT, TableOptions, checkpoint_location
from spark_sink.tables import TableSettings, TableWriter
from spark_sink.tables.table import Table

log = logging.getLogger("connect.spark")

#: The column of values that are no structs.
_WRAP: Final = "value"
_MORE_ROWS: Final = 5_000
_LOOK_AGAIN_S: Final = 1.0


class TableTask(SinkQueryTask):
    """See `SinkQueryTask`."""

    def prepare(self) -> None:
        config = TableOptions.definition().named(self.context.connector_config)
        self._settings = TableSettings.of(config)
        self.query_for_each_topic = TOPIC in config.get("table", "")
        self._samplers: dict[str, Sampler] = {}
        self._look_due = 0.0
        super().prepare()

    def checkpoint_location(self) -> str:
        found = checkpoint_location(self.context.connector_config)
        if found is None:
            return self.folder_of_this_machine()
        return found

    def write(self, query: SinkQuery, rows: Any) -> Any:
        writer = TableWriter(self._settings, self.context.connector, self.app_id(query), self._topic(query))
        return rows.writeStream.foreachBatch(writer)

    def was_written(self, query: SinkQuery, batch: int) -> bool:
        settings = self._settings
        if settings.format != DELTA or not settings.is_one_table:
            return False
        newest = Table(self.session.spark, settings.table).newest_transaction(self.app_id(query))
        return newest is not None and newest >= batch

    def _topic(self, query: SinkQuery) -> str | None:
        """The topic of all rows, where that is known: transformations may route records elsewhere."""
        routed = bool((self.context.connector_config.get("transforms") or "").strip())
        return query.topics[0] if len(query.topics) == 1 and not routed else None

    def shape(self, query: SinkQuery) -> RowShape:
        if query.sample is None or query.sample.values is None:
            self._look(query)
        return shape_of(query.name, query.sample, self._settings)

    def recover(self, query: Query, error: BaseException) -> bool:
        found = changed_at(error)
        if found is None:
            return False
        assert isinstance(query, SinkQuery)
        at, offset = found
        log.info("new fields in %s-%d at offset %d: the query begins anew with them", *at, offset)
        sampler = self._sampler(query)
        query.sample = sampler.look({**query.progress.offsets, at: offset}, query.sample, self.keep_going, _MORE_ROWS)
        return True

    def _look(self, query: SinkQuery) -> None:
        now = time.monotonic()
        if query.sample is not None and now < self._look_due:
            return
        self._look_due = now + _LOOK_AGAIN_S
        positions, _ = self.generations.positions(self.generation, query.name)
        query.sample = self._sampler(query).look(positions, query.sample, self.keep_going)

    def _sampler(self, query: SinkQuery) -> Sampler:
        if query.name not in self._samplers:
            context = self.context
            plan = ReadPlan(
                connector=context.connector,
                topics=query.topics,
                pattern="" if query.topics else context.connector_config["topics.regex"],
                worker=context.worker_config,
                config=context.connector_config,
                plugin_path=tuple(context.plugin_path),
            )
            self._samplers[query.name] = made = Sampler(plan, _WRAP, self._settings.wrap_key)
            context.exit_stack.callback(made.close)
        return self._samplers[query.name]


def shape_of(name: str, sample: Sample | None, settings: TableSettings) -> RowShape:
    """The shape of rows for a table.

    Args:
        name: of the query, for messages.
        sample: what is known of the records.
        settings: of the table.

    Raises:
        TooEarly: there are no records yet.
    """
    if sample is None or (sample.values is None and not sample.waiting):
        raise TooEarly(f"{name}: no record yet that says which columns there are")
    keys = sample.keys if settings.wants_keys else None
    if settings.wants_keys and keys is None:
        # Of records that have none, as in the worker; those are refused where rows are merged by their keys.
        keys = NOTHING_KNOWN if settings.mode == UPSERT else Schema.struct({settings.wrap_key: OPTIONAL_STRING})
    return RowShape(
        sample.values or NOTHING_KNOWN,
        keys,
        _WRAP,
        settings.wrap_key,
        metadata=settings.wants_metadata,
        failures=settings.wants_failures,
        merged=settings.mode == UPSERT,
    )
