"""Traces of some batches of a task: where the time of a batch went, from its poll to its commit.

    sink batch:    poll -> convert, transform ... -> put -> flush, commit
    source batch:  poll -> transform, convert ... -> send -> commit

A batch is traced or not by chance, so that nothing is measured for each record. The spans are made of what the task's
meter is told anyway, after the fact (`connect.delivery.traced_meters`). A commit is in the trace of each traced batch
that it covers; one that covers none of them is in a trace of its own.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from connect.data.column import Column, Plain
from connect.data.record import TopicPartition
from connect.pipeline import Stage
from connect.telemetry.spans import MOST_LINKS, TRACEPARENT, Attributes, Kind, Span, SpanContext, Value

#: Spans that wait to be reported: about as many as a worker keeps for all of its tasks. More are dropped.
_MOST_SPANS: Final = 2_048
#: Traced batches that wait for their acknowledgement and commit. Older ones are ended without.
MOST_BATCHES: Final = 32
#: Records of a batch whose headers are looked at.
_LOOKED_AT: Final = 1_000


class TracedBatch:
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
        ratio: the share of batches that are traced. With 0 no commits are, either.
        chance: from 0 to 1, as `random.random`.

    Attributes:
        current: the traced batch that is being worked on.
        waiting: those that are not committed yet.
    """

    def __init__(self, labels: Mapping[str, str], ratio: float, chance: Callable[[], float] = random.random) -> None:
        self.current: TracedBatch | None = None
        self.waiting: deque[TracedBatch] = deque()
        self._labels = dict(labels)
        self._ratio = ratio
        self._chance = chance
        self._spans: list[Span] = []

    def chosen(self) -> bool:
        """Whether the next batch is traced."""
        return self._ratio > 0 and self._chance() < self._ratio

    def begin(self, seconds: float, links: list[tuple[str, str]], about: Mapping[str, Value]) -> TracedBatch:
        """A batch was polled, which took so many seconds."""
        now = time.time_ns()
        self.current = batch = TracedBatch(now - nanoseconds(seconds), {**self._labels, **about}, links)
        self.step(batch, "poll", seconds)
        return batch

    def step(
        self,
        batch: TracedBatch,
        name: str,
        seconds: float,
        kind: Kind = "internal",
        about: Mapping[str, Value] | None = None,
    ) -> None:
        """A step of a batch has ended now, after so many seconds."""
        batch.ended = time.time_ns()
        self.child(batch, name, batch.ended - nanoseconds(seconds), batch.ended, kind, about)

    def child(
        self,
        batch: TracedBatch,
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

    def end(self, batch: TracedBatch, name: str, kind: Kind, error: str = "") -> None:
        """The work on a batch has ended; its commit may follow."""
        context = (*batch.context[:2], "")
        self._keep(Span(name, kind, *context, batch.began, batch.ended, batch.attributes, [], error))

    def alone(self, seconds: float, error: str = "", flush: float | None = None) -> None:
        """A commit that covers no traced batch, with the flush before it."""
        if self._ratio == 0:
            return
        now = time.time_ns()
        context = SpanContext.new()
        began = now - nanoseconds(seconds) - nanoseconds(flush or 0.0)
        self._keep(Span("commit", "internal", *context[:2], "", began, now, {**self._labels}, [], error))
        if flush is not None:
            child = SpanContext.new(context)[:2]
            flushed = began + nanoseconds(flush)
            self._keep(Span("flush", "client", *child, context.span, began, flushed, {**self._labels}, []))

    def take(self) -> list[Span]:
        """What is to be reported; each span once."""
        taken, self._spans = self._spans, []
        return taken

    def _keep(self, span: Span) -> None:
        if len(self._spans) < _MOST_SPANS:
            self._spans.append(span)


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


def nanoseconds(seconds: float) -> int:
    """As spans count."""
    return int(seconds * 1e9)
