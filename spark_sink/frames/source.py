"""The data source `connect`: topics as rows with columns, by converters and transformations of Kafka Connect.

Spark makes it in a Python process of its own for each `load`, asks for the schema, and sends the reader to executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from connect.errors import ConfigError
from spark_sink.frames.options import Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_sink.reading.plan import ReadPlan, RowShape

_RECORDS_A_PART: Final = 100_000
_WRAP: Final = "value"
_WRAP_KEY: Final = "key"


class ConnectSource(DataSource):
    """`spark.read.format("connect")` and `spark.readStream.format("connect")`.

    With `value.converter`: a column for each field of the values, as the first records have them (a value that is no
    struct is the column `value`), then `_key`, `_topic`, `_partition`, `_offset`, `_timestamp`. Fields that come later
    are left out until the query is started anew. Without: `key` and `value` as bytes.
    """

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._reading = Reading(dict(options))
        self._plan: ReadPlan | None = None

    @classmethod
    def name(cls) -> str:
        return "connect"

    def schema(self) -> Any:
        from spark_sink.frames.columns import spark_schema

        return spark_schema(self._shaped().rows)

    def reader(self, schema: Any) -> DataSourceReader:
        return FrameReader(self._reading, self._shaped())

    def streamReader(self, schema: Any) -> Any:  # noqa: N802 - Spark's name
        from connect.kafka.reading.topic_ends import TopicEnds
        from spark_sink.frames.stream import FrameStreamReader
        from spark_sink.reading.plan import as_map

        plan = self._shaped()
        ends = TopicEnds(plan.worker, plan.config, plan.subscription())
        start = as_map(self._reading.begins(ends, otherwise="latest"))
        return FrameStreamReader(replace(plan, start=start, parts=plan.parts or 1), schema)

    def _shaped(self) -> ReadPlan:
        if self._plan is None:
            plan = self._reading.plan()
            self._plan = replace(plan, rows=_shape(plan)) if self._reading.decoded else plan
        return self._plan


def _shape(plan: ReadPlan) -> RowShape:
    """What the first records of each partition say.

    Raises:
        ConfigError: there are none, or none that says which columns there are.
    """
    from spark_sink.reading.plan import RowShape
    from spark_sink.reading.sample import Sampler

    sampler = Sampler(plan, _WRAP, _WRAP_KEY)
    try:
        sample = sampler.look({}, None, lambda: None)
    finally:
        sampler.close()
    if sample.values is None:
        why = "no record says which columns there are" if sample.records else "there are no records yet"
        raise ConfigError(
            "topics",
            f"{why}. Give JsonConverter value.converter.schema.content, a converter with a schema registry, or read "
            "bytes, without value.converter.",
        )
    return RowShape(sample.values, sample.keys, _WRAP, _WRAP_KEY, metadata=True, unknown="ignore")


class FrameReader(DataSourceReader):
    """Reads once, from where options say to where they say. Travels to the executors."""

    def __init__(self, reading: Reading, plan: ReadPlan) -> None:
        self._reading = reading
        self._plan = plan

    def partitions(self) -> list[InputPartition]:
        """Called by the driver: what each task reads."""
        from connect.kafka.reading.topic_ends import TopicEnds
        from spark_sink.reading.part import Part, cut

        plan = self._plan
        ends = TopicEnds(plan.worker, plan.config, plan.subscription())
        begin, until = self._reading.begins(ends, otherwise="earliest"), self._reading.ends(ends)
        ranges = [Part(*p, begin[p], end) for p, end in sorted(until.items()) if begin.get(p, end) < end]
        whole = sum(part.end - part.start for part in ranges)
        size = max(1, -(-whole // plan.parts)) if plan.parts else _RECORDS_A_PART
        return [piece for part in ranges for piece in cut(part, size)] or [Part("", 0, 0, 0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Called in an executor."""
        from spark_sink.frames.columns import read

        return read(self._plan, partition)
