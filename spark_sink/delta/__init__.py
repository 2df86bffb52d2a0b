"""Delta tables without Spark: the task of the Spark sink connector with engine=worker."""

from spark_sink.delta.task import DeltaSinkTask, alter_offsets

__all__ = ["DeltaSinkTask", "alter_offsets"]
