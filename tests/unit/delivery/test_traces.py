"""Which spans a task's batches have, by what its meter is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from connect.data.batch import SinkBatch, SourceBatch
from connect.data.column import Constant, Plain
from connect.data.headers import Header, Headers
from connect.data.record import SourceRecord, TopicPartition
from connect.data.values import Values
from connect.delivery.meter import SinkMeter, SourceMeter
from connect.delivery.traced_meters import TracedSinkMeter, TracedSourceMeter, sink_meter, source_meter
from connect.delivery.traces import MOST_BATCHES, TaskTraces, WriteTraceparent, links_of
from connect.kafka.writing.deliveries import Delivery
from connect.pipeline import Stage
from connect.telemetry.metrics import Registry
from connect.telemetry.spans import Span, SpanContext, is_sound

LABELS = {"connector": "orders", "task": "0"}
CONTEXT = SpanContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


class Step:
    stage = Stage.TRANSFORMATION
    operation = "InsertField"
    alias = "route"
    apply_one = None

    def run(self, batch: Any) -> Any:
        return batch

    def close(self) -> None:
        pass


def sink_batch(first: int = 0, rows: int = 3, partition: int = 0, headers: Sequence[Any] | None = None) -> SinkBatch:
    return SinkBatch(
        "lines",
        Values.raw([b"x"] * rows),
        partitions=partition,
        offsets=Plain(list(range(first, first + rows))),
        headers=None if headers is None else Plain(list(headers)),
    )


def source_batch(rows: int = 3) -> SourceBatch:
    return SourceBatch.of([SourceRecord("lines", str(row)) for row in range(rows)])


def traces(ratio: float = 1.0) -> TaskTraces:
    return TaskTraces(LABELS, ratio)


def sink(ratio: float = 1.0) -> tuple[TracedSinkMeter, TaskTraces]:
    made = traces(ratio)
    return TracedSinkMeter(Registry(), LABELS, made), made


def source(ratio: float = 1.0) -> tuple[TracedSourceMeter, TaskTraces]:
    made = traces(ratio)
    return TracedSourceMeter(Registry(), LABELS, made), made


def shape(spans: list[Span]) -> list[tuple[str, list[str]]]:
    """The first span of each trace, with the names of those below it; all of them sound."""
    assert all(map(is_sound, spans))
    assert all(span.attributes.items() >= LABELS.items() for span in spans)
    found = []
    for first in (span for span in spans if not span.parent):
        below = [span.name for span in spans if (span.trace, span.parent) == (first.trace, first.span)]
        found.append((first.name, below))
    assert sum(1 + len(below) for _, below in found) == len(spans), "a span without its parent"
    return found


def test_a_batch_of_a_sink_from_poll_to_commit() -> None:
    meter, made = sink()
    meter.consumed(sink_batch(), 0.25)
    meter.stepped(Step(), 0.001)
    meter.put(3, 0.5)
    meter.pre_committed(0.125)
    meter.committed("success", 0.01, {TopicPartition("lines", 0): 3})
    spans = made.take()
    assert shape(spans) == [("sink batch", ["poll", "transform", "put", "flush", "commit"])]
    by_name = {span.name: span for span in spans}
    assert by_name["transform"].attributes["connect.step"] == "route"
    assert by_name["sink batch"].attributes["messaging.batch.message_count"] == 3
    assert by_name["sink batch"].attributes["messaging.destination.name"] == "lines"
    assert by_name["put"].ended - by_name["put"].began == pytest.approx(0.5e9, abs=1e6)
    assert by_name["flush"].ended == by_name["commit"].began
    assert made.take() == [], "each once"


def test_a_commit_is_in_the_trace_of_each_batch_that_it_covers_whole() -> None:
    meter, made = sink()
    for first, partition in ((0, 0), (3, 0), (0, 1)):
        meter.consumed(sink_batch(first, partition=partition), 0.0)
        meter.put(3, 0.0)
    made.take()
    meter.pre_committed(0.0)
    meter.committed("success", 0.0, {TopicPartition("lines", 0): 5})  # one batch and a part of the next
    assert [span.name for span in made.take()] == ["flush", "commit"]
    meter.committed("success", 0.0, {TopicPartition("lines", 0): 6, TopicPartition("lines", 1): 3})
    assert [span.name for span in made.take()].count("commit") == 2
    meter.committed("success", 0.0, {TopicPartition("lines", 0): 6})
    assert shape(made.take()) == [("commit", ["flush"])], "none of them waits any more"


def test_a_commit_that_fails_is_alone_and_the_batch_waits_for_the_next() -> None:
    meter, made = sink()
    meter.consumed(sink_batch(), 0.0)
    meter.put(3, 0.0)
    made.take()
    meter.committed("failure", 0.0)
    failed = made.take()
    assert [(span.name, span.error) for span in failed if not span.parent] == [("commit", "failure")]
    meter.committed("success", 0.0, {TopicPartition("lines", 0): 3})
    assert all(span.parent for span in made.take())


def test_a_batch_of_which_nothing_is_left_to_put_ends_too() -> None:
    meter, made = sink()
    meter.consumed(sink_batch(), 0.0)
    meter.consumed(sink_batch(3), 0.0)
    meter.ends("DataError")
    assert shape(spans := made.take()) == [("sink batch", ["poll"])] * 2
    assert [span.error for span in spans if not span.parent] == ["", "DataError"]


def test_a_put_links_to_what_its_records_bring() -> None:
    meter, made = sink()
    header = ("traceparent", CONTEXT.header.encode())
    meter.consumed(sink_batch(headers=[[("other", b"x"), header], None, [header]]), 0.0)
    meter.put(3, 0.0)
    assert [span.links for span in made.take() if span.links] == [[CONTEXT[:2]]]


def test_a_batch_of_a_source_from_poll_to_commit() -> None:
    meter, made = source()
    meter.polled(source_batch(), 0.25)
    meter.stepped(Step(), 0.0)
    sent = Delivery(None, 3, 10, lambda *_: False)
    meter.polled(source_batch(), 0.0)  # before the first is acknowledged
    meter.settled(sent)
    meter.committed("success", 0.01)
    assert shape(made.take() + ended(meter, made))[0] == ("source batch", ["poll", "transform", "send", "commit"])


def ended(meter: SourceMeter, made: TaskTraces) -> list[Span]:
    meter.ends()
    return made.take()


def test_acknowledgements_go_to_the_batch_that_was_sent() -> None:
    """Also where only every second one is traced, and where a batch is sent in two parts."""
    chances = iter([0.0, 1.0, 0.0])
    made = TaskTraces(LABELS, 0.5, lambda: next(chances))
    meter = TracedSourceMeter(Registry(), LABELS, made)
    sent = []
    for rows in (1, 2, 3):
        meter.polled(source_batch(rows), 0.0)
        sent += [Delivery(rows, rows, 10, lambda *_: False) for _ in range(2)]
    for delivery in sent:
        meter.settled(delivery)
    spans = made.take()
    assert [span.attributes["messaging.batch.message_count"] for span in spans if not span.parent] == [1, 3]
    assert [below for _, below in shape(spans)] == [["poll", "send"]] * 2
    meter.transaction(6, 0.01)
    assert [span.name for span in made.take()] == ["commit", "commit"]


def test_an_acknowledgement_never_goes_to_an_earlier_batch_of_which_nothing_was_sent() -> None:
    chances = iter([0.0, 1.0])
    made = TaskTraces(LABELS, 0.5, lambda: next(chances))
    meter = TracedSourceMeter(Registry(), LABELS, made)
    meter.polled(source_batch(), 0.0)  # traced, and a transformation drops all of it
    meter.polled(source_batch(), 0.0)
    meter.settled(Delivery(None, 3, 10, lambda *_: False))
    assert "send" not in [span.name for span in ended(meter, made)]


def test_memory_is_bounded_when_nothing_is_acknowledged_or_reported() -> None:
    meter, made = source()
    for _ in range(2_000):
        meter.polled(source_batch(1), 0.0)
    assert len(made.waiting) == MOST_BATCHES
    assert len(made.take()) == 2_048
    sinks, waiting = sink()
    for first in range(200):
        sinks.consumed(sink_batch(first, 1), 0.0)
        sinks.put(1, 0.0)
    assert len(waiting.waiting) == MOST_BATCHES


@pytest.mark.parametrize(("ratio", "expected"), [(0.0, 0), (0.25, 25), (1.0, 100)])
def test_the_share_of_batches_that_are_traced(ratio: float, expected: int) -> None:
    chances = iter(number / 100 for number in range(100))
    made = TaskTraces(LABELS, ratio, lambda: next(chances))
    meter = TracedSinkMeter(Registry(), LABELS, made)
    for first in range(100):
        meter.consumed(sink_batch(first, 1), 0.0)
        meter.put(1, 0.0)
    assert len([span for span in made.take() if span.name == "sink batch"]) == expected


def test_with_a_share_of_nothing_commits_are_not_traced_either() -> None:
    meter, made = sink(0.0)
    meter.pre_committed(0.1)
    meter.committed("success", 0.1, {TopicPartition("lines", 0): 3})
    assert made.take() == []


def test_an_empty_batch_is_not_traced() -> None:
    meter, made = sink()
    meter.consumed(sink_batch(rows=0), 0.0)
    assert made.current is None


def test_without_traces_there_is_nothing_but_the_meter() -> None:
    assert type(sink_meter(Registry(), LABELS, None)) is SinkMeter
    assert type(source_meter(Registry(), LABELS, None)) is SourceMeter
    assert type(source_meter(Registry(), LABELS, traces())) is TracedSourceMeter


def test_records_of_a_traced_batch_get_its_context_unless_they_have_one() -> None:
    meter, made = source()
    step = WriteTraceparent(made)
    theirs = [("traceparent", CONTEXT.header.encode())]
    encoded = source_batch(3).with_columns(headers=Plain([None, [("k", b"v")], theirs]))
    assert step.run(encoded) is encoded, "none is traced yet"
    meter.polled(source_batch(3), 0.0)
    assert made.current is not None
    ours = ("traceparent", made.current.context.header.encode())
    assert step.run(encoded).headers.to_list() == [[ours], [("k", b"v"), ours], theirs]
    assert encoded.headers.to_list()[0] is None, "the input is as it was"


def test_links_are_found_in_bytes_and_in_headers_and_limited() -> None:
    assert links_of(Constant(None, 5)) == []
    assert links_of(Constant([("traceparent", CONTEXT.header.encode())], 5)) == [CONTEXT[:2]]
    assert links_of(Plain([Headers([Header("traceparent", CONTEXT.header)])])) == [CONTEXT[:2]]
    assert links_of(Plain([[("traceparent", None)], [("traceparent", b"\xff")], [("Traceparent", b"")]])) == []
    many = [[("traceparent", SpanContext.new().header.encode())] * 2 for _ in range(100)]
    assert len(links_of(Plain(many))) == 32
