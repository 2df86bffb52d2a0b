"""A task's measurements: one update for each batch, poll, put or commit, none for each record.

Names are those of `connect.telemetry.catalogue`. Series that only serve the worker for Kafka Connect's figures begin
with "jmx_" (see `connect.herder.task_figures`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from connect.data.batch import SinkBatch, SourceBatch
from connect.data.record import TopicPartition
from connect.kafka.writing.deliveries import Delivery
from connect.pipeline import Chain, ErrorCounts, Step
from connect.telemetry.metrics import AGES, RECORDS, Counter, Histogram, Registry

#: Of so many values at least the bytes are counted.
_LOOKED_AT = 250

_ERRORS = {
    "failures": "jmx_total_record_failures",
    "errors": "jmx_total_record_errors",
    "skipped": "jmx_total_records_skipped",
    "retries": "jmx_total_retries",
    "logged": "jmx_total_errors_logged",
    "dead_letters": "jmx_deadletterqueue_produce_requests",
    "dead_letters_failed": "jmx_deadletterqueue_produce_failures",
    "last_error_ms": "jmx_last_error_timestamp",
}


class Meter:
    """What tasks of both kinds measure. For the task's thread.

    Args:
        registry: the process's.
        labels: connector and task.
    """

    def __init__(self, registry: Registry, labels: Mapping[str, str]) -> None:
        self._registry = registry
        self._labels = dict(labels)
        self._batch_records = self.histogram("connect_task_batch_records", RECORDS)
        self._active_records = self.histogram("connect_task_active_records", RECORDS)
        self._commit_seconds = self.histogram("connect_task_commit_seconds")
        self._commits = {
            outcome: self.counter("connect_task_commits_total", outcome=outcome)
            for outcome in ("success", "failure", "skipped")
        }
        self._errors = {name: self.gauge(metric) for name, metric in _ERRORS.items()}
        self._step_seconds: dict[Step, Histogram] = {}

    def counter(self, name: str, **labels: str) -> Counter:
        """A counter of this task."""
        return self._registry.counter(name, **self._labels, **labels)

    def gauge(self, name: str) -> Any:
        """A gauge of this task."""
        return self._registry.gauge(name, **self._labels)

    def histogram(self, name: str, bounds: tuple[float, ...] | None = None, **labels: str) -> Histogram:
        """A histogram of this task."""
        if bounds is None:
            return self._registry.histogram(name, **self._labels, **labels)
        return self._registry.histogram(name, bounds, **self._labels, **labels)

    def watch(self, chain: Chain) -> None:
        """Measure the time of each step of a chain for a batch."""
        chain.watch = self.stepped

    def stepped(self, step: Step, seconds: float) -> None:
        """A step of the chain took so many seconds for a batch."""
        if step not in self._step_seconds:
            stage = step.stage.value.lower()
            measured = self.histogram("connect_task_step_seconds", stage=stage, step=name_of_step(step))
            self._step_seconds[step] = measured
        self._step_seconds[step].observe(seconds)

    def committed(self, outcome: str, seconds: float, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Offsets were committed, or that failed: `outcome` is success or failure. `offsets` are those of a sink."""
        self._commits[outcome].add()
        self._commit_seconds.observe(seconds)

    def commit_skipped(self) -> None:
        """A commit came too late: the task no longer held its lease."""
        self._commits["skipped"].add()

    def active(self, records: int) -> None:
        """This many records are being processed."""
        self._active_records.observe(records)

    def errors(self, counts: ErrorCounts) -> None:
        """Report the error policy's counts so far."""
        for name, gauge in self._errors.items():
            gauge.set(getattr(counts, name))
        if counts.parked:
            self.counter("connect_task_parked_records_total").reach(counts.parked)

    def ends(self, error: str = "") -> None:
        """The task ends, with this kind of error if there was one."""


class SourceMeter(Meter):
    """What a source task measures."""

    def __init__(self, registry: Registry, labels: Mapping[str, str]) -> None:
        super().__init__(registry, labels)
        self._poll_seconds = self.histogram("connect_source_poll_seconds")
        self._ack_seconds = self.histogram("connect_source_ack_seconds")
        self._polled = self.counter("jmx_source_record_poll_total")
        self._written = self.counter("jmx_source_record_write_total")
        self._active = self.gauge("jmx_source_record_active_count")
        self._bytes = self.counter("connect_source_bytes_total")
        self._queue_bytes = self.gauge("connect_task_queue_bytes")
        self._age_seconds: Histogram | None = None
        self._transaction_records: Histogram | None = None

    def polled(self, batch: SourceBatch, seconds: float) -> None:
        """A poll returned records."""
        self._poll_seconds.observe(seconds)
        self._batch_records.observe(len(batch))
        self._polled.add(len(batch))

    def settled(self, delivery: Delivery) -> None:
        """A batch is acknowledged, or given up."""
        self._bytes.add(delivery.bytes)
        self._ack_seconds.observe(time.monotonic() - delivery.began)
        if delivery.timestamp is not None:
            if self._age_seconds is None:
                self._age_seconds = self.histogram("connect_source_age_seconds", AGES)
            self._age_seconds.observe(max(0.0, time.time() - delivery.timestamp / 1000))

    def transaction(self, records: int, seconds: float = 0.0) -> None:
        """A transaction with this many records was committed, which took so many seconds."""
        if self._transaction_records is None:
            self._transaction_records = self.histogram("connect_source_transaction_records", RECORDS)
        self._transaction_records.observe(records)

    def progress(self, written: int, outstanding: int, queue_bytes: int) -> None:
        """Report what the producer has done so far, and what is left."""
        self._written.reach(written)
        self._active.set(outstanding)
        self._queue_bytes.set(queue_bytes)


class SinkMeter(Meter):
    """What a sink task measures."""

    def __init__(self, registry: Registry, labels: Mapping[str, str]) -> None:
        super().__init__(registry, labels)
        self._put_seconds = self.histogram("connect_sink_put_seconds")
        self._pre_commit_seconds = self.histogram("connect_sink_pre_commit_seconds")
        self._age_seconds = self.histogram("connect_sink_age_seconds", AGES)
        self._read = self.counter("jmx_sink_record_read_total")
        self._sent = self.counter("jmx_sink_record_send_total")
        self._bytes = self.counter("connect_sink_bytes_total")
        self._partitions = self.gauge("jmx_partition_count")
        self._active = self.gauge("jmx_sink_record_active_count")
        self._behind = self.gauge("jmx_sink_record_lag_max")
        self._timestamp: int | None = None

    def consumed(self, batch: SinkBatch, seconds: float) -> None:
        """A poll returned records, still as bytes."""
        rows = len(batch)
        self._read.add(rows)
        self._batch_records.observe(rows)
        self._bytes.add(size_of(batch.values.to_list()))
        self._timestamp = batch.timestamps[0] if rows else None

    def put(self, rows: int, seconds: float) -> None:
        """The task accepted the last consumed records, as far as the chain has left them."""
        self._put_seconds.observe(seconds)
        self._sent.add(rows)
        if self._timestamp is not None:
            self._age_seconds.observe(max(0.0, time.time() - self._timestamp / 1000))

    def pre_committed(self, seconds: float) -> None:
        """The task made its records durable."""
        self._pre_commit_seconds.observe(seconds)

    def progress(self, partitions: int, active: int, behind: int) -> None:
        """Report the number of partitions, and the offsets that are not committed: in all, and in the worst one."""
        self._partitions.set(partitions)
        self._active.set(active)
        self._behind.set(behind)


def size_of(values: list[Any]) -> float:
    """The bytes of values, some of which may be null.

    Of a large batch only a sample is measured: all of them would cost 2 % of the fastest sink.
    """
    looked_at = values[:: len(values) // _LOOKED_AT] if len(values) >= 2 * _LOOKED_AT else values
    try:
        size = sum(map(len, looked_at))
    except TypeError:
        size = sum(len(value) for value in looked_at if isinstance(value, bytes | str))
    return size * (len(values) / len(looked_at)) if looked_at else 0


def name_of_step(step: Step) -> str:
    """The name of a step in metrics and traces: the alias of a transformation, the class of a converter."""
    alias: str | None = getattr(step, "alias", None)
    return alias or step.operation
