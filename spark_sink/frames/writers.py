"""The data source writers of DataFrames: in executors for each task's rows, and on the driver at the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from connect.errors import ConnectError
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.stream_writer import SinkWriter, in_executor
from spark_sink.source.committed_batches import Partitioning
from spark_sink.source.writing import BatchRequest, Written, write_part
from spark_sink.source.writing import WritePlan as TopicPlan

log = logging.getLogger(__name__)


class TopicWritten(WriterCommitMessage):
    """The result of a Spark task that wrote to topics."""

    def __init__(self, written: Written) -> None:
        self.written = written


class TopicWriter(DataSourceArrowWriter, DataSourceStreamArrowWriter):
    """Writes rows to topics, at least once: a task, or a micro-batch, that Spark repeats writes its rows again.

    Args:
        plan: see `TopicPlan`; without a run.
    """

    def __init__(self, plan: TopicPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[Any]) -> TopicWritten:
        """Write the rows of one task, and return when Kafka has acknowledged them. In an executor."""
        plan, context = self._plan, TaskContext.get()
        number = 0 if context is None else context.partitionId()
        rows = (batch for batch in iterator if batch.num_rows)
        request = BatchRequest(0, Partitioning(1))
        clients = plan.output.clients
        configs = (clients.config, clients.worker)
        return TopicWritten(in_executor(lambda: write_part(plan, request, number, rows), *configs))

    def commit(self, messages: list[Any], batchId: int = 0) -> None:  # noqa: N803 - PySpark's
        """All tasks are done. On the driver."""
        check_all(messages)
        log.info("%d records are written", sum(message.written.written for message in messages))

    def abort(self, messages: list[Any], batchId: int = 0) -> None:  # noqa: N803 - PySpark's
        """A task failed. What the others wrote stays."""


class ConnectorWriter(DataSourceArrowWriter):
    """Writes the rows of each Spark task through a sink connector's task. `SinkWriter` itself writes streams."""

    def __init__(self, plan: WritePlan, columns: Sequence[str]) -> None:
        self._writer = SinkWriter(plan, columns)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return self._writer.write(iterator)

    def commit(self, messages: list[Any]) -> None:
        check_all(messages)

    def abort(self, messages: list[Any]) -> None:
        """A task failed. What the others wrote stays."""


def check_all(messages: Sequence[object | None]) -> None:
    """Raise ConnectError unless every Spark task has reported its end."""
    if missing := sum(message is None for message in messages):
        raise ConnectError(f"{missing} tasks do not say that their rows are written. Write the DataFrame again.")
