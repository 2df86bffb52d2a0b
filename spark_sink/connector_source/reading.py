"""Reads one split of a plan and writes its records to Kafka, in an executor."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from connect.api.metrics import PluginMetrics
from connect.api.splits import Split, SplitSourceTask
from connect.data.batch import SourceBatch
from connect.errors import ConnectError
from connect.plugins.loading import load_class
from connect.telemetry.metrics import Registry
from spark_sink.connector_sink.stream_writer import in_executor
from spark_sink.source.writing import BatchRequest, OutputPlan, Written, write_records


@dataclass(frozen=True)
class ReaderPlan:
    """What all readers of a connector share. Travels pickled and is never shown.

    Attributes:
        task: the class of its task, "module:Class".
        folder: its plug-in's folder; None if it is installed as a package.
        config: the task's configuration, with secrets filled in.
        output: how records are written.
    """

    task: str
    folder: str | None
    config: Mapping[str, str] = field(repr=False)
    output: OutputPlan


class SplitWriter:
    """Called by Spark in an executor with the numbers of splits: for `DataFrame.mapInArrow`.

    Args:
        plan: see there.
        request: the batch.
        splits: of the batch. A number is that of the split and of its writer.
    """

    def __init__(self, plan: ReaderPlan, request: BatchRequest, splits: Sequence[Split]) -> None:
        self._plan = plan
        self._request = request
        self._splits = splits

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read and write each split; returns what was written.

        Raises:
            RetriableError: it may go better when the split is read again.
            ConnectError: it cannot be read or written. One line, without secrets.
        """
        clients = self._plan.output.clients
        configs = (self._plan.config, clients.config, clients.worker)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield in_executor(lambda: self._write(number), *configs, retries=True).row()  # noqa: B023 - called here

    def _write(self, number: int) -> Written:
        plan, registry = self._plan, Registry()
        name = plan.output.clients.connector
        split = self._splits[number]
        metrics = registry.labelled()  # they are labelled as the connector's where they are added up
        with split_records(plan.task, plan.folder, name, plan.config, split, number, metrics) as read:
            written = write_records(plan.output, self._request, number, lambda: read)
        return replace(written, measured=registry.text())


@contextmanager
def split_records(
    target: str,
    folder: str | None,
    connector: str,
    config: Mapping[str, str],
    split: Split,
    number: int,
    metrics: PluginMetrics,
) -> Iterator[Iterator[SourceBatch]]:
    """The records of a split; its reader is closed at the end.

    Args:
        target: the class of the task, "module:Class".
        folder: its plug-in's folder; None if it is installed as a package.
        connector: its name.
        config: the task's configuration.
        split: see `SplitSourceTask.read`.
        number: of the split.
        metrics: for what the reader measures.
    """
    made = load_class(target, folder)()
    if not isinstance(made, SplitSourceTask):
        raise ConnectError(f"{type(made).__qualname__} is not a SplitSourceTask, and cannot be read on Spark.")
    context = ReaderContext(connector, number, config, metrics)
    made.context = context
    with context.exit_stack, closing(_read(made, config, split)) as read:
        yield read


def _read(task: SplitSourceTask, config: Mapping[str, str], split: Split) -> Generator[SourceBatch, None, None]:
    """As a generator, whatever the plug-in returns: it begins with the first batch, and can be closed."""
    yield from task.read(config, split)


class ReaderContext:
    """See `connect.api.source.SourceTaskContext`, and `SplitSourceTask.read` for what of it a reader has."""

    transaction = None

    def __init__(self, connector: str, number: int, configs: Mapping[str, str], metrics: PluginMetrics) -> None:
        self.connector = connector
        self.task_id = number
        self.configs = configs
        self.metrics = metrics
        self.exit_stack = ExitStack()

    def offset(self, partition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        raise ConnectError("A reader of splits has no offsets: the plan says what it reads.")

    def stopping(self) -> bool:
        return False  # Spark ends the process of a task that it ends
