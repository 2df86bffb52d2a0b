"""Output exactly once: records and the source's position are committed together or not at all (KIP-618)."""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple

from connect.api.source import RecordMetadata
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery.boundaries import Boundary, End, TaskBoundary
from connect.delivery.source import Output, Source, records_to_confirm, reports, sent_rows
from connect.delivery.source_offsets import Entries, Positions
from connect.errors import ConnectError, FencedError
from connect.kafka.writing.produce import bytes_of, bytes_of_headers
from connect.kafka.writing.transactional import AbortableError, TransactionalProducer

log = logging.getLogger("connect.worker.source")

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How often a transaction that Kafka does not let through is tried again, and how long the first pause is.
_TRIES: Final = 5
_PAUSE_S: Final = 0.5


class _Part(NamedTuple):
    """Rows of a batch in the open transaction.

    Attributes:
        encoded: what is sent of it.
        told: the records that are reported to the task, by their row of the batch.
        metadata: of those that are sent, once they are acknowledged, by the same; None for those that were given up.
        rows: of what is sent, the rows of the batch; empty where nothing is reported to the task.
        dead: dead letters of rows that were given up.
    """

    encoded: SourceBatch
    told: dict[int, SourceRecord]
    metadata: dict[int, RecordMetadata | None]
    rows: list[int]
    dead: SourceBatch | None = None

    def sends(self) -> bool:
        """Whether there is anything to send."""
        return bool(len(self.encoded)) or self.dead is not None

    def without_rows(self) -> _Part:
        """What is left when it will not be sent again: the records to report to the task."""
        return self._replace(rows=[], encoded=self.encoded.slice(0, 0), dead=None)


class TransactionalOutput(Output):
    """See `Output`.

    The content of the open transaction is kept, up to the producer's window, so that it can be written once more when
    Kafka aborts it. A larger one fails the source then; it continues at its stored offsets.

    Args:
        source: see `Output`.
        producer: with its transactional id claimed.
        boundary: where transactions end.
        offsets: makes records of offsets.
        topic: for those.
        claim: called before a transaction when the id has to be claimed again: claims it, and checks that the task is
            still the current one. None: for outputs of one transaction.
        stored: called, after each commit, with where reading continues.
    """

    producer: TransactionalProducer

    def __init__(
        self,
        source: Source,
        producer: TransactionalProducer,
        boundary: Boundary,
        offsets: Callable[[Entries], list[tuple[bytes, bytes | None]]],
        topic: str,
        stored: Callable[[Positions], None] = lambda _: None,
        claim: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(source, producer)
        self._boundary = boundary
        self._needs_rows = self._needs_rows or isinstance(boundary, TaskBoundary)
        self._offsets = offsets
        self._topic = topic
        self._stored = stored
        self._claim = claim
        self._positions: Positions = {}
        self._parts: list[_Part] = []
        self._dropped: list[_Part] = []  # of transactions that the task had aborted
        self._rows = 0  # sent since the last commit
        self._bytes = 0
        self._complete = True  # whether `_parts` has all that is in the transaction
        self._open = False
        self._torn = False  # whether a part is on its way: what is open must not be committed as it is
        self._with_offsets = False  # whether those are in the transaction, and nothing but the commit is missing

    def send(self, batch: SourceBatch, encoded: SourceBatch) -> None:
        """Send a batch, which may end transactions. Its dead letters are in the transactions of their rows."""
        start = sent = 0
        batch = self._numbered(batch)
        dead = self._take_dead_letters()
        cuts = self._boundary.within(batch)
        rows = encoded.rows.to_list() if cuts else []
        for stop, end in cuts:
            upto = bisect_left(rows, batch.rows[0] + stop)
            now, dead = _cut(dead, batch.rows[0] + stop)
            self._send(batch.slice(start, stop), encoded.slice(sent, upto), now)
            start, sent = stop, upto
            self._unsent = start < len(batch)
            self._end(end)
        if start < len(batch):
            self._send(batch.slice(start, len(batch)), encoded.slice(sent, len(encoded)), dead)
        self._unsent = False
        self.polled()

    def polled(self) -> None:
        """A batch is finished, or a poll returned nothing: end the transaction if it is due."""
        end = self._boundary.after(time.monotonic())
        if end is not None:
            self._end(end)

    def serve(self) -> None:
        self.producer.poll()
        if self._pending and time.monotonic() >= self._boundary.due():
            self._end(End.COMMIT)

    def pause(self) -> None:
        if self._boundary.keeps_rest:
            self._end(End.COMMIT)
        elif self._complete:
            self._abort(self._source.lease.check)  # it is sent again when the task goes on

    def finish(self, seconds: float) -> None:
        deadline, lease = _Deadline(seconds), self._source.lease
        if self._torn or not (self._with_offsets or self._boundary.keeps_rest) or not lease.holds_lease():
            self._abort(deadline)
        elif self._pending:
            self._commit(deadline)

    def abandon(self, seconds: float) -> None:
        self._abort(_Deadline(seconds))

    def begin(self) -> None:
        """Have a transaction open, with its whole content."""
        if self._open:
            return
        torn, self._torn = self._torn, True
        if self._claim is not None and self.producer.must_claim:
            log.info("The end of a transaction had to be sent twice: the transactional id is claimed again.")
            self._claim()  # if it raises, a newer task may exist: nothing is committed any more
        self.producer.begin()
        self._open = True
        for part in self._parts:
            if part.sends():
                self._hand_over(part)
        self._torn = torn

    @property
    def _pending(self) -> bool:
        return self._open or bool(self._positions)

    # One part after another.

    def _send(self, batch: SourceBatch, encoded: SourceBatch, dead: SourceBatch | None) -> None:
        self._torn = True
        told = records_to_confirm(self._source.task, batch)
        part = _Part(encoded, told, {}, sent_rows(batch, encoded) if told else [], dead)
        if part.sends():
            self.begin()
            self._hand_over(part)
            self._rows += len(encoded)
        self._keep(part)
        self._positions.update(self._source.positions(batch))
        self._torn = False

    def _keep(self, part: _Part) -> None:
        self._parts.append(part)
        for each in (part.encoded, part.dead):
            if each is not None and len(each):
                self._bytes += bytes_of(each) + bytes_of_headers(each)
        # The first is always kept: with transaction.boundary=poll there is no other.
        self._complete = self._complete and (len(self._parts) == 1 or self._bytes <= self.producer.window)
        if not self._complete:
            self._parts = [each.without_rows() for each in self._parts if each.told]

    def _hand_over(self, part: _Part) -> None:
        if part.dead is not None:
            self.producer.send(part.dead, None)
        if not len(part.encoded):
            return
        each = None
        if part.told:
            part.metadata.clear()
            each = reports(part.rows, dict(zip(part.told, part.told, strict=True)), part.metadata.setdefault)
        self.producer.send(part.encoded, None, each)

    # The end of a transaction.

    def _end(self, end: End) -> None:
        if end is End.ABORT:
            self._drop()
        if self._pending:
            self._source.lease.await_lease()
            self._commit(self._source.lease.check)

    def _drop(self) -> None:
        """Discard the records of the open transaction. They still count as read."""
        self._abort(self._source.lease.check)
        log.debug("the task dropped a transaction of %d records", self._rows)
        self._dropped += self._parts if self._source.task.acknowledges_records else []
        self._clear()

    def _abort(self, waiting: Callable[[], None]) -> None:
        if self._open:
            self.producer.abort(waiting)
            self._open = self._with_offsets = False

    def _commit(self, waiting: Callable[[], None]) -> None:
        began = time.monotonic()
        records = self._offsets(list(self._positions.values()))
        tries = 0
        while True:
            try:
                if not self._with_offsets:
                    self.begin()
                    self.producer.write(self._topic, records)
                    self._with_offsets = True
                self.producer.commit(waiting)
                break
            except AbortableError as error:
                tries += 1
                if tries > _TRIES or not self._complete:
                    self._torn = True
                    raise
                log.warning("%s It is aborted and written once more.", error)
                self._torn = True
                self._abort(waiting)
                self._source.lease.sleep(_PAUSE_S * 2 ** (tries - 1))
                self._torn = False
            except FencedError:
                self._open, self._torn = False, True  # there is nothing to end: its successor has done that
                raise
            except ConnectError:
                self._torn = True
                raise
        told, parts = self._positions, [*self._dropped, *self._parts]
        rows, dropped = self._rows, len(self._dropped)
        self._open = self._with_offsets = False
        self._positions, self._dropped = {}, []
        self._clear()
        self._boundary.ended(time.monotonic())
        self._source.meter.transaction(rows, time.monotonic() - began)
        self._stored(told)
        if self._source.task.acknowledges_records:
            for number, part in enumerate(parts):
                self._tell(part, dropped=number < dropped)
        self._tell_upstream()

    def _clear(self) -> None:
        self._parts = []
        self._rows = self._bytes = 0
        self._complete = True

    def _tell(self, part: _Part, *, dropped: bool) -> None:
        """Report each record to the task: its metadata, or that it was dropped."""
        for row, record in part.told.items():
            self._source.task.commit_record(record, None if dropped else part.metadata.get(row))


class _Deadline:
    """Called while brokers do not answer, for this many seconds."""

    def __init__(self, seconds: float) -> None:
        self._moment = time.monotonic() + seconds

    def __call__(self) -> None:
        if time.monotonic() >= self._moment:
            raise ConnectError("The brokers did not end the last transaction in time; it will be aborted.")


def _cut(dead: SourceBatch | None, row: int) -> tuple[SourceBatch | None, SourceBatch | None]:
    """The dead letters of rows before this one, and the others."""
    if dead is None:
        return None, None
    before = sum(1 for each in dead.rows if each < row)
    return (dead.slice(0, before) if before else None), (dead.slice(before, len(dead)) if before < len(dead) else None)
