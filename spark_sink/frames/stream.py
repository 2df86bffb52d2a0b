"""The stream of `spark.readStream.format("connect")`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from spark_sink.reading.driver import TopicReader

#: Of the end of a query's first batch: where that batch began. No topic has a name with a space.
_BEGAN: Final = "began at"


class FrameStreamReader(TopicReader):
    """See `TopicReader`: offsets and limits are the same, rows are flat.

    Spark keeps where a batch ends, and asks anew where the first one begins if that is repeated. By then the end of the
    topics is another place: so the end of the first batch says where it began.
    """

    def latestOffset(self, start: Any, limit: ReadLimit) -> Any:  # noqa: N802 - Spark's name
        if start == self.initialOffset():
            return {**super().latestOffset(start, limit), _BEGAN: start}
        plain = _of_topics(start)
        end = super().latestOffset(plain, limit)
        return start if end == plain else end

    def partitions(self, start: Any, end: Any) -> list[InputPartition]:
        return super().partitions(_of_topics(end.get(_BEGAN, start)), _of_topics(end))

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from spark_sink.frames.columns import read

        return read(self._plan, partition, self._schema)


def _of_topics(offsets: dict[str, Any]) -> dict[str, Any]:
    return {topic: parts for topic, parts in offsets.items() if topic != _BEGAN}
