"""Output at least once: records are produced, and offsets stored after those that are acknowledged.

A source offset is stored only when every record before it, in the order of `poll`, is acknowledged (P1); the task may
forget upstream data only after that (P2).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.data.record import SourceRecord
from connect.delivery.source import Output, Source, records_to_confirm, reports, sent_rows
from connect.delivery.source_offsets import Positions
from connect.errors import ConnectError
from connect.kafka.writing.produce import BatchProducer
from connect.telemetry.outages import Waiter

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

_SLICE_S: Final = 0.2
#: How many slices to wait before one poll, at most, until nothing is under way.
_MOST_SLICES: Final = 50
#: The mark of a batch of dead letters.
_DEAD_LETTERS: Final = object()
_STORE: Final = "offsets are not stored"  # one outage, whatever each of the clients says of it


class AcknowledgedOutput(Output):
    """See `Output`.

    Args:
        source, producer: see `Output`.
        store: makes offsets durable, or raises `ConnectError`.
        interval: seconds between stores.
    """

    def __init__(
        self,
        source: Source,
        producer: BatchProducer,
        store: Callable[[list[tuple[dict[str, Any], dict[str, Any] | None]]], None],
        interval: float,
    ) -> None:
        super().__init__(source, producer)
        self._store = store
        self._interval = interval
        self._due = time.monotonic() + interval
        self._acknowledged: Positions = {}
        self._letters_sent = self._letters_through = 0  # batches of dead letters
        # Records that were given up, and how many such batches are through when their dead letters are: what the task
        # acknowledges upstream then is gone there.
        self._given_up: deque[tuple[int, SourceRecord]] = deque()
        self._store_fails: tuple[float, str] | None = None
        self._waiter = Waiter()
        # A task that tells its upstream is told when all that it returned is through. Records may come so fast that
        # there is always one under way: from time to time we wait a little before each poll until there is none.
        self._tells_upstream = type(source.task).commit is not SourceTask.commit
        # So it is with dead letters, without which no offset is stored.
        self._settling = False
        self._slices = 1  # to wait before the next poll; more each time, as an answer may take longer than that

    @property
    def has_unfinished(self) -> bool:
        return super().has_unfinished or bool(self._acknowledged)

    def waiting(self) -> str:
        under_way = super().waiting()
        if not under_way and self._acknowledged and time.monotonic() > self._due:
            return "offsets of records that are through wait to be stored"
        return under_way

    def failing(self) -> tuple[float, str] | None:
        return self._store_fails

    def send(self, batch: SourceBatch, encoded: SourceBatch) -> None:
        source, producer = self._source, self.producer
        self._send_dead_letters()  # also those of records of earlier batches, which Kafka has refused
        if source.task.acknowledges_records or source.errors.give_up is not None:
            self._send_singly(batch, encoded)
        else:
            producer.send(encoded, source.positions(batch))
        self._unsent = False
        source.meter.active(producer.deliveries.rows)

    def serve(self) -> None:
        producer = self.producer
        due = time.monotonic() >= self._due
        self._settling = self._settling or (due and (self._tells_upstream or self._dead_letters_under_way))
        if self._settling:
            self._settle()
        else:
            producer.poll()
        self._collect()
        self._send_dead_letters()
        settled = self._settling and not producer.deliveries.outstanding
        if due or settled:
            self._store_acknowledged()
        if settled:
            self._settling = False

    def _settle(self) -> None:
        for _ in range(self._slices):
            if self.producer.drain(_SLICE_S):
                self._slices = 1
                return
            self._source.lease.check()
        self._slices = min(2 * self._slices, _MOST_SLICES)

    def pause(self) -> None:
        deadline = time.monotonic() + self._interval
        while not self.producer.drain(_SLICE_S) and time.monotonic() < deadline:
            self._source.lease.check()
        self._collect()
        self._store_acknowledged()

    def finish(self, seconds: float) -> None:
        deadline, deliveries = time.monotonic() + seconds, self.producer.deliveries
        try:
            self.producer.drain(seconds)
        finally:
            self._collect()
            if self._source.lease.holds_lease():
                while not self._dead_letters_settled() and deliveries.rows and time.monotonic() < deadline:
                    pass
                self._store_acknowledged()

    def abandon(self, seconds: float) -> None:
        self.producer.drain(seconds)  # nothing can be taken back, and dead letters are to be written

    def close(self) -> None:
        self._waiter.leaves()
        super().close()

    def _send_singly(self, batch: SourceBatch, encoded: SourceBatch) -> None:
        """Send, and report every record to the task: also those that a transformation or the error policy dropped."""
        source, batch = self._source, self._numbered(batch)
        wanted = records_to_confirm(source.task, batch)
        rows = sent_rows(batch, encoded)
        kept = set(rows)
        for row, record in wanted.items():
            if row not in kept:
                self._gives_up(record, self._letters_sent)
        give_up = None
        if (gives_up := source.errors.give_up) is not None:
            give_up = lambda row, error: gives_up(batch.take([row]).records()[0], error)  # noqa: E731
        confirm = source.task.commit_record if give_up is None else self._confirm
        each = reports(rows, wanted, confirm, give_up)
        self.producer.send(encoded, source.positions(batch), each)

    def _confirm(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if metadata is None:
            self._gives_up(record, self._letters_sent + 1)  # its dead letter is not sent yet
        else:
            self._source.task.commit_record(record, metadata)

    def _gives_up(self, record: SourceRecord, letters: int) -> None:
        """Report a record that was given up, or dropped, once so many batches of dead letters are through."""
        if self._source.errors.give_up is None:
            self._source.task.commit_record(record, None)  # there are none
        else:
            self._given_up.append((letters, record))
            self._tell_given_up()

    def _tell_given_up(self) -> None:
        while self._given_up and self._given_up[0][0] <= self._letters_through:
            self._source.task.commit_record(self._given_up.popleft()[1], None)

    def _failed(self) -> None:
        self._send_dead_letters()  # the task fails, as a sink's does, and not without it

    def _send_dead_letters(self) -> None:
        """Send waiting dead letters."""
        dead = self._take_dead_letters()
        if dead is not None:
            self._letters_sent += 1
            self.producer.send(dead, _DEAD_LETTERS)

    def _dead_letters_settled(self) -> bool:
        """Whether all are acknowledged: that of a record that Kafka refused is sent behind its batch."""
        self._send_dead_letters()
        if self._dead_letters_under_way:
            self.producer.drain(_SLICE_S)
            self._collect()
            self._send_dead_letters()  # of what was refused meanwhile
        return not self._dead_letters_under_way

    @property
    def _dead_letters_under_way(self) -> bool:
        return self._letters_sent > self._letters_through

    def _collect(self) -> None:
        for mark in self.producer.deliveries.acknowledged():
            if mark is _DEAD_LETTERS:
                self._letters_through += 1
            else:
                self._acknowledged.update(mark)
        self._tell_given_up()

    def _store_acknowledged(self) -> None:
        self._due = time.monotonic() + self._interval
        if not self._acknowledged or not self._dead_letters_settled():
            return
        positions, self._acknowledged = self._acknowledged, {}
        meter, began = self._source.meter, time.monotonic()
        try:
            self._store(list(positions.values()))
        except ConnectError as error:
            self._store_fails = self._store_fails or (time.monotonic(), str(error))
            meter.committed("failure", time.monotonic() - began)
            self._waiter.waits(f"Offsets were not stored: {error}", what=_STORE)
            self._acknowledged = {**positions, **self._acknowledged}
            return
        meter.committed("success", time.monotonic() - began)
        self._store_fails = None
        self._waiter.goes_on()
        self._collect()
        if not self.producer.deliveries.outstanding and not self._acknowledged:
            self._tell_upstream()
