"""The task of a source connector on Spark: it plans in the worker's process, and Spark carries plans out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from connect.api.engine import EngineTaskContext
from connect.api.splits import SplitSourceTask
from connect.delivery.source_offsets import Entries
from connect.errors import ConnectError, RetriableError
from connect.plugins.lifetime import Lifetime
from connect.plugins.loading import load_class
from spark_sink.connector_source.batches import Batch, Batches, StoredBatches
from spark_sink.connector_source.reading import ReaderContext, ReaderPlan, SplitWriter
from spark_sink.query.polled import PolledQuery
from spark_sink.query.settings import QueryOptions
from spark_sink.query.supervised import Query, SupervisedTask
from spark_sink.source.clients import SourceClients
from spark_sink.source.committed_batches import CommittedBatches, Partitioning, Run
from spark_sink.source.tally import Tally, TallyProgress
from spark_sink.source.writing import BatchRequest, OutputPlan, Written

log = logging.getLogger("connect.spark")

_QUERY: Final = "splits"
#: A planner that has nothing is asked again after this time at the earliest, and after an error after that one.
_IDLE_S: Final = 0.1
_RETRY_S: Final = 1.0
_SLICE_S: Final = 0.05


class ConnectorSourceTask(SupervisedTask):
    """Runs the splits of a `SplitSourceTask`. Offsets are those of the worker engine, which can go on from them.

    At most `tasks.max` splits are read at once; where it is not set, as many as Spark has cores.
    """

    def prepare(self) -> None:
        context = self.context
        self._options = QueryOptions.parse(context.connector_config)
        self._clients = SourceClients(context.connector, context.worker_config, context.connector_config)
        self._tally = Tally()
        self._reading: SplitReading | None = None
        self.queries.append(Query(_QUERY, SplitProgress(_QUERY, context.metrics, self._tally)))

    def begin(self, query: Query) -> Any:
        if not self.may_begin():
            return None
        reading = SplitReading(self.context, self.session.spark, self._clients, self._tally, self._most())
        self._reading = reading
        return PolledQuery(
            reading.once,
            0.0,
            self.may_begin,
            self.session.spark,
            once=self._options.trigger != "interval",
            closing=reading.close,
        )

    def failing(self) -> str:
        return self._reading.failing if self._reading is not None else ""

    def _most(self) -> int:
        """How many splits are read at once."""
        if most := self.context.connector_config.get("tasks.max"):
            return max(1, int(most))
        spark = self.session.spark
        if self.session.remote:
            return int(spark.conf.get("spark.sql.leafNodeDefaultParallelism", None) or _shuffle_partitions(spark))
        return max(1, int(spark.sparkContext.defaultParallelism))


def _shuffle_partitions(spark: Any) -> int:
    """What a Spark Connect server tells of its size: it does not show its cores."""
    return min(200, max(1, int(spark.conf.get("spark.sql.shuffle.partitions", "8"))))


class SplitReading:
    """Plans, has Spark read and write the splits, stores the offsets. For the thread of one `PolledQuery`.

    Each begins at the stored offsets, with a planning instance of its own.

    Args:
        context: of the task.
        spark: a session.
        clients: of the connector.
        tally: counts what is written.
        most: splits of a plan.

    Attributes:
        failing: why nothing can be planned now; empty when all is well.
    """

    def __init__(self, context: EngineTaskContext, spark: Any, clients: SourceClients, tally: Tally, most: int) -> None:
        self.failing = ""
        self._context = context
        self._spark = spark
        self._clients = clients
        self._tally = tally
        self._most = most
        self._committed: CommittedBatches | None = None
        self._batches: Batches | None = None
        self._planner: SplitSourceTask | None = None
        self._life: Lifetime[SplitSourceTask] | None = None

    def once(self) -> bool:
        """Plan, and carry it out. Returns whether there may be more to read.

        Raises:
            RetriableError: a restart of the query may help.
            ConnectError: a split cannot be read or written.
            FencedError: another run of this connector has begun.
        """
        batches = self._batches = self._batches or self._begun()
        if (left := batches.unfinished()) is not None:
            log.info("batch %d of an earlier run is finished first", left.number)
            self._carry_out(left)
            return True
        planner = self._planner = self._planner or self._started()
        began = time.monotonic()
        try:
            plan = planner.plan(self._most)
        except RetriableError as error:
            self.failing = str(error)
            self._wait(began + _RETRY_S)
            return True
        self.failing = ""
        if plan is None:
            self._wait(began + _IDLE_S)
            return False
        self._carry_out(batches.begin(plan))
        planner.commit()
        return True

    def close(self) -> None:
        """Stop the planning instance, and close the clients."""
        if self._committed is not None:
            self._committed.close()
        if self._life is not None:
            self._life.end()

    def _begun(self) -> Batches:
        """With exactly-once no earlier run can write anything from here on."""
        context = self._context
        store: Callable[[Entries], None] = context.store_offsets
        target, folder = context.task_target
        transactional, topic = context.transactional_id, context.offsets_topic
        if transactional is None or topic is None:
            self._plan = ReaderPlan(target, folder, dict(context.configs), self._output(None))
            return Batches(store)
        prefix = transactional.rpartition("-")[0]
        # What an earlier run has stored is read when it can write nothing more.
        committed = self._committed = CommittedBatches(Run(context.connector, prefix, topic, ""), self._clients)
        committed.begin(Partitioning(self._most), self._keep_going)
        declared = load_class(target, folder).settings
        batches = StoredBatches(store, context.offsets, context.configs, lambda key: key in declared)
        run = committed.run = replace(committed.run, stream=batches.stream)
        self._plan = ReaderPlan(target, folder, dict(context.configs), self._output(run))
        return batches

    def _output(self, run: Run | None) -> OutputPlan:
        return OutputPlan(self._clients, tuple(self._context.plugin_path), run)

    def _started(self) -> SplitSourceTask:
        target, folder = self._context.task_target
        made = load_class(target, folder)()
        assert isinstance(made, SplitSourceTask)  # the engine has looked
        made.context = PlannerContext(self._context)
        self._life = Lifetime(made)
        self._life.start(dict(self._context.configs))
        return made

    def _carry_out(self, batch: Batch) -> None:
        assert self._batches is not None
        splits = batch.plan.splits
        if splits:
            began = time.monotonic()
            written = self._written(batch)
            self._tally.add(written)
            for part in written:
                self._context.metrics.add(part.measured)
            self._measure(sum(part.read for part in written), time.monotonic() - began)
        self._batches.end(batch)

    def _written(self, batch: Batch) -> list[Written]:
        splits, committed = batch.plan.splits, self._committed
        request = BatchRequest(batch.number, Partitioning(len(splits)))
        if committed is not None:
            since = committed.refresh()
            committed.partitioning_of(batch.number, request.partitioning)  # no later one is in Kafka
            request = BatchRequest(batch.number, request.partitioning, committed.done(batch.number), since)
        numbers = self._spark.range(0, len(splits), 1, len(splits))
        rows = numbers.mapInArrow(SplitWriter(self._plan, request, splits), Written.COLUMNS).collect()
        if len(rows) != len(splits):
            raise ConnectError(f"Spark has read {len(rows)} of {len(splits)} splits, and says nothing of the others.")
        return [Written(**row.asDict()) for row in rows]

    def _measure(self, rows: int, seconds: float) -> None:
        metrics = self._context.metrics
        metrics.observe("connect_spark_batch_seconds", seconds, query=_QUERY)
        metrics.count("connect_spark_rows_total", rows, query=_QUERY)
        metrics.gauge("connect_spark_rows_per_second", rows / max(seconds, 0.001), query=_QUERY)

    def _keep_going(self) -> None:
        if self._context.stopping():
            raise ConnectError("The task is to stop.")

    def _wait(self, until: float) -> None:
        while not self._context.stopping() and (left := until - time.monotonic()) > 0:
            time.sleep(min(_SLICE_S, left))


class PlannerContext(ReaderContext):
    """The engine's context, as a source task sees it."""

    def __init__(self, context: EngineTaskContext) -> None:
        super().__init__(context.connector, 0, context.configs, context.metrics)
        self._context = context

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        return self._context.offsets(partitions)

    def stopping(self) -> bool:
        return self._context.stopping()


class SplitProgress(TallyProgress):
    """The progress of a source's splits: Spark has no query of its own that would report it."""

    def take(self, query: Any) -> None:
        super().take(query)
        self.rows = self._tally.read
