"""Writes one part of a batch to Kafka, in an executor: rows -> records -> transformations -> converters -> producer.

With exactly-once a part is one transaction, which also holds the batch's number
(see `spark_sink.source.committed_batches`).
Without, its records are acknowledged when Spark is told that the part is written.
"""

from __future__ import annotations

import logging
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc

from connect.data.batch import SourceBatch
from connect.errors import ConnectError
from connect.kafka.newest import NewestRecords
from connect.kafka.produce import DeliveryError
from connect.kafka.transactional import AbortableError, TransactionalProducer
from connect.pipeline import Chain, ErrorPolicy, RecordError, source_chain
from connect.pipeline.dead_letter_queue import new_topic
from connect.pipeline.dead_letters import DeadLetterSettings
from connect.pipeline.error_topics import UnwrittenError
from connect.pipeline.source_dead_letters import SourceDeadLetters
from connect.plugins import Plugins
from spark_sink.source.changes import ChangeRecords, ChangeShape, whole_groups
from spark_sink.source.clients import SourceClients
from spark_sink.source.committed_batches import CommittedBatch, Partitioning, Run, another_run
from spark_sink.source.records import Records, RowShape

log = logging.getLogger(__name__)

#: The column that says which writer a row goes to.
WRITER: Final = "_writer"

_SLICE_S: Final = 0.5
_PATIENCE_S: Final = 85.0
#: How long the brokers have to take back what was written; whoever writes next does it too.
_ABORT_S: Final = 5.0
#: How often a transaction that Kafka does not let through is tried again, and how long the first pause is.
_TRIES: Final = 5
_PAUSE_S: Final = 0.5


@dataclass(frozen=True)
class WritePlan:
    """What all parts of all batches of a query have in common. Travels pickled and is shown nowhere.

    Attributes:
        shape: what becomes of a row.
        clients: makes Kafka's clients.
        plugin_path: folders of plug-ins, which the executors have too.
        run: with exactly-once, the run; None for at least once.
        id: tells plans apart.
    """

    shape: RowShape
    clients: SourceClients
    plugin_path: tuple[str, ...] = ()
    run: Run | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


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
    """What became of one part.

    Attributes:
        writer: whose it was.
        read: rows.
        written: records that were sent, without dead letters.
        errors: records that were given up.
        repeated: whether it was in Kafka already, so that nothing was written.
        topics: that were written to.
    """

    writer: int
    read: int = 0
    written: int = 0
    errors: int = 0
    repeated: bool = False
    topics: tuple[str, ...] = ()

    #: As a schema of Spark.
    COLUMNS: ClassVar[str] = (
        "writer int, read bigint, written bigint, errors bigint, repeated boolean, topics array<string>"
    )
    _ARROW: ClassVar[pa.Schema] = pa.schema(
        {
            "writer": pa.int32(),
            "read": pa.int64(),
            "written": pa.int64(),
            "errors": pa.int64(),
            "repeated": pa.bool_(),
            "topics": pa.list_(pa.string()),
        }
    )

    def row(self) -> pa.RecordBatch:
        """As Spark takes it."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        return pa.RecordBatch.from_pylist([{**told, "topics": list(self.topics)}], self._ARROW)


class PartWriter:
    """What Spark calls in an executor with the rows of one part: for `DataFrame.mapInArrow`.

    Rows have the columns of the plan's shape and `WRITER`, which is the same in all of them.
    """

    def __init__(self, plan: WritePlan, request: BatchRequest) -> None:
        self._plan = plan
        self._request = request

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows, and say what became of them. Nothing is done for a part without rows.

        Raises:
            RecordError: a record cannot be written and errors are not tolerated.
            ConnectError: the brokers refuse.
            FencedError: somebody else writes this part.
        """
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return
        writer = int(first.column(WRITER)[0].as_py())
        yield self._write(writer, _of_writer(writer, first, filled)).row()

    def _write(self, writer: int, rows: Iterator[pa.RecordBatch]) -> Written:
        if writer in self._request.done:
            return Written(writer, repeated=True)
        resources = part_resources(self._plan)
        made = resources.make(rows)
        if self._plan.run is None:
            output = Acknowledged(self._plan.clients, resources.policy, resources.dead_letters)
            return resources.fill(output, writer, made)
        transaction = OneTransaction(self._plan.run, self._request, writer, resources, self._plan.clients)
        if not transaction.begin():
            return Written(writer, repeated=True)
        return resources.fill(transaction, writer, made)


class RecordOutput(ABC):
    """Where the records of one part go. Called from one thread: `send`*, then `finish`; `close` in any case."""

    @abstractmethod
    def send(self, batch: SourceBatch, encoded: SourceBatch, dead: SourceBatch | None) -> None:
        """Send a batch.

        Args:
            batch: as it was read.
            encoded: what the chain made of it.
            dead: dead letters of it.
        """

    @abstractmethod
    def finish(self) -> None:
        """Return when everything is durable."""

    @abstractmethod
    def close(self) -> None:
        """Release the client; what is not finished is taken back, where it can be."""


class PartResources:
    """What an executor's process keeps between the parts that it writes: the chain, and who reads committed batches."""

    def __init__(self, plan: WritePlan) -> None:
        clients = plan.clients
        plugins = Plugins.discover([Path(folder) for folder in plan.plugin_path])
        self.plan = plan
        self.chain: Chain = source_chain(plugins, clients.worker, clients.config, time.sleep)
        self.policy: ErrorPolicy = self.chain.policy
        self.dead_letters: SourceDeadLetters | None = None
        self._committed: NewestRecords | None = None
        settings = DeadLetterSettings.of(clients.config)
        if settings is not None:
            clients.make_topic(new_topic(settings), "errors.deadletterqueue.topic.*")
            self.dead_letters = SourceDeadLetters(settings, clients.connector, 0, self.policy.counts)
            self.policy.dead_letter = self.dead_letters.write

    def committed(self, run: Run) -> NewestRecords:
        """Who reads them."""
        if self._committed is None:
            self._committed = self.plan.clients.newest(run.topic)
        return self._committed

    def make(self, rows: Iterator[pa.RecordBatch]) -> Iterator[SourceBatch]:
        """Records of the rows."""
        shape = self.plan.shape
        if isinstance(shape, ChangeShape) and shape.key:
            rows = whole_groups(rows, shape.key)
        records: Records | None = None
        for batch in rows:
            if records is None:
                kind: Any = ChangeRecords if isinstance(shape, ChangeShape) else Records
                records = kind(shape, batch.schema)
            yield records.of(batch)

    def fill(self, output: RecordOutput, writer: int, made: Iterator[SourceBatch]) -> Written:
        """Send everything, and return when it is durable."""
        errors, read, written, topics = self.policy.counts.errors, 0, 0, set[str]()
        try:
            for batch in made:
                if self.dead_letters is not None:
                    self.dead_letters.polled(batch)
                try:
                    encoded = self.chain.run(batch)
                except RecordError:
                    if isinstance(output, Acknowledged):
                        # The part fails, as a sink's task does, and not without its dead letter.
                        output.send(batch, batch.slice(0, 0), self._take_dead())
                        output.finish()
                    raise
                output.send(batch, encoded, self._take_dead())
                read += len(batch)
                written += len(encoded)
                topics.update(encoded.by_topic() if len(encoded) else ())
            output.finish()
        finally:
            output.close()
        return Written(writer, read, written, self.policy.counts.errors - errors, topics=tuple(sorted(topics)))

    def close(self) -> None:
        """Release what is held."""
        self.chain.close()
        if self._committed is not None:
            self._committed.close()

    def _take_dead(self) -> SourceBatch | None:
        return None if self.dead_letters is None else self.dead_letters.take()


_kept: list[PartResources] = []


def part_resources(plan: WritePlan) -> PartResources:
    """The resources of a plan in this process, which keeps those of one: another query's take their place."""
    if _kept and _kept[0].plan.id != plan.id:
        with suppress(Exception):  # plug-ins raise anything, and nobody needs it any more
            _kept.pop().close()
    if not _kept:
        _kept.append(PartResources(plan))
    return _kept[0]


class Acknowledged(RecordOutput):
    """At least once: every record is acknowledged when the part is finished."""

    def __init__(self, clients: SourceClients, policy: ErrorPolicy, dead_letters: SourceDeadLetters | None) -> None:
        self._policy = policy
        self._dead_letters = dead_letters
        self._producer = clients.producer(self._refused)

    def send(self, batch: SourceBatch, encoded: SourceBatch, dead: SourceBatch | None) -> None:
        if dead is not None:
            self._producer.send(dead, None)
        self._producer.send(encoded, None, self._each(batch, encoded) if self._dead_letters is not None else None)
        self._producer.acknowledged()

    def finish(self) -> None:
        self._drain()
        dead = None if self._dead_letters is None else self._dead_letters.take()
        if dead is not None:  # of records that Kafka refused
            self._producer.send(dead, None)
            self._drain()

    def close(self) -> None:
        self._producer.close()

    def _drain(self) -> None:
        while not self._producer.drain(_SLICE_S):
            pass
        self._producer.poll()
        self._producer.acknowledged()

    def _each(self, batch: SourceBatch, encoded: SourceBatch) -> Callable[[int], Callable[[Any, Any], None]]:
        records = batch.take([row - batch.rows[0] for row in encoded.rows]).records()

        def each(row: int) -> Callable[[Any, Any], None]:
            def report(error: Any, message: Any) -> None:
                if error is not None and self._dead_letters is not None:
                    refusal = DeliveryError(message.topic(), error.name(), error.str())
                    self._dead_letters.refused(records[row], refusal)

            return report

        return each

    def _refused(self, error: DeliveryError, _: Any) -> None:
        if self._dead_letters is not None and error.topic == self._dead_letters.topic:
            self._policy.counts.dead_letters_failed += 1
            raise UnwrittenError(error)
        count_refusal(self._policy, error)


class OneTransaction(RecordOutput):
    """Exactly once: the part and the batch's number appear together, or not at all.

    What is sent is kept, up to the producer's window, so that it can be written once more when Kafka does not let the
    transaction through. What is more fails the part; Spark repeats it.

    Args:
        run: the writer's.
        request: the batch.
        writer: its number.
        resources: of this process.
        clients: makes the producer.
    """

    def __init__(
        self, run: Run, request: BatchRequest, writer: int, resources: PartResources, clients: SourceClients
    ) -> None:
        self._run = run
        self._request = request
        self._writer = writer
        self._resources = resources
        self._producer: TransactionalProducer = clients.transactional(
            run.writer_id(writer), refused=lambda error, _: self._refused(error)
        )
        self._sent: list[SourceBatch] = []
        self._bytes = 0
        self._complete = True  # whether `_sent` has all that is in the transaction
        self._open = False

    def begin(self) -> bool:
        """Take the writer's id, and begin; False when the part is in Kafka already.

        Raises:
            FencedError: another run has begun.
            ConnectError: the brokers refuse.
        """
        try:
            self._producer.claim()
            if self._is_done():
                self._producer.close()
                return False
            self._producer.begin()
            self._open = True
        except BaseException:
            self.close()
            raise
        return True

    def send(self, batch: SourceBatch, encoded: SourceBatch, dead: SourceBatch | None) -> None:
        for part in (dead, encoded):
            if part is not None and len(part):
                self._keep(part)
                self._producer.send(part, None)

    def finish(self) -> None:
        committed = CommittedBatch(self._request.batch, self._run.stream, self._request.partitioning).to_json()
        for tries in range(1, _TRIES + 1):
            try:
                self._producer.write(self._run.topic, [(self._run.key(self._writer), committed)])
                self._producer.commit(_wait)
                break
            except AbortableError as error:
                if tries == _TRIES or not self._complete:
                    raise
                log.warning("%s It is aborted and written once more.", error)
                self._producer.abort(_wait)
                time.sleep(_PAUSE_S * 2 ** (tries - 1))
                self._producer.begin()
                for part in self._sent:
                    self._producer.send(part, None)
        self._open = False

    def close(self) -> None:
        if self._open:
            deadline = time.monotonic() + _ABORT_S

            def waiting() -> None:
                if time.monotonic() > deadline:
                    raise ConnectError("The brokers do not abort the transaction in time.")

            with suppress(ConnectError):  # whoever takes the id next aborts it
                self._producer.abort(waiting)
            self._open = False
        self._producer.close()

    def _is_done(self) -> bool:
        """Read what was committed, after the id was taken: nobody else can commit it now. Raises FencedError."""
        run, topic = self._run, self._resources.committed(self._run)
        own, of_run = run.key(self._writer), run.own_key
        places = {topic.place_of(own, _PATIENCE_S), topic.place_of(of_run, _PATIENCE_S)}
        found = topic.look({own, of_run}.__contains__, _PATIENCE_S, self._request.since, places).values
        if of_run in found and not run.is_named_in(found[of_run]):
            raise another_run(run)
        committed = CommittedBatch.of(found.get(own))
        return committed is not None and committed.stream == run.stream and committed.batch >= self._request.batch

    def _keep(self, part: SourceBatch) -> None:
        self._bytes += sum(len(value) for value in part.values.to_list() if value is not None)
        self._complete = self._complete and self._bytes <= self._producer.window
        if self._complete:
            self._sent.append(part)
        else:
            self._sent.clear()

    def _refused(self, error: DeliveryError) -> None:
        # In a transaction there is no telling which record it was, and so no dead letter.
        if self._resources.dead_letters is not None:
            raise error
        count_refusal(self._resources.policy, error)


def count_refusal(policy: ErrorPolicy, error: DeliveryError) -> None:
    """A record that Kafka does not take is skipped where errors are tolerated (KIP-779), else it fails the part."""
    policy.counts.failures += 1
    policy.counts.errors += 1
    policy.counts.last_error_ms = int(time.time() * 1000)
    if not policy.tolerate:
        raise error
    policy.counts.skipped += 1
    if policy.log_errors:
        policy.counts.logged += 1
        log.error("%s The record is skipped.", error)


def _of_writer(writer: int, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows, made sure to be one writer's."""
    batch: pa.RecordBatch | None = first
    while batch is not None:
        column = batch.column(WRITER)
        if pc.any(pc.not_equal(column, writer)).as_py():
            raise ConnectError(f"Rows of several writers came to writer {writer}: Spark has put them together.")
        yield batch
        batch = next(rest, None)


def _wait() -> None:
    """Nobody ends an executor's task but Spark."""
