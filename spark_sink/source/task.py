"""What both sources do on Spark: where their query begins, how it writes, and how its position is stored."""

from __future__ import annotations

import logging
import re
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from connect.api.metrics import PluginMetrics
from connect.errors import ConnectError
from connect.kafka.admin.new_topics import NewTopic
from spark_sink.error_translation import text_of
from spark_sink.paths import as_written
from spark_sink.query.progress import rows_in
from spark_sink.query.settings import QueryOptions
from spark_sink.query.supervised import Query, SupervisedTask
from spark_sink.source import positions
from spark_sink.source.batches import BatchWriter, NotNow
from spark_sink.source.clients import SourceClients
from spark_sink.source.committed_batches import CommittedBatches, Partitioning, Run
from spark_sink.source.records import RowShape
from spark_sink.source.settings import DeltaSourceOptions, SqlSourceOptions
from spark_sink.source.tally import Tally, TallyProgress
from spark_sink.source.writing import OutputPlan, WritePlan

log = logging.getLogger("connect.spark")

_REPORT_S: Final = 1.0
_LOOK_AGAIN_S: Final = 1.0
_QUERY: Final = "query"
_CHANGED_IN: Final = re.compile(r"schema change in version (\d+)")


class Place(NamedTuple):
    """Where exactly-once notes committed batches: a topic, and the prefix of transactional ids."""

    topic: str
    prefix: str


class SourceProgress(TallyProgress):
    """The progress of a source's query.

    Args:
        name, metrics, tally: see `TallyProgress`.
        counted: whether the tally counts: not where Spark's server runs the writing.

    Attributes:
        position: the end of the first source in the newest batch, in Spark's form.
        batch: its number; -1 for none.
    """

    def __init__(self, name: str, metrics: PluginMetrics, tally: Tally, *, counted: bool) -> None:
        super().__init__(name, metrics, tally)
        self.position: Any = None
        self.batch = -1
        self._counted = counted

    @property
    def written(self) -> int:
        return super().written if self._counted else self.rows

    def _take(self, report: Mapping[str, Any]) -> None:
        # Positions of such sources are not offsets of topics. A batch is read once.
        if "addBatch" in report["durationMs"]:  # otherwise it is the number of a batch to come
            self.batch = int(report["batchId"])
        self.position = report["sources"][0]["endOffset"] if report["sources"] else None
        if rows := rows_in(report):
            self.rows += rows
            self._measure(report, rows)


class SourceQueryTask(SupervisedTask):
    """Runs the one query of a source."""

    options_class: ClassVar[type[DeltaSourceOptions | SqlSourceOptions]]

    def prepare(self) -> None:
        context = self.context
        self.options = self.options_class.parse(context.connector_config)
        self.running = QueryOptions.parse(context.connector_config)
        self.clients = SourceClients(context.connector, context.worker_config, context.connector_config)
        self.tally = Tally()
        self._committed: CommittedBatches | None = None
        self._reported: Mapping[str, Any] | None = None
        self._report_due = 0.0
        self._problem = ""
        self._began_anew_at: tuple[int, str | None] | None = None  # with so many rows, for the columns of a version
        self.location = (self.running.checkpoint_location or self.folder_of_this_machine()).rstrip("/")
        self.exactly_once = self._exactly_once()
        self.check()
        self._settle()
        self.progress = SourceProgress(_QUERY, context.metrics, self.tally, counted=self.writes_here())
        self.queries.append(Query(_QUERY, self.progress))

    # What heirs say.

    @abstractmethod
    def partition(self) -> dict[str, Any]:
        """The source partition, as Connect's offsets name it."""

    @abstractmethod
    def first(self) -> dict[str, Any]:
        """The offset of a query that has none yet."""

    def anew(self, offset: dict[str, Any]) -> dict[str, Any]:
        """Where a new checkpoint begins for an offset that a user set, or that lost its own. Raises ConnectError."""
        return offset

    @abstractmethod
    def start_query(self) -> Any:
        """Start the query. Returns it, or None when it is too early."""

    def writes_here(self) -> bool:
        """Whether the writer of batches is in this process: a Spark Connect server has its own."""
        return not self.session.remote

    @abstractmethod
    def offset_of(self, progress: SourceProgress) -> dict[str, Any] | None:
        """The offset for what is written; None for nothing new."""

    def check(self) -> None:
        """Raise configuration errors before anything begins."""

    # Where it begins.

    def _settle(self) -> None:
        """Find the checkpoint to continue; a new one where there is none, or a user has altered the offset."""
        stored = self.context.offsets([self.partition()])[0]
        name = positions.checkpoint_of(stored)
        if stored is not None and name is not None and self.has_checkpoint(name):
            self.checkpoint, self.offset = name, positions.unmarked(stored)
            self._reported = dict(stored)
            return
        if name is not None and self._is_accounted_for(name):
            raise ConnectError(
                f"The checkpoint {self.location}/{name} is not there, and a part of a batch may be written already. Set"
                " checkpoint.location to a place that all workers see; or alter or reset the connector's offsets to"
                " start over, which may repeat records."
            )
        self.offset = self.first() if stored is None else self.anew(positions.unmarked(stored))
        self.checkpoint = positions.new_checkpoint(stored)
        log.info("the query begins at %s, with the checkpoint %s", self.offset, self.checkpoint)
        self.store(self.offset)

    def store(self, offset: Mapping[str, Any]) -> None:
        """Make the offset of what is written durable. Raises ConnectError."""
        found = positions.marked(offset, self.checkpoint)
        if found != self._reported:
            self.context.store_offsets([(self.partition(), found)])
            self._reported = found
        self.offset = positions.unmarked(offset)

    @property
    def folder(self) -> str:
        """Spark's checkpoint."""
        return f"{self.location}/{self.checkpoint}/{_QUERY}"

    def is_new(self) -> bool:
        """Whether the checkpoint has no finished batch, so that the start position counts: also for a repeated one."""
        return not self._has(self.checkpoint, "commits")

    def has_checkpoint(self, name: str) -> bool:
        """Whether a checkpoint of this name has a batch."""
        return self._has(name, "offsets")

    def _has(self, checkpoint: str, log_of: str) -> bool:
        from pyspark.errors import AnalysisException

        path = as_written(f"{self.location}/{checkpoint}/{_QUERY}/{log_of}")
        try:
            # Twice: of a single path that is not there Spark also logs a warning with a trace.
            listed = self.session.spark.read.format("binaryFile").load([path, path])
            return bool(listed.select("path").limit(1).collect())
        except AnalysisException as error:
            if "PATH_NOT_FOUND" in str(error):
                return False
            raise

    # How it writes.

    def _exactly_once(self) -> Place | None:
        """The topic for committed batches: the offsets topic of exactly-once workers, else the connector's own."""
        context = self.context
        if context.transactional_id is not None:
            assert context.offsets_topic is not None
            return Place(context.offsets_topic, context.transactional_id.rpartition("-")[0])
        if not self.options.exactly_once:
            return None
        topic = self.options.exactly_once_topic or f"connect-batches-{context.connector}"
        self.clients.make_topic(NewTopic(topic, 1, -1, {"cleanup.policy": "compact"}), "exactly.once.topic")
        return Place(topic, f"connect-{context.connector}")

    def _run(self, checkpoint: str) -> Run | None:
        place = self.exactly_once
        return None if place is None else Run(self.context.connector, place.prefix, place.topic, checkpoint)

    def _is_accounted_for(self, checkpoint: str) -> bool:
        run = self._run(checkpoint)
        if run is None:
            return False
        committed = CommittedBatches(run, self.clients)
        try:
            committed.begin(Partitioning(1), self.keep_going)
            return committed.has_any
        finally:
            committed.close()

    def writer(self, shape: RowShape) -> BatchWriter:
        """The writer of batches of these rows. With exactly-once a new run begins with it."""
        spark, context = self.session.spark, self.context
        shuffle = int(spark.conf.get("spark.sql.shuffle.partitions", "8"))
        partitioning = Partitioning(self.options.writers(shuffle), shape.key)
        run = self._run(self.checkpoint)
        if self._committed is not None:
            self._committed.close()
        self._committed = None if run is None else CommittedBatches(run, self.clients)
        if self._committed is not None:
            self._committed.begin(partitioning, self.keep_going)
        plan = WritePlan(shape, OutputPlan(self.clients, tuple(context.plugin_path), run))
        lease_file = str(self.lease_file.path) if self.driver_is_here() else None
        return BatchWriter(plan, partitioning, self._committed, lease_file, self.tally)

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of values, in rows with these. Raises ConfigError."""
        from spark_sink.source.batches import value_columns

        return value_columns(names, self.options.columns_included, self.options.columns_excluded)

    def stream(self, rows: Any, writer: BatchWriter, output_mode: str = "append") -> Any:
        """Start a streaming query that writes these rows."""
        made = rows.writeStream.foreachBatch(writer).outputMode(output_mode)
        return self.running.triggered(made.option("checkpointLocation", self.folder)).start()

    # While it runs.

    def begin(self, query: Query) -> Any:
        query.due = time.monotonic() + _LOOK_AGAIN_S  # should it be too early
        return self.start_query() if self.may_begin() else None

    def recover(self, query: Query, error: BaseException) -> bool:
        said = text_of(error)
        if NotNow.__name__ in said:
            return True
        if "DELTA_SCHEMA_CHANGED" not in said:
            return False
        version = _CHANGED_IN.search(said)
        change = (self.progress.rows, version and version[1])
        if change == self._began_anew_at:
            return False
        log.info("the table has other columns now: the query restarts with them")
        self._began_anew_at = change
        return True

    def look_around(self) -> None:
        if time.monotonic() < self._report_due:
            return
        self._report_due = time.monotonic() + _REPORT_S
        self._report()

    def failing(self) -> str:
        return self._problem

    def stop(self) -> None:
        super().stop()
        if self._committed is not None:
            self._committed.close()

    def last_report(self, interrupted: Sequence[Query]) -> None:
        self._report()

    def _report(self) -> None:
        offset = self.offset_of(self.progress)
        if offset is None:
            return
        try:
            self.store(offset)
        except ConnectError as error:
            self._problem = f"Offsets are not stored: {error}"
        else:
            self._problem = ""
