"""The data source with which Spark reads topics.

https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html
"""

from __future__ import annotations

from typing import Any

from spark_sink.raw_rows import RANGES_SCHEMA, RAW_SCHEMA
from spark_sink.reading.plan import ReadPlan


def register(spark: Any, plan: ReadPlan) -> str:
    """Register a data source for a plan in a session.

    The plan is in the class itself, which travels pickled: options would be shown in plans and logs.

    Returns:
        the name of its format, for `spark.readStream.format`.
    """
    from pyspark.sql.datasource import DataSource

    format_name = f"connect_{plan.id}"

    class ConnectRecords(DataSource):
        @classmethod
        def name(cls) -> str:
            return format_name

        def schema(self) -> Any:
            from spark_sink.reading.columns import spark_schema

            if plan.rows is not None:
                return spark_schema(plan.rows)
            return RANGES_SCHEMA if plan.only_ranges else RAW_SCHEMA

        def streamReader(self, schema: Any) -> Any:  # noqa: N802 - Spark's name
            from spark_sink.reading.driver import TopicReader

            return TopicReader(plan, schema)

    spark.dataSource.register(ConnectRecords)
    return format_name
