"""A standalone worker that sends its metrics and traces to a receiver of OTLP."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from confluent_kafka import Producer
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from connect.kafka.broker.embedded import Broker
from connect.telemetry.metrics import Kind
from connect.telemetry.otlp.names import attributes, named
from tests.integration.standalone.conftest import Standalone
from tests.servers.otlp import Receiver, about, otlp, prometheus_series
from tests.support.rest import ask
from tests.support.waiting import until
from tests.support.worker_process import WorkerProcess

CALLER = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
TOKEN = "otlp-t0ken-6f2a"
LINES = 200


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with otlp() as server:
        yield server


def settings(url: str, signals: str = "metrics,traces", **more: str) -> dict[str, str]:
    found = {"": signals, "endpoint": url, "interval.ms": "300", "batch.ratio": "1", **more}
    return {f"telemetry.opentelemetry{'.' if key else ''}{key}": value for key, value in found.items()}


def start(standalone: Standalone, topic: str, changes: dict[str, str]) -> tuple[WorkerProcess, int]:
    """A file source and a file sink, and the port of the worker's REST API."""
    standalone.worker(changes)
    (standalone.folder / "in.txt").write_text("".join(f"line {number}\n" for number in range(LINES)))
    running = standalone.start(standalone.source(topic), standalone.sink(topic, "sink"))
    running.until_logged("REST API at ")
    found = re.search(r"REST API at http://127\.0\.0\.1:(\d+)", running.log)
    assert found is not None
    return running, int(found[1])


def until_written(running: WorkerProcess, standalone: Standalone, lines: int = LINES) -> None:
    out = standalone.folder / "out.txt"
    running.until(lambda: out.exists() and len(out.read_text().splitlines()) == lines)


def page(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def test_what_arrives_is_what_the_page_for_prometheus_shows(
    standalone: Standalone, topic: str, receiver: Receiver
) -> None:
    running, port = start(standalone, topic, settings(receiver.url, "metrics"))
    until_written(running, standalone)
    task = {"connector": "sink", "task": "0"}
    running.until(lambda: receiver.value("kafka.connect.sink_task_metrics.sink_record_send", **task) == LINES)
    before, kinds = prometheus_series(page(port)), kinds_of(port)
    seen = receiver.pushes
    running.until(lambda: receiver.pushes > seen + 1)
    compared = 0
    for (name, labels), value in before.items():
        family = name if name in kinds else name.removesuffix("_count")
        kind = kinds.get(family)
        if kind not in ("counter", "histogram"):
            continue
        found = receiver.value(named(family, kind).name, **attributes(family, dict(labels)))
        assert found is not None, (name, labels)
        sent = found.count if kind == "histogram" else found
        assert value <= sent <= prometheus_series(page(port))[name, labels], (name, labels)
        compared += 1
    assert compared > 30
    # Nothing is missing, and nothing is there that the page does not have.
    with receiver.lock:
        names = {name for name, _ in receiver.points}
    measured = {name for (name, _), value in before.items() if value == value}
    assert names <= {named(name, kind).name for name, kind in kinds_of(port).items()}
    assert {named(name, kind).name for name, kind in kinds.items() if name in measured} <= names
    put = receiver.value("connect.sink.put", **task)
    assert put.count >= 1
    assert list(put.explicit_bounds)[:2] == [0.001, 0.0025]
    assert receiver.resource["service.name"] == "kafka-connect"
    assert receiver.resource["service.instance.id"].endswith(f":{port}")
    seen = receiver.pushes
    running.stop()
    assert receiver.pushes > seen, "what came last is pushed at the end"


def kinds_of(port: int) -> dict[str, Kind]:
    """The kind of each family of /metrics."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", page(port), re.MULTILINE))


def test_batches_are_traced_from_the_source_through_the_topic_to_their_commit(
    standalone: Standalone, topic: str, receiver: Receiver
) -> None:
    changes = settings(receiver.url, "traces", traceparent="true")
    running, _ = start(standalone, topic, changes)
    until_written(running, standalone)
    running.until(lambda: any("commit" in receiver.children(each) for each in receiver.named("sink batch")))
    running.until(lambda: any("commit" in receiver.children(each) for each in receiver.named("source batch")))
    assert running.stop() == 0
    sources, sinks = receiver.named("source batch"), receiver.named("sink batch")
    assert sum(about(each.attributes)["messaging.batch.message_count"] for each in sources) == LINES
    assert sum(about(each.attributes)["messaging.batch.message_count"] for each in sinks) == LINES
    for each in sources:
        steps = receiver.children(each)
        assert steps.keys() == {"poll", "convert", "send", "commit"}
        assert steps["send"][0].kind == Span.SPAN_KIND_PRODUCER
        in_order(each, steps["poll"][0], steps["convert"][0], steps["send"][0])
    for each in sinks:
        steps = receiver.children(each)
        assert steps.keys() == {"poll", "convert", "put", "flush", "commit"}
        in_order(each, steps["poll"][0], steps["convert"][0], steps["put"][0])
        in_order(None, steps["put"][0], steps["flush"][0], steps["commit"][0])
        assert about(each.attributes) == {
            "connector": "sink",
            "task": "0",
            "messaging.system": "kafka",
            "messaging.destination.name": topic,
            "messaging.batch.message_count": about(each.attributes)["messaging.batch.message_count"],
        }
    linked = {(link.trace_id, link.span_id) for each in receiver.named("put") for link in each.links}
    assert linked == {(each.trace_id, each.span_id) for each in sources}
    assert not [span for span in receiver.spans if span.status.code == Status.STATUS_CODE_ERROR]


def in_order(around: Span | None, *spans: Span) -> None:
    """Spans begin one after another, within another one. Their moments are of one clock, read one after another."""
    began = [span.start_time_unix_nano for span in spans]
    assert began == sorted(began)
    if around is not None:
        assert around.start_time_unix_nano <= began[0]
        assert max(span.end_time_unix_nano for span in spans) <= around.end_time_unix_nano


def test_a_put_links_to_the_contexts_that_records_bring(
    standalone: Standalone, topic: str, receiver: Receiver, broker: Broker
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    header = f"00-{CALLER[0]}-{CALLER[1]}-01".encode()
    for number, value in enumerate([header, None, b"of something else", header]):
        producer.produce(topic, f"{number}", headers=[] if value is None else [("traceparent", value)])
    assert producer.flush(30) == 0
    standalone.worker(settings(receiver.url, "traces"))
    running = standalone.start(standalone.sink(topic, "sink"))
    until_written(running, standalone, 4)
    running.until(lambda: receiver.named("put"))
    running.stop()
    linked = [(link.trace_id.hex(), link.span_id.hex()) for each in receiver.named("put") for link in each.links]
    assert set(linked) == {CALLER}


def test_a_request_continues_the_trace_of_its_caller_and_what_it_causes_is_below(
    standalone: Standalone, topic: str, receiver: Receiver
) -> None:
    running, port = start(standalone, topic, settings(receiver.url, "traces"))
    until_written(running, standalone)
    path = "/connectors/sink/tasks/0/restart"
    assert ask(port, "POST", path, headers={"traceparent": f"00-{CALLER[0]}-{CALLER[1]}-01"}).status == 204
    assert ask(port, "POST", "/connectors/nobody/restart", headers={"traceparent": "nonsense"}).status == 404
    running.until(lambda: len(receiver.named("task start")) >= 3)
    running.until(lambda: receiver.named("POST /connectors/{connector}/restart"))
    (request,) = receiver.named("POST /connectors/{connector}/tasks/{task}/restart")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == CALLER
    assert request.kind == Span.SPAN_KIND_SERVER
    attributes = about(request.attributes)
    assert attributes["url.path"] == path
    assert attributes["http.response.status_code"] == 204
    (operation,) = receiver.children(request)["restarting task"]
    assert about(operation.attributes) == {"connector": "sink", "task": "0"}
    below = receiver.children(operation)
    assert [len(below[name]) for name in ("task stop", "task start")] == [1, 1]
    (refused,) = receiver.named("POST /connectors/{connector}/restart")
    assert refused.parent_span_id == b""
    assert about(refused.attributes)["http.response.status_code"] == 404
    running.stop()
    assert {about(span.attributes).get("connector") for span in receiver.named("starting connector")} == {
        "source",
        "sink",
    }


def test_a_task_that_fails_ends_its_trace_with_the_kind_of_error(
    standalone: Standalone, topic: str, receiver: Receiver, broker: Broker
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"\xff no JSON")
    assert producer.flush(30) == 0
    standalone.worker(settings(receiver.url, "traces"))
    running = standalone.start(
        standalone.sink(topic, "sink", value_converter="org.apache.kafka.connect.json.JsonConverter")
    )
    running.until(lambda: receiver.named("sink batch"))
    running.stop()
    (batch,) = receiver.named("sink batch")
    assert batch.status.code == Status.STATUS_CODE_ERROR
    assert "no JSON" not in batch.status.message
    assert not receiver.named("put")


def test_a_receiver_that_is_away_costs_one_warning_and_nothing_else(standalone: Standalone, topic: str) -> None:
    with otlp() as gone:
        port = gone.port
    changes = {**settings(f"http://127.0.0.1:{port}"), "log.level": "INFO"}
    running, rest = start(standalone, topic, changes)
    until_written(running, standalone)
    running.until_logged("The receiver of OpenTelemetry does not take")
    warned = time.monotonic()
    running.until(lambda: time.monotonic() - warned > 3)  # some more pushes fail
    assert ask(rest, "GET", "/health/ready").status == 200
    with otlp(port) as back:
        running.until(lambda: back.pushes)
        running.until_logged("takes everything again")
        with (standalone.folder / "in.txt").open("a") as file:
            file.write("one more\n")
        running.until(lambda: len(back.named("sink batch")) >= 1)
        assert running.stop() == 0
    assert running.log.count("The receiver of OpenTelemetry") == 2
    assert running.log.count("WARN") == 1, running.log


@pytest.mark.promise("P11")
def test_a_receiver_that_never_answers_delays_no_stop(standalone: Standalone, topic: str) -> None:
    with otlp() as receiver:
        receiver.answering.clear()
        running, _ = start(standalone, topic, settings(receiver.url))
        until_written(running, standalone)
        until(receiver.asked.is_set)
        began = time.monotonic()
        try:
            assert running.stop() == 0
            # task.shutdown.graceful.timeout.ms is 5 s, and 2 s are for what is left.
            assert time.monotonic() - began < 12
        finally:
            receiver.answering.set()


@pytest.mark.promise("P8")
def test_headers_reach_the_receiver_and_nobody_else(standalone: Standalone, topic: str, receiver: Receiver) -> None:
    changes = {**settings(receiver.url, headers=f"x-api-key={TOKEN}"), "log.level": "DEBUG"}
    running, port = start(standalone, topic, changes)
    until_written(running, standalone)
    running.until(lambda: receiver.pushes and receiver.spans)
    assert receiver.headers["x-api-key"] == TOKEN
    receiver.status = 401
    running.until_logged("does not take")
    shown = [page(port), running.log, str(ask(port, "GET", "/connectors?expand=info&expand=status&expand=metrics"))]
    assert not [text for text in shown if TOKEN in text]
    receiver.status = 200
    running.stop()
    assert TOKEN not in running.log
    with receiver.lock:
        assert not [span for span in receiver.spans if TOKEN in str(span)]


def test_environment_variables_are_heard_as_the_sdk_does(
    standalone: Standalone, topic: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-api-key={TOKEN}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_METRIC_EXPORT_INTERVAL": "250",
        "OTEL_SERVICE_NAME": "orders-connect",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.instance.id=one",
        "OTEL_TRACES_SAMPLER": "always_off",
    }.items():
        monkeypatch.setenv(name, value)
    running, port = start(
        standalone, topic, {"telemetry.opentelemetry": "metrics,traces", "telemetry.opentelemetry.batch.ratio": "1"}
    )
    until_written(running, standalone)
    running.until(lambda: receiver.pushes > 2 and receiver.named("sink batch"))
    assert ask(port, "GET", "/connectors").status == 200
    running.stop()
    assert receiver.headers["x-api-key"] == TOKEN
    assert receiver.headers["content-encoding"] == "gzip"
    assert receiver.resource["service.name"] == "orders-connect"
    assert receiver.resource["deployment.environment.name"] == "test"
    assert receiver.resource["service.instance.id"] == "one"
    assert not [span for span in receiver.spans if span.kind == Span.SPAN_KIND_SERVER]
    assert TOKEN not in running.log


def test_a_disabled_sdk_sends_nothing(
    standalone: Standalone, topic: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    running, _ = start(standalone, topic, settings(receiver.url))
    until_written(running, standalone)
    running.stop()
    assert receiver.headers == {}
