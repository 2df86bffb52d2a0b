"""The task of the source of a query: a streaming query, or one that is run repeatedly."""

from __future__ import annotations

from typing import Any

from spark_sink.query.polled import PolledQuery
from spark_sink.source.batches import BatchWriter, check_columns
from spark_sink.source.polls import Polls
from spark_sink.source.records import RowShape
from spark_sink.source.settings import OPTION, STREAM, SqlSourceOptions
from spark_sink.source.task import SourceProgress, SourceQueryTask

_VIEW = "source"


class SqlSourceTask(SourceQueryTask):
    """See `SourceQueryTask`. Offsets are those of the last written row, by the columns that show which rows are new."""

    options_class = SqlSourceOptions
    options: SqlSourceOptions

    def check(self) -> None:
        self._streams = self.options.mode == STREAM

    def has_checkpoint(self, name: str) -> bool:
        return super().has_checkpoint(name) if self._streams else True  # polls need none but their offset

    def partition(self) -> dict[str, Any]:
        return {"query": "query"}

    def first(self) -> dict[str, Any]:
        return {}

    def writes_here(self) -> bool:
        return not self._streams or super().writes_here()  # polls are ours, wherever Spark is

    def start_query(self) -> Any:
        return self._start_stream() if self._streams else self._start_polls()

    def offset_of(self, progress: SourceProgress) -> dict[str, Any] | None:
        if not self._streams or progress.batch < 0:
            return None  # polls tell it themselves
        return {"batch": progress.batch}

    def _start_stream(self) -> Any:
        options, spark = self.options, self.session.spark
        if options.source_format:
            reader = spark.readStream.format(options.source_format.strip())
            if options.source_schema:
                reader = reader.schema(options.source_schema)
            reader.options(**options.config.prefixed(OPTION)).load().createOrReplaceTempView(_VIEW)
        rows = spark.sql(options.query)
        shape = self._shape(rows.schema)
        return self.stream(rows, self.writer(shape), options.output_mode)

    def _start_polls(self) -> Any:
        options = self.options
        writer: BatchWriter | None = None

        def write(rows: Any, batch: int) -> None:
            nonlocal writer
            shape = self._shape(rows.schema)
            if writer is None or writer.shape != shape:
                writer = self.writer(shape)
            writer(rows, batch)

        polls = Polls(
            self.session.spark,
            options.query,
            options.incrementing_column,
            options.timestamp_column,
            options.timestamp_delay_ms,
            self.offset,
            write,
            self.store,
        )
        once = self.running.trigger != "interval"

        return PolledQuery(polls.once, options.poll_interval, self.may_begin, self.session.spark, once=once)

    def _shape(self, schema: Any) -> RowShape:
        options = self.options
        told = [column for column in (options.timestamp_column, options.incrementing_column) if column]
        order = dict.fromkeys([*told, *options.order_by])
        values = self.columns([field.name for field in schema.fields])
        shape = RowShape(options.topic, tuple(options.key_fields), values, tuple(order), self.partition())
        check_columns(schema, shape)
        return shape
