"""Any sink connector on Spark: its sink task runs in the executors, and commits with each batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from connect.api.engine import EngineProgress
from connect.plugins.loading import load_class
from spark_sink.connector_sink import progress_files
from spark_sink.connector_sink.plan import FlushOptions, WritePlan
from spark_sink.connector_sink.register import register_writer
from spark_sink.query.sink_task import SinkQuery, SinkQueryTask
from spark_sink.query.supervised import Query


class ConnectorSinkTask(SinkQueryTask):
    """See `SinkQueryTask`.

    As many sink tasks run at once as `tasks.max` says. Where it is not set, as many as Spark has cores on this machine,
    on a cluster one for each topic partition, so that executors that are added later get work; one where the target
    supports no more (`SinkTask.single`). Records of a partition stay in order.
    """

    def prepare(self) -> None:
        self._progress_folder = self.lease_file.path.with_name("progress")
        Path(self._progress_folder).mkdir()
        super().prepare()

    def checkpoint_location(self) -> str:
        return self.context.connector_config.get("checkpoint.location") or self.folder_of_this_machine()

    def write(self, query: SinkQuery, rows: Any) -> Any:
        context = self.context
        target, folder = context.task_target
        plan = WritePlan(
            connector=context.connector,
            task=target,
            folder=folder,
            task_config=dict(context.configs),
            connector_config=dict(context.connector_config),
            worker_config=dict(context.worker_config),
            plugin_path=tuple(context.plugin_path),
            lease_file=str(self.lease_file.path),
            progress_folder=str(self._progress_folder),
            flush_within=FlushOptions.parse(context.connector_config).flush_within,
        )
        tasks = self._tasks()
        rows = rows if tasks is None else rows.coalesce(tasks)
        return rows.writeStream.format(register_writer(self.session.spark, plan))

    def _tasks(self) -> int | None:
        """The maximum number of sink tasks; None for one for each topic partition."""
        if most := self.context.connector_config.get("tasks.max"):
            return max(1, int(most))
        if load_class(*self.context.task_target).single:
            return 1
        if self.session.remote or not self.session.spark.sparkContext.master.startswith("local"):
            return None
        return int(self.session.spark.sparkContext.defaultParallelism)

    def told(self) -> EngineProgress:
        said = progress_files.read(str(self._progress_folder))
        self._add_measured()
        progress = super().told()
        return replace(
            progress,
            written=said.tally.written + said.tally.known,
            errors=said.tally.errors,
            failing=progress.failing or said.waiting,
        )

    def last_report(self, interrupted: Sequence[Query]) -> None:
        super().last_report(interrupted)
        self._add_measured()

    def _add_measured(self) -> None:
        for measured in progress_files.take_measured(str(self._progress_folder)):
            self.context.metrics.add(measured)
