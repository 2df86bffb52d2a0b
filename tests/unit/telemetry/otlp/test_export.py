"""What is sent to a receiver of OTLP, and what happens while there is none."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.metrics.export import Gauge, Histogram, Metric, Sum
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from connect.telemetry.exposition import Family, families
from connect.telemetry.metrics import Registry
from connect.telemetry.otlp import Receiver, Sender, environment_secrets, is_disabled, is_installed
from connect.telemetry.otlp.points import Points
from connect.telemetry.redaction import redactor
from connect.telemetry.spans import Span, SpanContext, Tracer
from tests.servers import otlp
from tests.support.waiting import until

CONTEXT = SpanContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


@pytest.fixture
def receiver() -> Iterator[otlp.Receiver]:
    with otlp.otlp() as server:
        yield server


def sender(url: str, interval: float = 0.05, **headers: str) -> Sender:
    return Sender(Receiver(url, headers), {"service.instance.id": "here:1"}, "1.2.3", interval)


def metrics_of(points: Points, found: list[Family], now: int) -> dict[str, Metric]:
    data = points.of(found, now)
    return {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}


def test_kinds_values_and_what_is_left_out() -> None:
    registry = Registry()
    registry.counter("a_b_c_total", task="0").add(3)
    registry.gauge("a_b_d", task="0").set(math.nan)
    registry.gauge("a_b_d", task="1").set(-1.5)
    registry.histogram("a_b_e_seconds", (1, 2), task="0").observe(1.5)
    points = Points(Resource({}), InstrumentationScope("connect"), 100)
    made = metrics_of(points, families(registry.snapshot(), {"a_b_c_total": "What it is."}), 200)
    assert {name: (metric.description, metric.unit) for name, metric in made.items()} == {
        "a.b.c": ("What it is.", ""),
        "a.b.d": ("Of a plug-in.", ""),
        "a.b.e": ("Of a plug-in.", "s"),
    }
    total, spread = made["a.b.c"].data, made["a.b.e"].data
    assert isinstance(total, Sum)
    assert total.is_monotonic
    assert [(point.attributes, point.value) for point in total.data_points] == [({"task": "0"}, 3.0)]
    assert isinstance(spread, Histogram)
    (point,) = spread.data_points
    assert (point.count, point.sum, point.bucket_counts, point.explicit_bounds) == (1, 1.5, (0, 1, 0), (1, 2))
    gauge = made["a.b.d"].data
    assert isinstance(gauge, Gauge)
    assert [(point.attributes, point.value) for point in gauge.data_points] == [({"task": "1"}, -1.5)]


def test_a_total_that_starts_over_says_since_when() -> None:
    def totals(*values: float) -> list[int]:
        points = Points(Resource({}), InstrumentationScope("connect"), 100)
        starts = []
        for number, value in enumerate(values):
            family = Family("a_b_total", "counter", "", [({"task": "0"}, value)])
            data = metrics_of(points, [family], 200 + number)["a.b"].data
            assert isinstance(data, Sum)
            starts.append(data.data_points[0].start_time_unix_nano)
        return starts

    assert totals(1, 5, 5, 9) == [100] * 4
    # It was smaller, so it has begun after what was sent last.
    assert totals(5, 2, 3, 0) == [100, 200, 200, 202]


def test_a_series_that_comes_later_has_begun_after_the_last_push() -> None:
    points = Points(Resource({}), InstrumentationScope("connect"), 100)
    metrics_of(points, [], 200)
    registry = Registry()
    registry.histogram("a_b_seconds").observe(0.2)
    data = metrics_of(points, families(registry.snapshot(), {}), 300)["a.b.seconds"].data
    assert isinstance(data, Histogram)
    assert (data.data_points[0].start_time_unix_nano, data.data_points[0].count) == (200, 1)


def test_metrics_are_pushed_at_intervals_and_at_the_end(receiver: otlp.Receiver) -> None:
    registry = Registry()
    seen = registry.counter("lines_of_files_total", file="a")
    seen.add(2)
    sending = sender(receiver.url, api_key="s3cret")
    sending.send_metrics(lambda: families(registry.snapshot(), {}))
    until(lambda: receiver.pushes > 2)
    assert receiver.value("lines.of.files", file="a") == 2
    seen.add(1)
    sending.stop(5)
    assert receiver.value("lines.of.files", file="a") == 3
    assert receiver.headers["api_key"] == "s3cret"
    assert receiver.resource["service.version"] == "1.2.3"


def test_spans_arrive_whole_and_without_secrets(receiver: otlp.Receiver) -> None:
    redactor.remember(["hunter2-of-spans"])
    tracer, sending = Tracer(), sender(receiver.url)
    sending.send_spans(tracer)
    tracer.take(
        [
            Span("put", "client", *CONTEXT[:2], "00f067aa0ba902b8", 1, 2, {"n": 1, "x": 0.5, "b": True}, [CONTEXT[:2]]),
            Span("poll", "internal", *CONTEXT[:2], "", 1, 2, {"why": "hunter2-of-spans"}, [], "of hunter2-of-spans"),
        ]
    )
    sending.stop(5)
    put, poll = sorted(receiver.spans, key=lambda span: span.name, reverse=True)
    assert (put.trace_id.hex(), put.span_id.hex(), put.parent_span_id.hex()) == (*CONTEXT[:2], "00f067aa0ba902b8")
    assert otlp.about(put.attributes) == {"n": 1, "x": 0.5, "b": True}
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in put.links] == [CONTEXT[:2]]
    assert "hunter2" not in str(poll)
    assert poll.status.message == "of [hidden]"


def test_while_the_receiver_is_away_memory_is_bounded_and_it_is_said_once(
    receiver: otlp.Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    receiver.status = 400  # which is not tried again
    registry, tracer = Registry(), Tracer()
    registry.gauge("a_b_c").set(1)
    sending = sender(receiver.url)
    sending.send_metrics(lambda: families(registry.snapshot(), {}))
    sending.send_spans(tracer)
    receiver.answering.clear()
    span = Span("put", "client", *CONTEXT[:2], "", 1, 2, {}, [])
    tracer.take([span] * 20_000)
    receiver.answering.set()
    until(lambda: receiver.refused > 10)
    receiver.status = 200
    until(lambda: tracer.take([span]) or "takes everything again" in caplog.text, every=0.1)
    sending.stop(10)
    # pytest also hears loggers that a worker's log does not.
    said = [each for each in caplog.records if each.name == "connect.opentelemetry" and each.levelno >= logging.INFO]
    assert [record.levelname for record in said] == ["WARNING", "INFO"]
    assert "400" in said[0].getMessage()
    assert len(receiver.spans) <= 2_048 + 512, "the SDK's queue, and what was being sent"


def test_a_receiver_that_does_not_answer_is_left_when_it_is_time(receiver: otlp.Receiver) -> None:
    receiver.answering.clear()
    registry, tracer = Registry(), Tracer()
    registry.gauge("a_b_c").set(1)
    sending = sender(receiver.url)
    sending.send_metrics(lambda: families(registry.snapshot(), {}))
    sending.send_spans(tracer)
    until(receiver.asked.is_set)
    began = time.monotonic()
    sending.stop(0.2)
    assert time.monotonic() - began < 2
    receiver.answering.set()


def test_the_sampler_of_the_environment_decides(receiver: otlp.Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    tracer, sending = Tracer(), sender(receiver.url)
    sending.send_spans(tracer)
    with tracer.span("of nobody"), tracer.span("below"):
        pass
    with tracer.span("of a caller", "server", CONTEXT):
        pass
    with tracer.span("of a caller that records nothing", "server", CONTEXT._replace(sampled=False)):
        pass
    sending.stop(5)
    assert [span.name for span in receiver.spans] == ["of a caller"]


def test_what_the_environment_says_of_this_process_counts_before_ours(
    receiver: otlp.Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=one,team=seven")
    sending = sender(receiver.url)
    sending.send_metrics(lambda: [Family("a_b_c", "gauge", "", [({}, 1)])])
    sending.stop(5)
    about = {name: receiver.resource[name] for name in ("service.name", "service.instance.id", "team")}
    assert about == {"service.name": "kafka-connect", "service.instance.id": "one", "team": "seven"}


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc, y=d%20e")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=other")
    assert environment_secrets() == ["abc", "d%20e", "other"]
    assert not is_disabled()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE")
    assert is_disabled()


@pytest.mark.parametrize("written", ["often", "0", "-1", "nan", "inf"])
def test_an_interval_that_is_none_is_said(
    written: str, receiver: otlp.Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", written)
    sending = Sender(Receiver(receiver.url), {}, "1")
    sending.send_metrics(list)
    sending.stop(5)
    assert "is not a number of milliseconds" in caplog.text
