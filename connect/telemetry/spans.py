"""Spans of traces, measured without OpenTelemetry's library; `connect.telemetry.otlp` sends them.

A worker's tracer hands each span on when it has ended. A task measures its spans in its own process and reports them
to its worker, as it reports its metrics (`connect.delivery.traces`).

https://opentelemetry.io/docs/specs/otel/trace/api/ and https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Value = str | int | float | bool
Attributes = dict[str, Value]

#: The header of HTTP, and of records, that has a context.
TRACEPARENT: Final = "traceparent"
#: The most links of a span.
MOST_LINKS: Final = 32
_MOST_ATTRIBUTES: Final = 32
#: Characters of a name, an attribute or an error.
_TEXT: Final = 1_000
_TRACE: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_HEADER: Final = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_SAMPLED: Final = 1


class SpanContext(NamedTuple):
    """What others need to know of a span.

    Attributes:
        trace: the id of its trace, 32 hexadecimal digits.
        span: its own, 16 of them.
        sampled: whether it is recorded.
    """

    trace: str
    span: str
    sampled: bool = True

    @classmethod
    def new(cls, parent: SpanContext | None = None, *, sampled: bool = True) -> SpanContext:
        """Of a new span: in the parent's trace, or the first of its own."""
        return cls(os.urandom(16).hex() if parent is None else parent.trace, os.urandom(8).hex(), sampled)

    @classmethod
    def of_header(cls, text: str | bytes | None) -> SpanContext | None:
        """By the value of a `traceparent`; None for one that is not valid, which is as good as none."""
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        found = _HEADER.fullmatch(text.strip()) if text else None
        if found is None or (found[1] == "00" and found[5]):
            return None
        if not _TRACE.fullmatch(found[2]) or not _SPAN.fullmatch(found[3]):
            return None
        return cls(found[2], found[3], bool(int(found[4], 16) & _SAMPLED))

    @property
    def header(self) -> str:
        """As the value of a `traceparent`."""
        return f"00-{self.trace}-{self.span}-{int(self.sampled):02x}"


class Span(NamedTuple):
    """A span that has ended. Plain data: msgspec accepts it.

    Attributes:
        name: of the operation, the same for all that are alike.
        kind: its role between processes.
        trace, span: see `SpanContext`.
        parent: the span id of its parent; empty for the first of a trace.
        began, ended: nanoseconds since the epoch.
        attributes: what it is about.
        links: trace and span ids of others that it has to do with.
        error: why it failed; empty where it did not.
    """

    name: str
    kind: Kind
    trace: str
    span: str
    parent: str
    began: int
    ended: int
    attributes: Attributes
    links: list[tuple[str, str]]
    error: str = ""


#: The span that this thread, or this task of asyncio, works for.
current: Final[ContextVar[SpanContext | None]] = ContextVar("current span", default=None)


class OpenSpan:
    """A span that goes on. Ended by `end`, once, on any thread.

    Attributes:
        context: for its children.
        attributes: may be added to until the end.
    """

    def __init__(
        self,
        name: str,
        kind: Kind,
        context: SpanContext,
        parent: SpanContext | None,
        attributes: Mapping[str, Value],
        take: Callable[[Span], None],
    ) -> None:
        self.name = name
        self.context = context
        self.attributes: Attributes = _cut(attributes)
        self._kind: Kind = kind
        self._parent = "" if parent is None else parent.span
        self._began = time.time_ns()
        self._take: Callable[[Span], None] | None = take

    def end(self, error: str = "") -> None:
        """It has ended, with an error perhaps. Does nothing when it already had."""
        take, self._take = self._take, None
        if take is not None and self.context.sampled:
            take(
                Span(
                    *(self.name, self._kind, self.context.trace, self.context.span, self._parent),
                    *(self._began, max(self._began, time.time_ns()), self.attributes, [], error),
                )
            )


class Tracer:
    """Measures spans of this process. Off until `start`: then it costs nothing but the look whether it is on."""

    def __init__(self) -> None:
        self._take: Callable[[Span], None] | None = None
        self._samples: Callable[[SpanContext | None, str, str], bool] = lambda _parent, _trace, _name: True

    @property
    def on(self) -> bool:
        """Whether spans are measured."""
        return self._take is not None

    def start(
        self, take: Callable[[Span], None], samples: Callable[[SpanContext | None, str, str], bool] | None = None
    ) -> None:
        """Hand every span that has ended to `take`, which must not block.

        Args:
            take: see there.
            samples: whether a span is recorded, by its parent, the id of its trace and its name. All by default.
        """
        self._samples = samples or self._samples
        self._take = take

    def stop(self) -> None:
        """Measure nothing any more."""
        self._take = None

    def take(self, spans: Iterable[Span]) -> None:
        """Spans that another process has measured."""
        if (take := self._take) is not None:
            for span in spans:
                take(span)

    def open(
        self,
        name: str,
        kind: Kind = "internal",
        parent: SpanContext | None = None,
        attributes: Mapping[str, Value] | None = None,
    ) -> OpenSpan | None:
        """A span that begins now; None when the tracer is off.

        Args:
            parent: by default the current span.
            attributes: what it is about.
        """
        if (take := self._take) is None:
            return None
        parent = current.get() if parent is None else parent
        new = SpanContext.new(parent)
        new = new._replace(sampled=self._samples(parent, new.trace, name))
        return OpenSpan(name, kind, new, parent, attributes or {}, take)

    @contextmanager
    def span(
        self,
        name: str,
        kind: Kind = "internal",
        parent: SpanContext | None = None,
        attributes: Mapping[str, Value] | None = None,
    ) -> Iterator[OpenSpan | None]:
        """A span around what happens inside, where it is the current one. See `open`."""
        opened = self.open(name, kind, parent, attributes)
        if opened is None:
            yield None
            return
        token = current.set(opened.context)
        try:
            yield opened
        except BaseException as error:
            opened.end(type(error).__name__)
            raise
        finally:
            current.reset(token)
            opened.end()

    def record(self, name: str, began: int, ended: int, attributes: Mapping[str, Value]) -> None:
        """A span of its own trace, from and to these nanoseconds since the epoch."""
        if (take := self._take) is None:
            return
        context = SpanContext.new()
        if self._samples(None, context.trace, name):
            context_of = (context.trace, context.span, "")
            take(Span(name, "internal", *context_of, began, max(began, ended), _cut(attributes), []))


def is_sound(span: Span) -> bool:
    """Whether a span that another process reports can be kept and sent on: plug-in code may have made it up."""
    texts = [span.name, span.error, *(value for value in span.attributes.values() if isinstance(value, str))]
    return (
        bool(_TRACE.fullmatch(span.trace) and _SPAN.fullmatch(span.span))
        and bool(not span.parent or _SPAN.fullmatch(span.parent))
        and 0 <= span.began <= span.ended < 1 << 63
        and len(span.attributes) <= _MOST_ATTRIBUTES
        and len(span.links) <= MOST_LINKS
        and all(len(text) <= _TEXT for text in (*texts, *span.attributes))
        and all(-(1 << 63) <= value < 1 << 63 for value in span.attributes.values() if isinstance(value, int))
        and all(_TRACE.fullmatch(trace) and _SPAN.fullmatch(of) for trace, of in span.links)
    )


def _cut(attributes: Mapping[str, Value]) -> Attributes:
    return {name: value[:_TEXT] if isinstance(value, str) else value for name, value in attributes.items()}


def outgoing() -> dict[str, str]:
    """Headers of a request that this thread's span sends; none without one."""
    context = current.get()
    return {} if context is None else {TRACEPARENT: context.header}
