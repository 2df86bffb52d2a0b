"""The stream of `spark.readStream.format("connect")`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import InputPartition

from spark_sink.reading.driver import TopicReader


class FrameStreamReader(TopicReader):
    """See `TopicReader`: offsets and limits are the same, rows are flat."""

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from spark_sink.frames.columns import read

        return read(self._plan, partition, self._schema)
