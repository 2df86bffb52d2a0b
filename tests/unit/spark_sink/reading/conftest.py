"""What stands in for Kafka in the tests of the executors' side: records of one partition, in memory."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StringType, StructField, StructType

from connect.data.batch import SinkBatch
from connect.data.record import TopicPartition
from connect.data.values import Values
from spark_sink.raw_rows import RAW_SCHEMA
from spark_sink.reading import executor
from spark_sink.reading.columns import spark_schema
from spark_sink.reading.part import Part
from spark_sink.reading.plan import ReadPlan, RowShape

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {
    "bootstrap.servers": "localhost:1",
    "key.converter": STRING,
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
}


class StandingTime:
    """Stands in for the module `time`: goes on only when somebody sleeps, or a test moves it."""

    def __init__(self) -> None:
        self.now = 5000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Partition:
    """Stands in for `RangeConsumer`: its records lie at the offsets from 0 on.

    Attributes:
        values, keys, headers: what they hold; values that are not bytes become JSON.
        fails_at: reading raises there.
        closed: whether the client was closed.
    """

    def __init__(self, values: Sequence[Any], keys: Sequence[Any] | None, headers: Sequence[Any] | None) -> None:
        n = len(values)
        self.values = [v if v is None or isinstance(v, bytes) else json.dumps(v).encode() for v in values]
        self.keys = list(keys or [None] * n)
        self.headers = list(headers or [None] * n)
        self.fails_at: int | None = None
        self.closed = False

    def __call__(self, settings: Mapping[str, Any], **how: Any) -> "Partition":
        return self

    def read(self, place: TopicPartition, start: int, end: int, rows: int) -> Iterator[SinkBatch]:
        for first in range(start, end, rows):
            last = min(first + rows, end)
            if self.fails_at is not None and self.fails_at < last:
                raise ValueError("the disk is gone")
            yield SinkBatch(
                place.topic,
                Values.raw(self.values[first:last]),
                partitions=place.partition,
                offsets=list(range(first, last)),
                keys=Values.raw(self.keys[first:last]),
                headers=self.headers[first:last],
                timestamps=[1_700_000_000_000 + offset for offset in range(first, last)],
            )

    def close(self) -> None:
        self.closed = True


class Executor:
    """Reads one partition as an executor does.

    Attributes:
        partition: of the last `read`.
    """

    partition: Partition

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def batches(
        self,
        values: Sequence[Any],
        shape: RowShape | None = None,
        *,
        keys: Sequence[Any] | None = None,
        headers: Sequence[Any] | None = None,
        plan: ReadPlan | None = None,
        **config: str,
    ) -> Iterator[pa.RecordBatch]:
        """What Spark gets. In keys of the configuration `_` stands for a dot."""
        self.partition = Partition(values, keys, headers)
        self._monkeypatch.setattr(executor, "RangeConsumer", self.partition)
        written = {key.replace("_", "."): value for key, value in config.items()}
        self.plan = plan or ReadPlan("c", ("t",), "", WORKER, {"name": "c", **written}, rows=shape)
        schema: Any = spark_schema(shape) if shape is not None else _raw_schema()
        return executor.read(self.plan, schema, Part("t", 3, 0, len(values)))

    def rows(self, *args: Any, **more: Any) -> list[dict[str, Any]]:
        """The same as rows."""
        return [row for batch in self.batches(*args, **more) for row in batch.to_pylist()]


def _raw_schema() -> StructType:
    """`RAW_SCHEMA` as Spark parses it; that takes a JVM."""
    header = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    types = {"string": StringType(), "int": IntegerType(), "bigint": LongType(), "binary": BinaryType()}
    fields = [each.split(" ", 1) for each in RAW_SCHEMA.split(", ")]
    return StructType([StructField(name, types.get(kind, ArrayType(header))) for name, kind in fields])


@pytest.fixture
def in_executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """See `Executor`."""
    yield Executor(monkeypatch)
    while executor._readings:
        executor._readings.popitem()[1].close()
