"""Found by Spark by its name: it imports modules that begin with `pyspark_`, and registers their `DefaultSource`.

https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html
"""

from spark_sink.frames.source import ConnectSource as DefaultSource

__all__ = ["DefaultSource"]
