"""Meters that trace some of a task's batches: see `connect.delivery.traces`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from connect.data.batch import SinkBatch, SourceBatch
from connect.data.record import TopicPartition
from connect.delivery.meter import SinkMeter, SourceMeter, name_of_step
from connect.delivery.traces import MOST_BATCHES, TaskTraces, TracedBatch, links_of, nanoseconds
from connect.kafka.writing.deliveries import Delivery
from connect.pipeline import Stage, Step
from connect.telemetry.metrics import Registry
from connect.telemetry.spans import Attributes


class TracedSinkMeter(SinkMeter):
    """Measures a sink task, and traces some of its batches."""

    def __init__(self, registry: Registry, labels: Mapping[str, str], traces: TaskTraces) -> None:
        super().__init__(registry, labels)
        self._traces = traces
        self._flush: float | None = None

    def consumed(self, batch: SinkBatch, seconds: float) -> None:
        super().consumed(batch, seconds)
        self.ends()
        if len(batch) and self._traces.chosen():
            traced = self._traces.begin(seconds, links_of(batch.headers), _about(batch))
            traced.left = batch.next_offsets()

    def stepped(self, step: Step, seconds: float) -> None:
        super().stepped(step, seconds)
        _trace_step(self._traces, step, seconds)

    def put(self, rows: int, seconds: float) -> None:
        super().put(rows, seconds)
        if (batch := self._traces.current) is not None:
            self._traces.step(batch, "put", seconds, "client")
            self._end(batch)
            self._traces.waiting.append(batch)
            if len(self._traces.waiting) > MOST_BATCHES:
                self._traces.waiting.popleft()

    def pre_committed(self, seconds: float) -> None:
        super().pre_committed(seconds)
        self._flush = seconds

    def committed(self, outcome: str, seconds: float, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        super().committed(outcome, seconds, offsets)
        traces, flush = self._traces, self._flush or 0.0
        ended = time.time_ns()
        flushed = ended - nanoseconds(seconds)
        done = offsets or {} if outcome == "success" else {}
        covered = [batch for batch in traces.waiting if _is_covered(batch, done)]
        for batch in covered:
            traces.waiting.remove(batch)
            traces.child(batch, "flush", flushed - nanoseconds(flush), flushed, "client")
            traces.child(batch, "commit", flushed, ended)
        if not covered:
            traces.alone(seconds, "" if outcome == "success" else outcome, flush)
        self._flush = None

    def ends(self, error: str = "") -> None:
        if (batch := self._traces.current) is not None:  # or nothing of it was left to put
            self._end(batch, error)

    def _end(self, batch: TracedBatch, error: str = "") -> None:
        self._traces.end(batch, "sink batch", "consumer", error)
        self._traces.current = None


class TracedSourceMeter(SourceMeter):
    """Measures a source task, and traces some of its batches."""

    def __init__(self, registry: Registry, labels: Mapping[str, str], traces: TaskTraces) -> None:
        super().__init__(registry, labels)
        self._traces = traces
        self._sent: list[TracedBatch] = []  # acknowledged, and their offsets are not stored

    def polled(self, batch: SourceBatch, seconds: float) -> None:
        super().polled(batch, seconds)
        traces = self._traces
        if traces.current is not None:
            traces.current.until = time.monotonic()
            traces.current = None
        if traces.chosen():
            traces.waiting.append(traces.begin(seconds, links_of(batch.headers), _about(batch)))
            if len(traces.waiting) > MOST_BATCHES:
                self._end(traces.waiting[0])

    def stepped(self, step: Step, seconds: float) -> None:
        super().stepped(step, seconds)
        _trace_step(self._traces, step, seconds)

    def settled(self, delivery: Delivery) -> None:
        super().settled(delivery)
        # Batches are sent one after another, each before the next is polled.
        found = next((one for one in self._traces.waiting if one.polled <= delivery.began < one.until), None)
        if found is not None:
            self._traces.step(found, "send", time.monotonic() - delivery.began, "producer")
            self._end(found)
            self._sent = [*self._sent, found][-MOST_BATCHES:]

    def committed(self, outcome: str, seconds: float, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        super().committed(outcome, seconds, offsets)
        self._commit(seconds, "" if outcome == "success" else outcome)

    def transaction(self, records: int, seconds: float = 0.0) -> None:
        super().transaction(records, seconds)
        self._commit(seconds, "")

    def ends(self, error: str = "") -> None:
        for batch in list(self._traces.waiting):
            self._end(batch, error if batch is self._traces.current else "")

    def _commit(self, seconds: float, error: str) -> None:
        covered, self._sent = ([], self._sent) if error else (self._sent, [])
        ended = time.time_ns()
        for batch in covered:
            self._traces.child(batch, "commit", ended - nanoseconds(seconds), ended)
        if not covered:
            self._traces.alone(seconds, error)

    def _end(self, batch: TracedBatch, error: str = "") -> None:
        self._traces.end(batch, "source batch", "internal", error)
        self._traces.waiting.remove(batch)
        if self._traces.current is batch:
            self._traces.current = None


def sink_meter(registry: Registry, labels: Mapping[str, str], traces: TaskTraces | None) -> SinkMeter:
    """What measures a sink task, with traces or without."""
    return SinkMeter(registry, labels) if traces is None else TracedSinkMeter(registry, labels, traces)


def source_meter(registry: Registry, labels: Mapping[str, str], traces: TaskTraces | None) -> SourceMeter:
    """What measures a source task, with traces or without."""
    return SourceMeter(registry, labels) if traces is None else TracedSourceMeter(registry, labels, traces)


def _about(batch: SinkBatch | SourceBatch) -> Attributes:
    about: Attributes = {"messaging.system": "kafka", "messaging.batch.message_count": len(batch)}
    if len(batch) and batch.topics.constant:
        about["messaging.destination.name"] = batch.topics[0]
    return about


def _is_covered(batch: TracedBatch, offsets: Mapping[TopicPartition, int]) -> bool:
    """Whether everything of a batch is committed, now that these offsets are."""
    batch.left = {place: offset for place, offset in batch.left.items() if offsets.get(place, 0) < offset}
    return not batch.left


def _trace_step(traces: TaskTraces, step: Step, seconds: float) -> None:
    if (batch := traces.current) is not None:
        name = "transform" if step.stage is Stage.TRANSFORMATION else "convert"
        about = {"connect.stage": step.stage.value.lower(), "connect.step": name_of_step(step)}
        traces.step(batch, name, seconds, about=about)
