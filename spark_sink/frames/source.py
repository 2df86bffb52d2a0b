"""The data source `connect`: topics as rows with columns and back, by converters and transformations of Kafka Connect.

Spark creates it in a Python process of its own for each `load`, requests the schema, and sends the reader to executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from connect.errors import ConfigError
from spark_sink.frames.connectors import CONNECTOR
from spark_sink.frames.options import Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from connect.data.record import TopicPartition
    from spark_sink.frames.source_rows import SourceFrame
    from spark_sink.frames.write_options import Writing
    from spark_sink.reading.plan import ReadPlan, RowShape

_RECORDS_A_PART: Final = 100_000


class ConnectSource(DataSource):
    """`spark.read`, `spark.readStream`, `df.write` and `df.writeStream` with `.format("connect")`.

    With `value.converter`: a column for each field of the values, as the first records have them (a value that is no
    struct is the column `value`), then `_key`, `_topic`, `_partition`, `_offset`, `_timestamp`. Fields that appear
    later are left out until the query is restarted. Without: `key` and `value` as bytes. Writing accepts the same
    columns. With `connector.class`: what a source connector reads, or into a sink connector.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._given = dict(options)
        self._plan: ReadPlan | None = None
        self._frame: SourceFrame | None = None

    @property
    def _reading(self) -> Reading:
        return Reading(self._given)

    @classmethod
    def name(cls) -> str:
        return "connect"

    def schema(self) -> Any:
        if CONNECTOR in self._given:
            from spark_sink.frames.source_rows import source_schema

            return source_schema(self._connector_shape(None))
        from spark_sink.frames.columns import spark_schema

        return spark_schema(self._shaped().rows)

    def reader(self, schema: Any) -> DataSourceReader:
        if CONNECTOR in self._given:
            from spark_sink.frames.source_readers import SourceReader

            return SourceReader(self._connector_frame(), self._connector_shape(schema), schema)
        return FrameReader(self._reading, self._shaped(schema), schema)

    def streamReader(self, schema: Any) -> Any:  # noqa: N802 - Spark's name
        if CONNECTOR in self._given:
            from spark_sink.frames.source_readers import SourceStreamReader

            return SourceStreamReader(self._connector_frame(), self._connector_shape(schema), schema)
        from connect.kafka.reading.topic_ends import TopicEnds
        from spark_sink.frames.stream import FrameStreamReader
        from spark_sink.reading.plan import as_map

        plan = self._shaped(schema)
        ends = TopicEnds(plan.worker, plan.config, plan.subscription())
        if plan.fail_on_data_loss:  # else a topic may come later, or be gone
            check_topics(plan, ends.partitions())
        start = as_map(self._reading.begins(ends, otherwise="latest"))
        return FrameStreamReader(replace(plan, start=start, parts=plan.parts or 1), schema)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        from spark_sink.frames.writers import ConnectorWriter, TopicWriter

        writing = self._writing(schema, overwrite, "mode('append')")
        if writing.connector:
            return ConnectorWriter(writing.sink_plan(stream=False), schema.fieldNames())
        plan = writing.topic_plan()
        plan.output.clients.check()  # a producer waits for brokers without end
        return TopicWriter(plan)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - Spark's name
        from spark_sink.connector_sink.stream_writer import SinkWriter
        from spark_sink.frames.writers import TopicWriter

        writing = self._writing(schema, overwrite, "outputMode('append')")
        if writing.connector:
            return SinkWriter(writing.sink_plan(stream=True), schema.fieldNames())
        return TopicWriter(writing.topic_plan())

    def _connector_frame(self) -> SourceFrame:
        """What a source connector reads. Raises ConfigError."""
        from spark_sink.frames.source_readers import source_frame

        self._frame = self._frame or source_frame(self._given)
        return self._frame

    def _connector_shape(self, given: Any) -> RowShape:
        """The shape of the schema that a user gives, else of the first records."""
        from spark_sink.frames.columns import shape_of
        from spark_sink.frames.source_readers import sampled

        return sampled(self._connector_frame()) if given is None else shape_of(given)

    def _writing(self, schema: Any, overwrite: bool, instead: str) -> Writing:
        from spark_sink.frames.write_options import Writing

        if overwrite:
            raise ConfigError("mode", f"cannot be overwrite: records are added to what is there. Write {instead}.")
        return Writing(self._given, schema.fieldNames())

    def _shaped(self, given: Any = None) -> ReadPlan:
        """The plan with the shape of the schema that a user gives, else of the first records."""
        if self._plan is None:
            from spark_sink.frames.columns import shape_of

            plan = self._reading.plan()
            if self._reading.decoded:
                plan = replace(plan, rows=_shape(plan) if given is None else shape_of(given))
            self._plan = plan
        return self._plan


def check_topics(plan: ReadPlan, there: Iterable[TopicPartition]) -> None:
    """Raise ConfigError unless each topic that is named has partitions."""
    if missing := set(plan.topics).difference(partition.topic for partition in there):
        raise ConfigError("topics", f"there is no topic {', '.join(sorted(missing))}.")


def _shape(plan: ReadPlan) -> RowShape:
    """The shape of the first records of each partition.

    Raises:
        ConfigError: there are none, or none that shows the columns.
    """
    from connect.kafka.reading.topic_ends import TopicEnds
    from spark_sink.frames.columns import WRAP, WRAP_KEY
    from spark_sink.reading.plan import RowShape
    from spark_sink.reading.sample import Sampler

    sampler = Sampler(plan, WRAP, WRAP_KEY)
    try:
        sample = sampler.look({}, None, lambda: None)
    finally:
        sampler.close()
    if sample.values is None:
        check_topics(plan, TopicEnds(plan.worker, plan.config, plan.subscription()).partitions())
        why = "no record says which columns there are" if sample.records else "there are no records yet"
        if sampler.failed:
            why += f" ({sampler.failed})"
        raise ConfigError(
            "topics",
            f"{why}. Name the columns by .schema(), give JsonConverter value.converter.schema.content, take a "
            "converter with a schema registry, or read bytes, without value.converter.",
        )
    return RowShape(sample.values, sample.keys, WRAP, WRAP_KEY, metadata=True, unknown="ignore")


class FrameReader(DataSourceReader):
    """Reads a range of offsets once. Travels to the executors."""

    def __init__(self, reading: Reading, plan: ReadPlan, schema: Any) -> None:
        self._reading = reading
        self._plan = plan
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """On the driver: the ranges of the tasks."""
        from connect.kafka.reading.topic_ends import TopicEnds
        from spark_sink.reading.part import Part, cut

        plan = self._plan
        ends = TopicEnds(plan.worker, plan.config, plan.subscription())
        begin, until = self._reading.begins(ends, otherwise="earliest"), self._reading.ends(ends)
        check_topics(plan, until)
        ranges = [Part(*p, begin[p], end) for p, end in sorted(until.items()) if begin.get(p, end) < end]
        whole = sum(part.end - part.start for part in ranges)
        size = max(1, -(-whole // plan.parts)) if plan.parts else _RECORDS_A_PART
        return [piece for part in ranges for piece in cut(part, size)] or [Part("", 0, 0, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In an executor: the rows of a range."""
        from spark_sink.frames.columns import read

        return read(self._plan, partition, self._schema)
