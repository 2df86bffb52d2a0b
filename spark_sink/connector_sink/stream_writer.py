"""The data source writer of PySpark: what runs in executors, and what the driver does when all are done."""

from __future__ import annotations

import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO, TypeVar

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from connect.data.record import TopicPartition
from connect.errors import ConfigError, ConnectError, DataError, RetriableError
from connect.pipeline.error_kinds import ErrorKind, kind_of
from connect.telemetry import redaction
from connect.telemetry.redaction import RedactingFilter, Redactor, names_a_secret
from spark_sink.connector_sink import progress_files
from spark_sink.connector_sink.delivery import said
from spark_sink.connector_sink.plan import WritePlan
from spark_sink.connector_sink.progress_files import Done
from spark_sink.connector_sink.write import write

T = TypeVar("T")


class Written(WriterCommitMessage):
    """A Spark task's message to the driver."""

    def __init__(self, done: Done) -> None:
        self.done = done


class WriteFailed(ConnectError):
    """A Spark task could not write its rows. One line, behind the trace; without secrets."""


class SinkWriter(DataSourceStreamArrowWriter):
    """Runs a connector's sink task for each Spark task of each micro-batch.

    `write` runs in executors, for each Spark task; `commit` on the driver, when all of a micro-batch are done. A
    micro-batch that is not committed comes again: at least once, and exactly once into a target that keeps its offsets.

    Args:
        plan: see there.
        columns: of the stream.
    """

    def __init__(self, plan: WritePlan, columns: Sequence[str]) -> None:
        plan.rows.check(columns)
        self._plan = plan

    def write(self, iterator: Iterator[Any]) -> Written:
        """Deliver the rows to the sink task, and return when they are durable."""
        plan = self._plan
        context = TaskContext.get()
        number = 0 if context is None else context.partitionId()
        configs = (plan.task_config, plan.connector_config, plan.worker_config)
        return Written(in_executor(lambda: write(plan, number, iterator), *configs))

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - PySpark's
        """Check that the micro-batch is complete, and note what it wrote."""
        check_whole(self._plan.connector, messages, batchId)
        progress_files.committed(self._plan.progress_folder, [message.done for message in messages])

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - PySpark's
        """Do nothing: what was written of the micro-batch will be written again."""


def check_whole(connector: str, messages: Sequence[Any], batch: int) -> None:
    """Raise ConnectError unless every Spark task of a micro-batch is done, and one task wrote each partition."""
    missing = sum(message is None for message in messages)
    if missing:
        raise ConnectError(
            f'Connector "{connector}": {missing} tasks of micro-batch {batch} have not reported that they are done.'
        )
    times = Counter(TopicPartition(span.topic, span.partition) for message in messages for span in message.done.spans)
    if twice := [partition for partition, count in times.items() if count > 1]:
        raise ConnectError(
            f'Connector "{connector}": several Spark tasks of micro-batch {batch} wrote {said(twice)}, so its order is'
            " not kept. The query must not split a partition, nor repartition."
        )


def in_executor(work: Callable[[], T], *configs: Mapping[str, str], retries: bool = False) -> T:
    """Run a function with an executor's logging, and raise its error in one line; logs and errors have no secrets.

    Args:
        work: the function.
        configs: that may hold secrets.
        retries: whether a RetriableError stays one, so that the query restarts rather than fail.
    """
    redactor = Redactor()
    for config in configs:
        secrets = [value for key, value in config.items() if names_a_secret(key)]
        redactor.remember(secrets)
        redaction.redactor.remember(secrets)  # what dead letters are redacted with
    _log_to_stderr(redactor)
    try:
        return work()
    except Exception as error:  # plug-ins raise anything
        trace = redactor.redact("".join(traceback.format_exception(error)))
        failed = _failed(error, redactor)
        if retries and isinstance(error, RetriableError):
            failed = RetriableError(str(failed))
    raise failed from _Trace(trace)


def _failed(error: Exception, redactor: Redactor) -> ConnectError:
    """The error to raise in place of another, in one line; of the same kind where a restart would change nothing."""
    if isinstance(error, ConfigError):
        return ConfigError(error.key, redactor.redact(" ".join(error.message.split())))
    kind = "" if isinstance(error, ConnectError) else f"{type(error).__name__}: "
    line = redactor.redact(" ".join(f"{kind}{error}".split()))
    return DataError(line) if kind_of(error) is ErrorKind.RECORD else WriteFailed(line)


class _Trace(Exception):
    """The trace of an error as text, as the cause of the error that is raised in its place."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _ToStderr(logging.StreamHandler[TextIO]):
    """Logs to where executors log, without the secrets of the current plan."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        self.addFilter(RedactingFilter(redactor))


def _log_to_stderr(redactor: Redactor) -> None:
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, _ToStderr)]
    root.addHandler(_ToStderr(redactor))
