"""Rows of a DataFrame for a sink connector, which needs records with a topic, a partition and an offset."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connect.data.batch import SinkBatch
from connect.errors import ConnectError
from connect.pipeline import Chain, transformation_chain
from connect.plugins import Plugins
from spark_sink.connector_sink.rows import Batches, Rows

if TYPE_CHECKING:
    from spark_sink.frames.records import FrameShape
    from spark_sink.source.records import Records

#: Of a query's micro-batches offsets are this far apart.
_ROWS_OF_A_BATCH: Final = 1 << 28
#: Local properties of a micro-batch's tasks: MicroBatchExecution and StreamExecution of Spark name them.
_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"


@dataclass(frozen=True)
class FrameRows(Rows):
    """Rows with a column for each field.

    Rows belong to no topic partition, so each Spark task gets one of its own: its number is derived from the write's
    identity and the task's number, and offsets count its rows. A stream's identity is its checkpoint's, and each of its
    micro-batches begins at an offset of its own: a repeated micro-batch has the same partitions and offsets, so that a
    sink that keeps offsets accepts it once, provided that Spark returns its rows in the same order.

    Attributes:
        shape: how a row becomes a record.
        run: the identity of a write that is not a stream; empty for a stream.
    """

    shape: FrameShape
    run: str = ""

    def check(self, columns: Sequence[str]) -> None:
        """Checked when the plan was made."""

    def chain(
        self,
        plugins: Plugins,
        worker: Mapping[str, str],
        connector: Mapping[str, str],
        pause: Callable[[float], None],
    ) -> Chain:
        return transformation_chain(plugins, connector, pause)

    def batches(self, number: int, most: int) -> Batches:
        run, batch = (self.run, 0) if self.run else _of_query()
        partition = int.from_bytes(hashlib.sha256(f"{run}/{number}".encode()).digest()[:4]) >> 1
        return _FrameBatches(self.shape, partition, batch * _ROWS_OF_A_BATCH, most)


class _FrameBatches:
    """The records of one Spark task, numbered."""

    def __init__(self, shape: FrameShape, partition: int, first: int, most: int) -> None:
        self._shape = shape
        self._partition = partition
        self._next, self._end = first, first + _ROWS_OF_A_BATCH
        self._most = most
        self._records: Records | None = None

    def __call__(self, rows: Any) -> Iterator[SinkBatch]:
        if self._records is None:
            self._records = self._shape.records(rows.schema)
        if self._next + rows.num_rows > self._end:
            raise ConnectError(
                f"A Spark task has more than {_ROWS_OF_A_BATCH:,} rows. Cut the DataFrame into more by repartition()."
            )
        for start in range(0, rows.num_rows, self._most):
            made = self._records.of(rows.slice(start, self._most))
            offsets = range(self._next, self._next + len(made))
            self._next += len(made)
            yield SinkBatch(
                made.topics,
                made.values,
                offsets=list(offsets),
                partitions=self._partition,
                keys=made.keys,
                timestamps=made.timestamps,
            )


def _of_query() -> tuple[str, int]:
    """The stream whose micro-batch this Spark task belongs to, and the micro-batch's number."""
    from pyspark import TaskContext

    context = TaskContext.get()
    query, batch = (None, None) if context is None else map(context.getLocalProperty, (_QUERY_ID, _BATCH_ID))
    if not query or batch is None:
        raise ConnectError("Spark does not say which query and batch this task is of. Write the rows by foreachBatch.")
    return query, int(batch)
