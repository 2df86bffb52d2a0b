"""Ranges of topics as a DataFrame: for a caller that learns the shape of records only within a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from spark_sink.reading.columns import spark_schema
from spark_sink.reading.part import Part
from spark_sink.reading.plan import ReadPlan


def rows_of(spark: Any, plan: ReadPlan, parts: Sequence[Part]) -> Any:
    """The records of ranges as rows, read by a Spark task for each range, each time the DataFrame is used.

    A Spark data source would do the same, and start two Python processes for each load to plan the ranges.

    Args:
        spark: the session of the batch.
        plan: with the shape of rows.
        parts: what is read; at least one.
    """
    assert plan.rows is not None
    schema = spark_schema(plan.rows)
    numbers = spark.range(0, len(parts), 1, len(parts))
    return numbers.mapInArrow(_reader(plan, schema, parts), schema)


def _reader(plan: ReadPlan, schema: Any, parts: Sequence[Part]) -> Callable[[Any], Iterator[pa.RecordBatch]]:
    def read_parts(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from spark_sink.reading.executor import read

        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read(plan, schema, parts[number])

    return read_parts
