"""`register_writer`: makes a connector's sink task a format that Spark writes to."""

from __future__ import annotations

import uuid
from typing import Any

from spark_sink.connector_sink.plan import WritePlan


def register_writer(spark: Any, plan: WritePlan) -> str:
    """Register a sink for streams of raw rows (`raw_rows.RAW_SCHEMA`): `df.writeStream.format(name)`.

    Each Spark task runs one sink task, numbered as it is. A DataFrame is brought to as few partitions as the connector
    may have tasks by `df.coalesce(tasks.max)`, which keeps the order of records. The connector's dead letter topic
    has to exist.

    Args:
        spark: a SparkSession, also one of Spark Connect.
        plan: see there. It travels to the executors pickled with the sink's class, never as options, which are printed.

    Returns:
        the format's name, unique in the session.
    """
    from pyspark.sql.datasource import DataSource

    unique = f"connect-sink-{uuid.uuid4().hex}"

    class ConnectorSink(DataSource):  # pickled by value, with the plan
        @classmethod
        def name(cls) -> str:
            return unique

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - PySpark's
            from spark_sink.connector_sink.stream_writer import SinkWriter

            return SinkWriter(plan, schema.fieldNames())

    spark.dataSource.register(ConnectorSink)
    return unique
