"""Spans as the SDK's, and its sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from connect.telemetry import spans
from connect.telemetry.redaction import redactor

_KINDS: Final = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class Pending(ReadableSpan):
    """A span as it waits in the SDK's queue. It is converted when it is sent, on the thread that sends it."""

    #: What the queue looks at.
    _any_context: Final = SpanContext(1, 1, is_remote=False, trace_flags=_SAMPLED)

    def __init__(self, span: spans.Span) -> None:
        # None of the base's attributes: it waits among thousands.
        self.span = span

    @property
    def context(self) -> SpanContext:
        return self._any_context


class Converting(SpanExporter):
    """Converts spans and has them sent.

    Args:
        inner: sends them.
        resource: that of the process.
        scope: who measures.
        sent: told each time whether the receiver has taken them.
    """

    def __init__(
        self,
        inner: SpanExporter,
        resource: Resource,
        scope: InstrumentationScope,
        sent: Callable[[Callable[[], bool]], None],
    ) -> None:
        self._inner = inner
        self._resource = resource
        self._scope = scope
        self._sent = sent

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send them. A failure is told by `sent`, and final."""
        made = [self._converted(each.span) for each in spans if isinstance(each, Pending)]
        self._sent(lambda: self._inner.export(made) is SpanExportResult.SUCCESS)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """End what is being sent."""
        self._inner.shutdown()

    def _converted(self, span: spans.Span) -> ReadableSpan:
        redact = redactor.redact
        return ReadableSpan(
            name=redact(span.name),
            context=_context(span.trace, span.span),
            parent=_context(span.trace, span.parent) if span.parent else None,
            resource=self._resource,
            attributes={
                redact(name): redact(value) if isinstance(value, str) else value
                for name, value in span.attributes.items()
            },
            links=[Link(_context(*link)) for link in span.links],
            kind=_KINDS[span.kind],
            status=Status(StatusCode.ERROR, redact(span.error)) if span.error else Status(StatusCode.UNSET),
            start_time=span.began,
            end_time=span.ended,
            instrumentation_scope=self._scope,
        )


def samples(resource: Resource) -> Callable[[spans.SpanContext | None, str, str], bool]:
    """Whether a span is recorded, for `Tracer.start`: as OTEL_TRACES_SAMPLER says."""
    sampler = TracerProvider(resource=resource, shutdown_on_exit=False).sampler

    def decide(parent: spans.SpanContext | None, trace: str, name: str) -> bool:
        around = None
        if parent is not None:
            flags = _SAMPLED if parent.sampled else TraceFlags(TraceFlags.DEFAULT)
            known = SpanContext(int(parent.trace, 16), int(parent.span, 16), is_remote=False, trace_flags=flags)
            around = set_span_in_context(NonRecordingSpan(known))
        return sampler.should_sample(around, int(trace, 16), name).decision is Decision.RECORD_AND_SAMPLE

    return decide


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=_SAMPLED)
