"""The task of the source of a query: a streaming query, or one that is run again and again."""

from __future__ import annotations

from typing import Any, ClassVar

from connect.settings import Definition
from spark_sink.source import settings
from spark_sink.source.batches import BatchWriter, check_columns
from spark_sink.source.polling import PolledQuery
from spark_sink.source.polls import Polls
from spark_sink.source.records import RowShape
from spark_sink.source.task import SourceProgress, SourceQueryTask

_VIEW = "source"


class SqlSourceTask(SourceQueryTask):
    """See `SourceQueryTask`. Offsets are those of the last row that is written, by the columns that tell."""

    settings: ClassVar[Definition] = settings.SQL

    def check(self) -> None:
        self._streams = self.config["mode"] == settings.STREAM

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
        config, spark = self.config, self.session.spark
        if config["source.format"]:
            reader = spark.readStream.format(config["source.format"].strip())
            if config["source.schema"]:
                reader = reader.schema(config["source.schema"])
            reader.options(**config.prefixed(settings.OPTION)).load().createOrReplaceTempView(_VIEW)
        rows = spark.sql(config["query"])
        shape = self._shape(rows.schema)
        return self.stream(rows, self.writer(shape), config["output.mode"])

    def _start_polls(self) -> Any:
        config = self.config
        writer: BatchWriter | None = None

        def write(rows: Any, batch: int) -> None:
            nonlocal writer
            shape = self._shape(rows.schema)
            if writer is None or writer.shape != shape:
                writer = self.writer(shape)
            writer(rows, batch)

        polls = Polls(
            self.session.spark,
            config["query"],
            config["incrementing.column.name"],
            config["timestamp.column.name"],
            config["timestamp.delay.interval.ms"],
            self.offset,
            write,
            self.store,
        )
        once = self.running["trigger"] != "interval"
        return PolledQuery(polls.once, config["poll.interval.ms"] / 1000, self.may_begin, self.session.spark, once=once)

    def _shape(self, schema: Any) -> RowShape:
        config = self.config
        told = [config[name] for name in ("timestamp.column.name", "incrementing.column.name") if config[name]]
        order = dict.fromkeys([*told, *config["order.by"]])
        values = self.columns([field.name for field in schema.fields])
        shape = RowShape(config["topic"].strip(), tuple(config["key.fields"]), values, tuple(order), self.partition())
        check_columns(schema, shape)
        return shape
