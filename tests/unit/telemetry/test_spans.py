"""Spans, their contexts, and what a worker accepts of its tasks."""

from __future__ import annotations

import threading

import msgspec
import pytest

from connect.telemetry.spans import Span, SpanContext, Tracer, current, is_sound
from connect.worker import messages

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def ended() -> list[Span]:
    return []


@pytest.fixture
def tracer(ended: list[Span]) -> Tracer:
    made = Tracer()
    made.start(ended.append)
    return made


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"00-{TRACE}-{PARENT}-01", SpanContext(TRACE, PARENT, sampled=True)),
        (f"00-{TRACE}-{PARENT}-00".encode(), SpanContext(TRACE, PARENT, sampled=False)),
        (f"00-{TRACE}-{PARENT}-03", SpanContext(TRACE, PARENT, sampled=True)),
        (f" 00-{TRACE}-{PARENT}-01 ", SpanContext(TRACE, PARENT, sampled=True)),
        # A later version may have more behind it, this one may not.
        (f"cc-{TRACE}-{PARENT}-01-what-comes", SpanContext(TRACE, PARENT, sampled=True)),
        (f"00-{TRACE}-{PARENT}-01-what-comes", None),
        (f"cc-{TRACE}-{PARENT}-01.what", None),
        (f"ff-{TRACE}-{PARENT}-01", None),
        (f"00-{TRACE.upper()}-{PARENT}-01", None),
        (f"00-{'0' * 32}-{PARENT}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE}-{PARENT}", None),
        (b"\xff\xfe", None),
        ("", None),
        (None, None),
    ],
)
def test_traceparent_by_w3c(header: str | bytes | None, expected: SpanContext | None) -> None:
    assert SpanContext.of_header(header) == expected


def test_a_context_survives_its_header() -> None:
    made = SpanContext.new(sampled=False)
    assert SpanContext.of_header(made.header) == made
    assert SpanContext.of_header(SpanContext.new(made).header) != made


def test_children_are_in_the_trace_of_what_they_happen_in(tracer: Tracer, ended: list[Span]) -> None:
    with tracer.span("outer", "server", attributes={"connector": "o" * 2_000, "n": 3}), tracer.span("inner"):
        pass
    inner, outer = ended
    assert (inner.trace, inner.parent, outer.parent) == (outer.trace, outer.span, "")
    assert outer.began <= inner.began <= inner.ended <= outer.ended
    assert outer.attributes == {"connector": "o" * 1_000, "n": 3}
    assert is_sound(outer)
    assert current.get() is None


def test_an_error_ends_a_span_with_its_kind_and_not_its_words(tracer: Tracer, ended: list[Span]) -> None:
    with pytest.raises(ValueError, match="of a record"), tracer.span("work"):
        raise ValueError("what stood in a field of a record")
    assert [span.error for span in ended] == ["ValueError"]


def test_a_parent_from_elsewhere_counts_before_the_current_span(tracer: Tracer, ended: list[Span]) -> None:
    with tracer.span("here"), tracer.span("of a request", parent=SpanContext(TRACE, PARENT)):
        pass
    assert (ended[0].trace, ended[0].parent) == (TRACE, PARENT)


def test_an_open_span_may_end_on_another_thread_and_ends_once(tracer: Tracer, ended: list[Span]) -> None:
    opened = tracer.open("task start")
    assert opened is not None
    thread = threading.Thread(target=opened.end, args=("it failed",))
    thread.start()
    thread.join()
    opened.end()
    assert [span.error for span in ended] == ["it failed"]


def test_what_is_not_sampled_is_not_taken_but_its_context_goes_on(ended: list[Span]) -> None:
    tracer = Tracer()
    tracer.start(ended.append, lambda parent, _trace, name: parent.sampled if parent else name == "seen")
    with tracer.span("unseen") as opened, tracer.span("seen"):
        assert opened is not None
        assert not opened.context.sampled
    with tracer.span("seen"):
        tracer.record("unseen", 1, 2, {})
        tracer.record("seen", 1, 2, {})
    assert [(span.name, span.parent) for span in ended] == [("seen", ""), ("seen", "")]


def test_nothing_is_measured_while_the_tracer_is_off(ended: list[Span]) -> None:
    tracer = Tracer()
    with tracer.span("before") as opened:
        assert opened is None
        assert current.get() is None
    tracer.start(ended.append)
    tracer.stop()
    tracer.record("after", 1, 2, {})
    tracer.take([Span("of a task", "internal", TRACE, PARENT, "", 1, 2, {}, [])])
    assert not tracer.on
    assert ended == []


def span(**changes: object) -> Span:
    whole = Span("put", "client", TRACE, PARENT, "", 1, 2, {"connector": "orders", "n": 1, "x": 0.5, "b": True}, [])
    return whole._replace(**changes)  # type: ignore[arg-type]


def test_a_span_passes_the_control_pipe_unchanged() -> None:
    told = messages.Spans([span(links=[(TRACE, PARENT)], error="ValueError")])
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(told), type=messages.AnyMessage) == told


@pytest.mark.parametrize(
    "wrong",
    [
        {"trace": "short"},
        {"trace": "0" * 32},
        {"span": PARENT.upper()},
        {"parent": "of nobody"},
        {"began": -1},
        {"began": 3},
        {"ended": 1 << 63},
        {"name": "x" * 1_001},
        {"error": "x" * 1_001},
        {"attributes": {"x": "x" * 1_001}},
        {"attributes": {"x" * 1_001: 1}},
        {"attributes": {"x": 1 << 63}},
        {"attributes": {str(number): number for number in range(33)}},
        {"links": [(TRACE, PARENT)] * 33},
        {"links": [(PARENT, TRACE)]},
    ],
)
def test_a_task_cannot_make_up_what_a_receiver_would_refuse(wrong: dict[str, object]) -> None:
    assert is_sound(span())
    assert not is_sound(span(**wrong))
