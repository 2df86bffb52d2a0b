"""Where a source's records go, and when they count: the seam of acknowledged and of transactional output.

`connect.delivery.acknowledged` delivers at least once, `connect.delivery.transactional` exactly once. A worker's loop
and Spark's executors send through either without knowing which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery.meter import SourceMeter
from connect.delivery.source_errors import SourceErrors
from connect.delivery.source_offsets import Positions, positions
from connect.kafka.writing.produce import BatchProducer, DeliveryError, Report
from connect.pipeline import Chain, RecordError

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

_T = TypeVar("_T")


class LeaseHolder(Protocol):
    """Whether its owner may still write. In a worker's task this is `connect.worker.control.Control`."""

    def check(self) -> None:
        """Raise when the owner is to end."""

    def await_lease(self) -> None:
        """Return when a write may start. Raises as `check` does."""

    def holds_lease(self) -> bool:
        """Whether a write may start at this moment."""

    def sleep(self, seconds: float) -> None:
        """Wait this long. Raises as `check` does."""


class Source(NamedTuple):
    """A source, as its output knows it.

    Attributes:
        task: told of what was written.
        chain: transformations -> values -> bytes.
        errors: takes the records that cannot be written.
        lease: see there.
        meter: told of commits.
        positions: where reading goes on after a batch.
    """

    task: SourceTask
    chain: Chain
    errors: SourceErrors
    lease: LeaseHolder
    meter: SourceMeter
    positions: Callable[[SourceBatch], Positions] = positions


class Output(ABC):
    """Sends the batches of one source. Called from the task's thread, in this order:

        (encode -> send | polled | serve | pause)* -> finish or abandon -> close

    Any of them raises ConnectError where Kafka refuses records or offsets, and what the lease raises.

    Args:
        source: see there.
        producer: nobody else uses it.

    Attributes:
        producer: see there.
    """

    def __init__(self, source: Source, producer: BatchProducer) -> None:
        self.producer = producer
        self._source = source
        self._dead_letters = 0

    @property
    def written(self) -> int:
        """Records that are acknowledged, without dead letters."""
        producer = self.producer
        return max(0, producer.sent - producer.outstanding - self._source.errors.refused - self._dead_letters)

    @property
    def has_unfinished(self) -> bool:
        """Whether something sent does not count yet."""
        return bool(self.producer.outstanding)

    def waiting(self) -> str:
        """What waits to be written, in words; empty when nothing does. From any thread."""
        rows = self.producer.rows_under_way
        return f"{rows} records are not acknowledged, as far as the task has looked" if rows else ""

    def failing(self) -> tuple[float, str] | None:
        """See `connect.worker.watchdog.Watched`."""
        return None

    def encode(self, batch: SourceBatch) -> SourceBatch:
        """What the chain makes of a batch, which has one row at least.

        Raises:
            RecordError: a record fails the task. Its dead letter is written where it can be.
        """
        self._source.errors.begin(batch)
        try:
            return self._source.chain.run(batch)
        except RecordError:
            self._failed()
            raise

    @abstractmethod
    def send(self, batch: SourceBatch, encoded: SourceBatch) -> None:
        """Send what `encode` has made of a batch. Dead letters of it go first, before what moves the offset on."""

    def polled(self) -> None:  # noqa: B027 - only transactions may end with it
        """A poll brought nothing."""

    @abstractmethod
    def serve(self) -> None:
        """Look after what was sent: to be called before each poll, or while there is none."""

    @abstractmethod
    def pause(self) -> None:
        """The task is paused: leave nothing that does not count, as far as that is possible soon."""

    @abstractmethod
    def finish(self, seconds: float) -> None:
        """Have what was sent count, as far as it may, within this many seconds."""

    @abstractmethod
    def abandon(self, seconds: float) -> None:
        """The end after an error: take back what does not count, if possible, within this many seconds."""

    def close(self) -> None:
        """Release the client."""
        self.producer.close()

    def _failed(self) -> None:  # noqa: B027 - a transaction is taken back
        """A record that was not sent fails the task."""

    def _take_dead_letters(self) -> SourceBatch | None:
        taken = self._source.errors.take()
        self._dead_letters += 0 if taken is None else len(taken)
        return taken


def records_to_confirm(task: SourceTask, batch: SourceBatch) -> dict[int, SourceRecord]:
    """For each row of a batch of which `commit_record` is to be called, its record."""
    if not task.acknowledges_records:
        return {}
    rows = task.acknowledged_rows(batch)
    if rows is None:
        return dict(enumerate(batch.records()))
    return dict(zip(rows, batch.take(rows).records(), strict=True))


def sent_rows(batch: SourceBatch, encoded: SourceBatch) -> list[int]:
    """For each row of what is sent the row of the batch that it was."""
    first = batch.rows[0]
    return [row - first for row in encoded.rows]


def reports(
    rows: list[int],
    wanted: Mapping[int, _T],
    confirm: Callable[[_T, RecordMetadata | None], object],
    give_up: Callable[[int, DeliveryError], None] | None = None,
) -> Callable[[int], Report | None]:
    """For `BatchProducer.send`: tells of single records once it is known what became of them.

    Args:
        rows: see `sent_rows`.
        wanted: by row, what `confirm` is called with.
        confirm: called with that and with where the record is; with None instead if it was given up.
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
                metadata = RecordMetadata(message.topic(), message.partition(), message.offset())
            elif give_up is not None:
                give_up(row, DeliveryError(message.topic(), error.name(), error.str()))
            if to_confirm is not None:
                confirm(to_confirm, metadata)

        return report

    return each
