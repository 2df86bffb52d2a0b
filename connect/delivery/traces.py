"""Traces of some batches of a task: where the time of a batch went, from its poll to its commit.

    sink batch:    poll -> convert, transform ... -> put -> flush, commit
    source batch:  poll -> transform, convert ... -> send -> commit

A batch is traced or not by chance, so that nothing is measured for each record. The spans are made of what the task's
meter is told anyway, after the fact. A commit is in the trace of each traced batch that it covers; one that covers none
of them is in a trace of its own.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from connect.data.batch import SinkBatch, SourceBatch
from connect.data.column import Column, Plain
from connect.data.record import TopicPartition
from connect.delivery.meter import SinkMeter, SourceMeter, name_of_step
from connect.kafka.writing.produce import Delivery
from connect.pipeline import Stage, Step
from connect.telemetry.metrics import Registry
from connect.telemetry.spans import MOST_LINKS, TRACEPARENT, Attributes, Kind, Span, SpanContext, Value

#: Spans that wait to be reported: about as many as a worker keeps for all of its tasks. More are dropped.
_MOST_SPANS: Final = 2_048
#: Traced batches that wait for their acknowledgement and commit. Older ones are ended without.
_MOST_BATCHES: Final = 32
#: Records of a batch whose headers are looked at.
_LOOKED_AT: Final = 1_000


class _Batch:
    """A traced batch.

    Attributes:
        context: of its span.
        began, ended: of its span, in nanoseconds since the epoch.
        polled: when its poll returned, by `time.monotonic()`.
        until: when the next one was polled.
        left: for each partition that it was consumed from, the offset that is to be committed.
    """

    def __init__(self, began: int, attributes: Attributes, links: list[tuple[str, str]]) -> None:
        self.context = SpanContext.new()
        self.began = began
        self.ended = began
        self.polled = time.monotonic()
        self.until = math.inf
        self.attributes = attributes
        self.links = links
        self.left: dict[TopicPartition, int] = {}


class TaskTraces:
    """The traces of one task. For the task's thread.

    Args:
        labels: its connector and number.
        ratio: the share of batches that are traced.
        chance: from 0 to 1, as `random.random`.

    Attributes:
        current: the traced batch that is being worked on.
        waiting: those that are not committed yet.
    """

    def __init__(self, labels: Mapping[str, str], ratio: float, chance: Callable[[], float] = random.random) -> None:
        self.current: _Batch | None = None
        self.waiting: deque[_Batch] = deque()
        self._labels = dict(labels)
        self._ratio = ratio
        self._chance = chance
        self._spans: list[Span] = []

    def chosen(self) -> bool:
        """Whether the next batch is traced."""
        return self._ratio > 0 and self._chance() < self._ratio

    def begin(self, seconds: float, links: list[tuple[str, str]], about: Mapping[str, Value]) -> _Batch:
        """A batch was polled, which took so many seconds."""
        now = time.time_ns()
        self.current = batch = _Batch(now - _ns(seconds), {**self._labels, **about}, links)
        self.step(batch, "poll", seconds)
        return batch

    def step(
        self,
        batch: _Batch,
        name: str,
        seconds: float,
        kind: Kind = "internal",
        about: Mapping[str, Value] | None = None,
    ) -> None:
        """A step of a batch has ended now, after so many seconds."""
        batch.ended = time.time_ns()
        self.child(batch, name, batch.ended - _ns(seconds), batch.ended, kind, about)

    def child(
        self,
        batch: _Batch,
        name: str,
        began: int,
        ended: int,
        kind: Kind = "internal",
        about: Mapping[str, Value] | None = None,
    ) -> None:
        """A step of a batch, from and to these nanoseconds since the epoch."""
        links = batch.links if name in ("put", "send") else []
        context = SpanContext.new(batch.context)
        attributes = {**self._labels, **(about or {})}
        self._keep(Span(name, kind, *context[:2], batch.context.span, began, ended, attributes, links))

    def end(self, batch: _Batch, name: str, kind: Kind, error: str = "") -> None:
        """The work on a batch has ended; its commit may follow."""
        context = (*batch.context[:2], "")
        self._keep(Span(name, kind, *context, batch.began, batch.ended, batch.attributes, [], error))

    def alone(self, seconds: float, error: str = "", flush: float | None = None) -> None:
        """A commit that covers no traced batch, with the flush before it."""
        now = time.time_ns()
        context = SpanContext.new()
        began = now - _ns(seconds) - _ns(flush or 0.0)
        self._keep(Span("commit", "internal", *context[:2], "", began, now, {**self._labels}, [], error))
        if flush is not None:
            child = SpanContext.new(context)[:2]
            flushed = began + _ns(flush)
            self._keep(Span("flush", "client", *child, context.span, began, flushed, {**self._labels}, []))

    def take(self) -> list[Span]:
        """What is to be reported; each span once."""
        taken, self._spans = self._spans, []
        return taken

    def _keep(self, span: Span) -> None:
        if len(self._spans) < _MOST_SPANS:
            self._spans.append(span)


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
            if len(self._traces.waiting) > _MOST_BATCHES:
                self._traces.waiting.popleft()

    def pre_committed(self, seconds: float) -> None:
        super().pre_committed(seconds)
        self._flush = seconds

    def committed(self, outcome: str, seconds: float, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        super().committed(outcome, seconds, offsets)
        traces, flush = self._traces, self._flush or 0.0
        ended = time.time_ns()
        flushed = ended - _ns(seconds)
        done = offsets or {} if outcome == "success" else {}
        covered = [batch for batch in traces.waiting if _is_covered(batch, done)]
        for batch in covered:
            traces.waiting.remove(batch)
            traces.child(batch, "flush", flushed - _ns(flush), flushed, "client")
            traces.child(batch, "commit", flushed, ended)
        if not covered:
            traces.alone(seconds, "" if outcome == "success" else outcome, flush)
        self._flush = None

    def ends(self, error: str = "") -> None:
        if (batch := self._traces.current) is not None:  # or nothing of it was left to put
            self._end(batch, error)

    def _end(self, batch: _Batch, error: str = "") -> None:
        self._traces.end(batch, "sink batch", "consumer", error)
        self._traces.current = None


class TracedSourceMeter(SourceMeter):
    """Measures a source task, and traces some of its batches."""

    def __init__(self, registry: Registry, labels: Mapping[str, str], traces: TaskTraces) -> None:
        super().__init__(registry, labels)
        self._traces = traces
        self._sent: list[_Batch] = []  # acknowledged, and their offsets are not stored

    def polled(self, batch: SourceBatch, seconds: float) -> None:
        super().polled(batch, seconds)
        traces = self._traces
        if traces.current is not None:
            traces.current.until = time.monotonic()
            traces.current = None
        if traces.chosen():
            traces.waiting.append(traces.begin(seconds, links_of(batch.headers), _about(batch)))
            if len(traces.waiting) > _MOST_BATCHES:
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
            self._sent = [*self._sent, found][-_MOST_BATCHES:]

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
            self._traces.child(batch, "commit", ended - _ns(seconds), ended)
        if not covered:
            self._traces.alone(seconds, error)

    def _end(self, batch: _Batch, error: str = "") -> None:
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


class WriteTraceparent:
    """The last step of a source's chain: records of a traced batch get its context as a header, unless they have one.

    Args:
        traces: of the task.
    """

    stage = Stage.HEADER_CONVERTER
    operation = TRACEPARENT
    apply_one = None

    def __init__(self, traces: TaskTraces) -> None:
        self._traces = traces

    def run(self, batch: Any) -> Any:
        """The batch, whose headers are pairs of key and bytes."""
        if (traced := self._traces.current) is None:
            return batch
        ours = (TRACEPARENT, traced.context.header.encode())
        raw: Column[Any] = batch.headers
        headers = [pairs if pairs and _has_context(pairs) else [*(pairs or ()), ours] for pairs in raw]
        return batch.with_columns(headers=Plain(headers))

    def close(self) -> None:
        """It holds nothing."""


def links_of(headers: Column[Any]) -> list[tuple[str, str]]:
    """Trace and span ids of the contexts that records bring, each once. `headers` as bytes or not."""
    if headers.constant and not (len(headers) and headers[0]):
        return []
    found: dict[tuple[str, str], None] = {}
    for _, items in zip(range(_LOOKED_AT), headers, strict=False):
        for item in items or ():
            if item[0] != TRACEPARENT or not isinstance(item[1], str | bytes):
                continue
            if (context := SpanContext.of_header(item[1])) is not None:
                found[context[:2]] = None
        if len(found) >= MOST_LINKS:
            break
    return list(found)[:MOST_LINKS]


def _has_context(pairs: Iterable[tuple[str, Any]]) -> bool:
    return any(pair[0] == TRACEPARENT for pair in pairs)


def _about(batch: SinkBatch | SourceBatch) -> Attributes:
    about: Attributes = {"messaging.system": "kafka", "messaging.batch.message_count": len(batch)}
    if len(batch) and batch.topics.constant:
        about["messaging.destination.name"] = batch.topics[0]
    return about


def _is_covered(batch: _Batch, offsets: Mapping[TopicPartition, int]) -> bool:
    """Whether everything of a batch is committed, now that these offsets are."""
    batch.left = {place: offset for place, offset in batch.left.items() if offsets.get(place, 0) < offset}
    return not batch.left


def _trace_step(traces: TaskTraces, step: Step, seconds: float) -> None:
    if (batch := traces.current) is not None:
        name = "transform" if step.stage is Stage.TRANSFORMATION else "convert"
        about = {"connect.stage": step.stage.value.lower(), "connect.step": name_of_step(step)}
        traces.step(batch, name, seconds, about=about)


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
