"""Writes one part of a batch to Kafka, in an executor: rows -> records -> transformations -> converters -> producer.

With exactly-once a part is one transaction, which also holds the batch's number
(see `spark_sink.source.committed_batches`).
Without, its records are acknowledged when Spark is told that the part is written.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.source import SourceTask
from connect.data.batch import SourceBatch
from connect.delivery.acknowledged import AcknowledgedOutput
from connect.delivery.boundaries import Boundary, End
from connect.delivery.meter import SourceMeter
from connect.delivery.source import Output, Source
from connect.delivery.source_errors import source_errors
from connect.delivery.transactional import TransactionalOutput
from connect.errors import ConnectError
from connect.kafka.reading.newest import NewestRecords
from connect.pipeline import source_chain
from connect.plugins import Plugins
from connect.telemetry.metrics import Registry
from spark_sink.source.clients import SourceClients
from spark_sink.source.committed_batches import CommittedBatch, Partitioning, Run, another_run
from spark_sink.source.records import Records, RowShape

#: The column that says which writer a row goes to.
WRITER: Final = "_writer"

_PATIENCE_S: Final = 85.0
#: How long the brokers have to take back what was written; whoever writes next does it too.
_ABANDON_S: Final = 5.0


@dataclass(frozen=True)
class OutputPlan:
    """How all parts of all batches of a query are written. Travels pickled and is never shown.

    Attributes:
        clients: creates Kafka's clients.
        plugin_path: folders of plug-ins, which the executors have too.
        run: with exactly-once, the run; None for at least once.
        id: distinguishes plans.
    """

    clients: SourceClients
    plugin_path: tuple[str, ...] = ()
    run: Run | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex, kw_only=True)


@dataclass(frozen=True)
class WritePlan:
    """What all parts of all batches of a query of rows share. Travels as its output does.

    Attributes:
        shape: how a row becomes a record.
        output: see there.
    """

    shape: RowShape
    output: OutputPlan


@dataclass(frozen=True)
class BatchRequest:
    """One batch.

    Attributes:
        batch: its number.
        partitioning: how it is divided among writers.
        done: the writers that have committed it.
        since: by partition of the topic of committed batches, the offset up to which the driver has read it.
    """

    batch: int
    partitioning: Partitioning
    done: frozenset[int] = frozenset()
    since: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """The result of one part.

    Attributes:
        writer: its writer.
        read: rows.
        written: records that were sent, without dead letters.
        errors: records that were given up.
        repeated: whether it was already in Kafka, so that nothing was written.
        topics: that were written to.
        measured: the connector's own metrics, as `connect.telemetry.Registry.text`.
    """

    writer: int
    read: int = 0
    written: int = 0
    errors: int = 0
    repeated: bool = False
    topics: tuple[str, ...] = ()
    measured: str = ""

    #: As a schema of Spark.
    COLUMNS: ClassVar[str] = (
        "writer int, read bigint, written bigint, errors bigint, repeated boolean, topics array<string>,"
        " measured string"
    )
    _ARROW: ClassVar[pa.Schema] = pa.schema(
        {
            "writer": pa.int32(),
            "read": pa.int64(),
            "written": pa.int64(),
            "errors": pa.int64(),
            "repeated": pa.bool_(),
            "topics": pa.list_(pa.string()),
            "measured": pa.string(),
        }
    )

    def row(self) -> pa.RecordBatch:
        """In Spark's form."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return pa.RecordBatch.from_pylist([{**told, "topics": list(self.topics)}], self._ARROW)


class PartWriter:
    """Called by Spark in an executor with the rows of one part: for `DataFrame.mapInArrow`.

    Rows have the columns of the plan's shape and `WRITER`, which is the same in all of them.
    """

    def __init__(self, plan: WritePlan, request: BatchRequest) -> None:
        self._plan = plan
        self._request = request

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows, and return the result. Nothing is done for a part without rows.

        Raises:
            RecordError: a record cannot be written and errors are not tolerated.
            ConnectError: the brokers refuse.
            FencedError: another task writes this part.
        """
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        writer = int(first.column(WRITER)[0].as_py())
        yield write_part(self._plan, self._request, writer, _of_writer(writer, first, filled)).row()


def write_part(plan: WritePlan, request: BatchRequest, writer: int, rows: Iterator[pa.RecordBatch]) -> Written:
    """Write the rows of one part, in the columns of the plan's shape. Errors as of `PartWriter`."""
    return write_records(plan.output, request, writer, lambda: _records(plan.shape, rows))


def write_records(
    plan: OutputPlan, request: BatchRequest, writer: int, made: Callable[[], Iterator[SourceBatch]]
) -> Written:
    """Write what one writer has of a batch, unless it is in Kafka already: `made` is called then.

    Raises:
        RecordError: a record cannot be written and errors are not tolerated.
        ConnectError: the brokers refuse.
        FencedError: another task writes this part.
    """
    if writer in request.done:
        return Written(writer, repeated=True)
    resources = part_resources(plan)
    try:
        output = resources.open_output(request, writer)
        return Written(writer, repeated=True) if output is None else resources.fill(output, writer, made())
    except BaseException:
        # The records come again, and a transformation that remembers them (Deduplicate) would leave them out.
        _close_kept()
        raise


def _records(shape: RowShape, rows: Iterator[pa.RecordBatch]) -> Iterator[SourceBatch]:
    """Records of the rows."""
    records: Records | None = None
    for batch in shape.whole(rows):
        if records is None:
            records = shape.records(batch.schema)
        yield records.of(batch)


class PartResources:
    """What an executor's process keeps between its parts: the chain, and the reader of committed batches."""

    def __init__(self, plan: OutputPlan) -> None:
        clients = plan.clients
        plugins = Plugins.discover([Path(folder) for folder in plan.plugin_path])
        chain = source_chain(plugins, clients.worker, clients.config, time.sleep)
        errors = source_errors(chain.policy, clients.config, clients.connector, 0, transactions=plan.run is not None)
        errors.make_topic(clients.make_topic)
        self.plan = plan
        self._source = Source(_NoTask(), chain, errors, _NoLease(), SourceMeter(Registry(), {}), lambda _: {})
        self._committed: NewestRecords | None = None

    def open_output(self, request: BatchRequest, writer: int) -> Output | None:
        """The output for a writer's part; None when it is already in Kafka.

        Raises:
            FencedError: another run has begun.
            ConnectError: the brokers refuse.
        """
        run, clients, refused = self.plan.run, self.plan.clients, self._source.errors.refuse
        if run is None:
            return AcknowledgedOutput(self._source, clients.producer(refused), lambda _: None, math.inf)
        producer = clients.transactional(run.writer_id(writer), refused=refused)
        committed = CommittedBatch(request.batch, run.stream, request.partitioning).to_json()
        record = (run.key(writer), committed)
        output = TransactionalOutput(self._source, producer, _WholePart(), lambda _: [record], run.topic)
        try:
            producer.claim()
            if self._is_done(run, request, writer):
                output.close()
                return None
            output.begin()
        except BaseException:
            output.close()
            raise
        return output

    def fill(self, output: Output, writer: int, made: Iterator[SourceBatch]) -> Written:
        """Send everything, and return when it is durable."""
        counts = self._source.chain.policy.counts
        errors, read, written, topics = counts.errors, 0, 0, set[str]()
        try:
            for batch in made:
                if not len(batch):
                    continue
                encoded = output.encode(batch)
                output.send(batch, encoded)
                output.serve()
                read += len(batch)
                written += len(encoded)
                topics.update(encoded.by_topic() if len(encoded) else ())
            output.finish(math.inf)
        except BaseException:
            with suppress(ConnectError):  # whoever takes the id next aborts what is open
                output.abandon(_ABANDON_S)
            raise
        finally:
            output.close()
        return Written(writer, read, written, counts.errors - errors, topics=tuple(sorted(topics)))

    def close(self) -> None:
        """Close everything."""
        self._source.chain.close()
        if self._committed is not None:
            self._committed.close()

    def _is_done(self, run: Run, request: BatchRequest, writer: int) -> bool:
        """Read the commits, after the id was claimed: nobody else can commit it now. Raises FencedError."""
        if self._committed is None:
            self._committed = self.plan.clients.newest(run.topic)
        topic, own, of_run = self._committed, run.key(writer), run.own_key
        places = {topic.place_of(own, _PATIENCE_S), topic.place_of(of_run, _PATIENCE_S)}
        found = topic.look({own, of_run}.__contains__, _PATIENCE_S, request.since, places).values
        if of_run in found and not run.is_named_in(found[of_run]):
            raise another_run(run)
        committed = CommittedBatch.of(found.get(own))
        return committed is not None and committed.stream == run.stream and committed.batch >= request.batch


class _WholePart(Boundary):
    """A part is one transaction."""

    def after(self, moment: float) -> End | None:
        return None


class _NoTask(SourceTask):
    """No callbacks for single records: Spark gets the result of the part."""

    def start(self, config: Mapping[str, str]) -> None:
        pass

    def poll(self) -> None:
        pass


class _NoLease:
    """Only Spark ends a task of an executor. See `LeaseHolder`."""

    sleep = staticmethod(time.sleep)

    def check(self) -> None:
        pass

    def await_lease(self) -> None:
        pass

    def holds_lease(self) -> bool:
        return True


_kept: list[PartResources] = []


def part_resources(plan: OutputPlan) -> PartResources:
    """The resources of a plan in this process, which keeps those of one plan."""
    if _kept and _kept[0].plan.id != plan.id:
        _close_kept()
    if not _kept:
        _kept.append(PartResources(plan))
    return _kept[0]


def _close_kept() -> None:
    while _kept:
        with suppress(Exception):  # plug-ins raise anything, and nobody needs it any more
            _kept.pop().close()


def _of_writer(writer: int, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows, checked to belong to one writer."""
    batch: pa.RecordBatch | None = first
    while batch is not None:
        column = batch.column(WRITER)
        if pc.any(pc.not_equal(column, writer)).as_py():
            raise ConnectError(f"Rows of several writers came to writer {writer}: Spark has put them together.")
        yield batch
        batch = next(rest, None)
