"""The output of a source's records: the seam of acknowledged and of transactional output.

`connect.delivery.acknowledged` delivers at least once, `connect.delivery.transactional` exactly once. A worker's loop
and Spark's executors send through either without knowing which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.column import Plain
from connect.data.record import SourceRecord
from connect.delivery.meter import SourceMeter
from connect.delivery.source_errors import SourceDeadLetters, SourceErrors
from connect.delivery.source_offsets import Positions, positions
from connect.kafka.writing.deliveries import Report
from connect.kafka.writing.produce import BatchProducer
from connect.kafka.writing.refusals import DeliveryError
from connect.pipeline import Chain, RecordError

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

_T = TypeVar("_T")


class LeaseHolder(Protocol):
    """Whether its owner may still write. In a worker's task this is `connect.worker.control.Control`."""

    def check(self) -> None:
        """Raise when the owner has to end."""

    def await_lease(self) -> None:
        """Return when a write may start. Raises as `check` does."""

    def holds_lease(self) -> bool:
        """Whether a write may start at this moment."""

    def sleep(self, seconds: float) -> None:
        """Wait this long. Raises as `check` does."""


class Source(NamedTuple):
    """A source, as its output sees it.

    Attributes:
        task: called with what was written.
        chain: transformations -> values -> bytes.
        errors: handles the records that cannot be written.
        lease: see there.
        meter: counts commits.
        positions: where reading continues after a batch.
    """

    task: SourceTask
    chain: Chain
    errors: SourceErrors
    lease: LeaseHolder
    meter: SourceMeter
    positions: Callable[[SourceBatch], Positions] = positions


class Output(ABC):
    """Sends the batches of one source. For the task's thread, in this order:

        (encode -> send | polled | serve | pause)* -> finish or abandon -> close

    Any of them raises ConnectError where Kafka refuses records or offsets, and errors of the lease.

    Args:
        source: see there.
        producer: used by this alone.

    Attributes:
        producer: see there.
    """

    def __init__(self, source: Source, producer: BatchProducer) -> None:
        self.producer = producer
        self._source = source
        self._dead_letters = 0
        self._unsent = False  # whether the task has returned records that have not been sent
        # Whether single records are found again by their rows. Only then that is looked at, as it costs time.
        self._needs_rows = source.task.acknowledges_records or isinstance(source.errors, SourceDeadLetters)

    @property
    def written(self) -> int:
        """Records that are acknowledged, without dead letters."""
        acknowledged = self.producer.sent - self.producer.deliveries.outstanding
        return max(0, acknowledged - self._source.errors.refused - self._dead_letters)

    @property
    def has_unfinished(self) -> bool:
        """Whether something sent does not count yet."""
        return bool(self.producer.deliveries.outstanding)

    def waiting(self) -> str:
        """What waits to be written, in words; empty when nothing does. Thread-safe."""
        rows = self.producer.deliveries.rows
        return f"{rows} records are not acknowledged, as far as the task has looked" if rows else ""

    def failing(self) -> tuple[float, str] | None:
        """See `connect.worker.watchdog.Watched`."""
        return None

    def encode(self, batch: SourceBatch) -> SourceBatch:
        """The chain's output for a batch, which has at least one row.

        Raises:
            RecordError: a record fails the task. Its dead letter is written if possible.
        """
        self._unsent = True
        batch = self._numbered(batch)
        self._source.errors.begin(batch)
        try:
            return self._source.chain.run(batch)
        except RecordError:
            self._failed()
            raise

    @abstractmethod
    def send(self, batch: SourceBatch, encoded: SourceBatch) -> None:
        """Send the result of `encode`. Its dead letters are sent first, before anything that advances the offset."""

    def polled(self) -> None:  # noqa: B027 - only transactions may end with it
        """A poll returned no records."""

    @abstractmethod
    def serve(self) -> None:
        """Maintain what was sent: to be called before each poll, or while there is none."""

    @abstractmethod
    def pause(self) -> None:
        """The task is paused: finish what is open, as far as that is possible soon."""

    @abstractmethod
    def finish(self, seconds: float) -> None:
        """Finish what was sent, as far as possible, within this many seconds."""

    @abstractmethod
    def abandon(self, seconds: float) -> None:
        """The end after an error: discard what is unfinished, if possible, within this many seconds."""

    def close(self) -> None:
        """Close the client."""
        self.producer.close()

    def _failed(self) -> None:  # noqa: B027 - a transaction is taken back
        """A record that was not sent fails the task."""

    def _numbered(self, batch: SourceBatch) -> SourceBatch:
        """With rows that follow each other, where they matter: a task may have made the batch of parts of others."""
        if not self._needs_rows:
            return batch
        rows = batch.rows.to_list()
        if rows == list(range(rows[0], rows[0] + len(rows))):
            return batch
        return batch.with_columns(rows=Plain(list(range(len(rows)))))

    def _tell_upstream(self) -> None:
        """What was sent is stored: the task may forget it upstream, unless it has returned more than that (P2).

        A task can be told to stop between a poll and the end of `send`, which may wait long for the lease. What was
        sent before is stored then, and what that poll returned is read again.
        """
        if not self._unsent:
            self._source.task.commit()

    def _take_dead_letters(self) -> SourceBatch | None:
        taken = self._source.errors.take()
        self._dead_letters += 0 if taken is None else len(taken)
        return taken


def records_to_confirm(task: SourceTask, batch: SourceBatch) -> dict[int, SourceRecord]:
    """For each row of a batch for which `commit_record` is called, its record."""
    if not task.acknowledges_records:
        return {}
    rows = task.acknowledged_rows(batch)
    if rows is None:
        return dict(enumerate(batch.records()))
    return dict(zip(rows, batch.take(rows).records(), strict=True))


def sent_rows(batch: SourceBatch, encoded: SourceBatch) -> list[int]:
    """For each sent row its row of the batch."""
    first = batch.rows[0]
    return [row - first for row in encoded.rows]


def reports(
    rows: list[int],
    wanted: Mapping[int, _T],
    confirm: Callable[[_T, RecordMetadata | None], object],
    give_up: Callable[[int, DeliveryError], None] | None = None,
) -> Callable[[int], Report | None]:
    """For `BatchProducer.send`: reports the outcome of single records.

    Args:
        rows: see `sent_rows`.
        wanted: by row, the first argument of `confirm`.
        confirm: called with that and with the record's metadata; None instead if it was given up.
        give_up: called with the row of each record that is given up.
    """

    def each(index: int) -> Report | None:
        row = rows[index]
        to_confirm = wanted.get(row)
        if to_confirm is None and give_up is None:
            return None

        def report(error: Any, message: Any) -> None:
            metadata = None
            if error is None:
                offset = message.offset()
                metadata = RecordMetadata(message.topic(), message.partition(), -1 if offset is None else offset)
            elif give_up is not None:
                give_up(row, DeliveryError(message.topic(), error.name(), error.str()))
            if to_confirm is not None:
                confirm(to_confirm, metadata)

        return report

    return each
