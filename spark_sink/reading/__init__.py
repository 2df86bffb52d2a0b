"""Topics as a streaming source of Spark: offsets planned on the driver, records read and converted in the executors."""

from spark_sink.raw_rows import RAW_SCHEMA
from spark_sink.reading.plan import ReadPlan, RowShape
from spark_sink.reading.source import register

__all__ = ["RAW_SCHEMA", "ReadPlan", "RowShape", "register"]
