"""The loop of a source task: poll, transform, convert, produce, and store the offsets of what is acknowledged.

A source offset is stored only when every record before it, in the order of `poll`, is acknowledged (P1); the task is
told to forget upstream only after that (P2).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from connect.api.source import RecordMetadata, SourceTask
from connect.data.batch import SourceBatch
from connect.errors import ConnectError, RetriableError
from connect.kafka.produce import BatchProducer, DeliveryError
from connect.pipeline import Chain, RecordError
from connect.pipeline.error_topics import UnwrittenError
from connect.pipeline.source_dead_letters import SourceDeadLetters
from connect.telemetry.outages import Waiter
from connect.worker.control import Control, Stopping
from connect.worker.ending import take_all
from connect.worker.messages import Paused
from connect.worker.meter import SourceMeter
from connect.worker.positions import Positions, positions
from connect.worker.progress import ProgressReport
from connect.worker.records_to_confirm import records_to_confirm
from connect.worker.transactions import Transactions

log = logging.getLogger("connect.worker.source")

__connect_loop__ = True  # see `connect.worker.watchdog.LOOP`

#: How long after a poll that brought nothing the next one comes: a share of the time since something came, so that a
#: source that is quiet for long costs little. One whose polls wait by themselves is left to its own pace. While records
#: are under way their acknowledgements are looked for more often.
_IDLE_SHARE = 0.1
_WAITED_S = 0.5
_IDLE_S = (0.01, 2.0)
_UNDER_WAY_S = 0.2
_RETRY_S = 1.0
_DRAIN_SLICE_S = 0.2
_STORE = "offsets are not stored"  # one outage, whatever each of the clients says of it
#: Of the graceful time, what is given to the broker for records under way; the rest is for offsets and for the task's
#: `stop`.
_DRAIN_SHARE = 0.6


class SourceLoop:
    """Runs one source task in its process, from one thread.

    Args:
        task: made, with its context set, not started.
        config: the task's configuration.
        chain: transformations -> values -> bytes.
        make_producer: called once, before the task starts, with what to do about refused records.
        control: what the worker wants.
        report: counts for the worker.
        store: makes offsets durable, or raises `ConnectError`.
        commit_interval: seconds between stores.
        graceful: seconds that the worker waits for the end before it kills.
        open_transactions: with exactly-once, given the producer, makes what sends and stores in place of the loop.
        dead_letters: collects what the error policy gives up, if there is a queue for it.
    """

    def __init__(
        self,
        task: SourceTask,
        config: Mapping[str, str],
        chain: Chain,
        make_producer: Callable[[Callable[[DeliveryError, Any], None]], BatchProducer],
        control: Control,
        report: ProgressReport,
        store: Callable[[list[tuple[dict[str, Any], dict[str, Any] | None]]], None],
        commit_interval: float,
        graceful: float,
        open_transactions: Callable[[BatchProducer], Transactions] | None = None,
        dead_letters: SourceDeadLetters | None = None,
    ) -> None:
        self._task = task
        self._config = config
        self._chain = chain
        self._make_producer = make_producer
        self._control = control
        self._report = report
        self._store = store
        self._commit_interval = commit_interval
        self._graceful = graceful
        self._open_transactions = open_transactions
        self._dead_letters = dead_letters
        self._dead_sent = 0
        self._dead_under_way = False
        self._transactions: Transactions | None = None
        self._producer: BatchProducer | None = None
        self._acknowledged: Positions = {}
        self._refused_count = 0
        self._failing: tuple[float, str] | None = None
        self._waiter, self._waiter_for_offsets = Waiter(), Waiter()
        self._put_off = ""  # why the last poll is to be tried again
        self._paused = False
        # A task that tells its upstream is told when all that it returned is through. Records may come so fast that
        # there is always one under way: from time to time we wait a little before each poll until there is none.
        self._tells_upstream = type(task).commit is not SourceTask.commit
        self._settling = False
        self._store_due = 0.0
        self._moved_at = 0.0  # when something came last
        #: What the task measures; the producer tells it of batches that are through.
        self.meter = SourceMeter(report.registry, report.labels)
        self.meter.watch(chain)
        report.measure = self.measure

    def measure(self, report: ProgressReport) -> None:
        """Fill in what is not counted as it goes."""
        report.errors = self._chain.policy.counts.errors
        self.meter.errors(self._chain.policy.counts)
        if self._producer is not None:
            outstanding = self._producer.outstanding
            report.records = max(0, self._producer.sent - outstanding - self._refused_count - self._dead_sent)
            self.meter.progress(report.records, outstanding, self._producer.bytes_under_way)

    # For the watchdog, see `connect.worker.watchdog.Watched`.

    def moved(self) -> object:
        if self._producer is None:
            return None
        return self._producer.sent - self._producer.rows_under_way

    def waiting(self) -> str:
        if self._producer is not None and (rows := self._producer.rows_under_way):
            return f"{rows} records are not acknowledged, as far as the task has looked"
        if self._acknowledged and time.monotonic() > self._store_due:
            return "offsets of records that are through wait to be stored"
        return f"the source cannot be read: {self._put_off}" if self._put_off else ""

    def failing(self) -> tuple[float, str] | None:
        return self._failing

    def run(self, started: Callable[[bool], None]) -> None:
        """Run until the worker wants the task to end. Raises what ends the task otherwise.

        Args:
            started: called once the task has started, with whether it is paused.
        """
        try:
            self._producer = self._make_producer(self._refused)
            if self._open_transactions is not None:
                self._transactions = self._open_transactions(self._producer)
            self._task.start(self._config)
            self._paused = self._control.paused
            started(self._paused)
            self._moved_at = time.monotonic()
            self._store_due = self._moved_at + self._commit_interval
            while True:
                self._control.await_lease()
                self._follow_pause()
                self._serve(self._producer)
                began = time.monotonic()
                if not self._paused and self._once(self._producer):
                    self._moved_at = time.monotonic()
                else:
                    self._control.wait(self._idle(self._producer, began))
        except Stopping:
            log.debug("stopping")
        finally:
            self._finish()

    def _idle(self, producer: BatchProducer, polled_at: float) -> float:
        """How long to wait now, after a poll that brought nothing."""
        now = time.monotonic()
        pause = min(max(_IDLE_S[0], (now - self._moved_at) * _IDLE_SHARE), _IDLE_S[1])
        if producer.outstanding or self._acknowledged:
            pause = min(pause, _UNDER_WAY_S)
        took = now - polled_at
        return 0.0 if took >= _WAITED_S else max(0.0, pause - took)

    def _once(self, producer: BatchProducer) -> bool:
        """Move one batch. False when there was none."""
        began = time.monotonic()
        self._control.set_activity("poll")
        try:
            polled = self._task.poll()
        except RetriableError as error:
            self._put_off = str(error)
            self._waiter.waits(self._put_off, what=error.waits_for)
            self._control.wait(_RETRY_S)
            return True
        self._put_off = ""
        self._waiter.goes_on()
        batch = polled if isinstance(polled, SourceBatch) else SourceBatch.of(polled or ())
        if not len(batch):
            if self._transactions is not None:
                self._transactions.polled()
            return False
        self._report.read += len(batch)
        self.meter.polled(batch, time.monotonic() - began)
        self._control.set_activity("The pipeline")
        if self._dead_letters is not None:
            self._dead_letters.polled(batch)
        try:
            encoded = self._chain.run(batch)
        except RecordError:
            if self._transactions is None:
                self._send_dead(producer)  # the task fails, as a sink's does, and not without it
            raise
        self._control.await_lease()  # the poll, and retries in the chain, may have outlasted the lease
        self._report.used(encoded.topics)
        if self._transactions is not None:
            self._transactions.send(batch, encoded, self._take_dead())
            return True
        self._send_dead(producer)  # before what moves the offset on
        if not self._task.acknowledges_records and self._dead_letters is None:
            producer.send(encoded, positions(batch))
        else:
            self._send_each(producer, batch, encoded)
        self.meter.active(producer.rows_under_way)
        return True

    def _send_each(self, producer: BatchProducer, batch: SourceBatch, encoded: SourceBatch) -> None:
        """Send, and tell the task of every record: also of those that a transformation or the error policy dropped."""
        told = records_to_confirm(self._task, batch)
        rows = encoded.rows.to_list()
        kept = set(rows)
        for row, record in told.items():
            if row not in kept:
                self._task.commit_record(record, None)
        letters = self._dead_letters

        def each(index: int) -> Callable[[Any, Any], None] | None:
            row = rows[index]
            record = told.get(row)
            if record is None and letters is None:
                return None

            def report(error: Any, message: Any) -> None:
                metadata = None
                if error is None:
                    metadata = RecordMetadata(message.topic(), message.partition(), message.offset())
                elif letters is not None:
                    refusal = DeliveryError(message.topic(), error.name(), error.str())
                    letters.refused(batch.take([row]).records()[0], refusal)
                if record is not None:
                    self._task.commit_record(record, metadata)

            return report

        producer.send(encoded, positions(batch), each)

    def _take_dead(self) -> SourceBatch | None:
        dead = None if self._dead_letters is None else self._dead_letters.take()
        self._dead_sent += 0 if dead is None else len(dead)
        return dead

    def _send_dead(self, producer: BatchProducer) -> bool:
        """Send dead letters that wait. Returns whether there were any."""
        dead = self._take_dead()
        if dead is not None:
            producer.send(dead, {})
        return dead is not None

    def _settled_dead(self, producer: BatchProducer) -> bool:
        """Whether every dead letter is acknowledged, also of records that Kafka refused after their batch was sent."""
        self._dead_under_way = self._send_dead(producer) or self._dead_under_way
        if self._dead_under_way:
            self._dead_under_way = not producer.drain(_DRAIN_SLICE_S)
        return not self._dead_under_way

    def _serve(self, producer: BatchProducer) -> None:
        if self._transactions is not None:
            self._transactions.serve()
            self._report.tell_if_due()
            return
        due = time.monotonic() >= self._store_due
        self._settling = self._settling or (due and self._tells_upstream)
        if self._settling:
            producer.drain(_DRAIN_SLICE_S)
        else:
            producer.poll()
        self._collect(producer)
        settled = self._settling and not producer.outstanding
        if due or settled:
            self._store_acknowledged(producer)
        if settled:
            self._settling = False
        self._report.tell_if_due()

    def _collect(self, producer: BatchProducer) -> None:
        for mark in producer.acknowledged():
            self._acknowledged.update(mark)

    def _store_acknowledged(self, producer: BatchProducer) -> None:
        self._store_due = time.monotonic() + self._commit_interval
        if not self._acknowledged or not self._settled_dead(producer):
            return
        positions, self._acknowledged = self._acknowledged, {}
        began = time.monotonic()
        try:
            self._store(list(positions.values()))
        except ConnectError as error:
            self._failing = self._failing or (time.monotonic(), str(error))
            self.meter.committed("failure", time.monotonic() - began)
            self._waiter_for_offsets.waits(f"Offsets were not stored: {error}", what=_STORE)
            self._acknowledged = {**positions, **self._acknowledged}
            return
        self.meter.committed("success", time.monotonic() - began)
        self._failing = None
        self._waiter_for_offsets.goes_on()
        if not producer.outstanding:
            self._task.commit()

    def _refused(self, error: DeliveryError, message: Any) -> None:
        """A record that Kafka does not take: skipped where errors are tolerated (KIP-779), else the task fails."""
        self._refused_count += 1
        policy = self._chain.policy
        policy.counts.failures += 1
        policy.counts.errors += 1
        policy.counts.last_error_ms = int(time.time() * 1000)
        if self._dead_letters is not None and error.topic == self._dead_letters.topic:
            policy.counts.dead_letters_failed += 1
            raise UnwrittenError(error)
        # In a transaction there is no telling which record it was, and so no dead letter.
        if not policy.tolerate or (self._dead_letters is not None and self._transactions is not None):
            raise error
        policy.counts.skipped += 1
        if policy.log_errors:
            policy.counts.logged += 1
            log.error("%s The record is skipped.", error)

    def _follow_pause(self) -> None:
        if self._control.paused == self._paused:
            return
        self._paused = self._control.paused
        if self._paused and self._transactions is not None:
            self._transactions.pause()
        elif self._paused and self._producer is not None:
            self._drain(self._producer, self._commit_interval)
            self._store_acknowledged(self._producer)
        self._report.tell()
        self._control.send(Paused(self._paused))

    def _drain(self, producer: BatchProducer, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not producer.drain(_DRAIN_SLICE_S) and time.monotonic() < deadline:
            self._control.check()
        self._collect(producer)

    # The end.

    def _finish(self) -> None:
        """Store what is acknowledged, and stop the task, each whatever became of the others."""
        steps = (self._last_store, self._task.stop, self._chain.close, self._close_producer)
        take_all((*steps, self._waiter.leaves, self._waiter_for_offsets.leaves), log, self._report.tell)

    def _last_store(self) -> None:
        if self._producer is None:
            return
        if self._transactions is not None:
            self._transactions.finish(self._graceful * _DRAIN_SHARE)
            return
        try:
            self._producer.drain(self._graceful * _DRAIN_SHARE)
        finally:
            self._collect(self._producer)
            if self._control.holds_lease():
                self._store_acknowledged(self._producer)

    def _close_producer(self) -> None:
        if self._producer is not None:
            self._producer.close()
