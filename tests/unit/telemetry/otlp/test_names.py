"""Names of metrics for OpenTelemetry, and what Prometheus makes of them when it receives them."""

from __future__ import annotations

import pytest

from connect.telemetry.catalogue import KAFKA, OURS
from connect.telemetry.metrics import Kind
from connect.telemetry.otlp.names import attributes, named
from tests.support.monitoring import EXPRESSIONS

#: Where the conventions of OpenTelemetry have another name, or Prometheus another unit.
DIFFERENT = {"connect_rest_request_seconds"}


def on_the_page() -> dict[str, Kind]:
    """All names of /metrics, in both forms of Kafka Connect's."""
    found: dict[str, Kind] = {one.name: one.kind for one in OURS}
    for metric in KAFKA:
        for name in (metric.prometheus("jmx"), metric.prometheus("short")):
            found[name] = "counter" if metric.kind == "counter" else "gauge"
    return found


def in_prometheus(name: str, unit: str, kind: Kind) -> str:
    """The name that Prometheus's OTLP receiver gives, by its default rules.

    https://prometheus.io/docs/guides/opentelemetry/ and the rules of OpenTelemetry's compatibility specification: what
    is no letter, digit or colon becomes an underscore, the unit is added unless it is in the name, and _total to
    monotonic sums.
    """
    spelled = {"s": "seconds", "By": "bytes", "ms": "milliseconds", "1": "ratio"}.get(unit, "")
    made = name.replace(".", "_")
    if spelled and spelled not in made.split("_"):
        made = f"{made}_{spelled}"
    return f"{made}_total" if kind == "counter" and not made.endswith("_total") else made


@pytest.mark.parametrize(("name", "kind"), on_the_page().items())
def test_prometheus_makes_the_name_of_the_page_of_it(name: str, kind: Kind) -> None:
    made = named(name, kind)
    expected = name.removesuffix("_ms") + "_milliseconds" if name.endswith("_ms") else name
    if name not in DIFFERENT:
        assert in_prometheus(*made, kind) == expected
    assert made.unit in {"", "s", "By", "ms", "{record}"}
    assert "." in made.name


def test_two_metrics_never_have_one_name() -> None:
    for naming in ("jmx", "short"):
        names = [one.name for one in OURS] + [
            metric.prometheus(naming)  # type: ignore[arg-type]
            for metric in KAFKA
        ]
        kinds = on_the_page()
        assert len({named(name, kinds[name]).name for name in names}) == len(set(names))


def test_alerts_and_dashboard_ask_for_nothing_that_has_another_name_there() -> None:
    """But for the durations of REST requests."""
    renamed = [name for name in on_the_page() if name.endswith("_ms")]
    asked = [title for title, expression in EXPRESSIONS.items() for name in renamed if name in expression]
    assert asked == []


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("connect_sink_put_seconds", "histogram", ("connect.sink.put", "s")),
        ("connect_task_cpu_seconds_total", "counter", ("connect.task.cpu", "s")),
        ("connect_task_pss_bytes", "gauge", ("connect.task.pss", "By")),
        ("connect_source_bytes_total", "counter", ("connect.source.bytes", "By")),
        ("connect_task_batch_records", "histogram", ("connect.task.batch_records", "{record}")),
        ("connect_task_state", "gauge", ("connect.task.state", "")),
        (
            "kafka_connect_sink_task_metrics_sink_record_send_total",
            "counter",
            ("kafka.connect.sink_task_metrics.sink_record_send", ""),
        ),
        (
            "kafka_connect_sink_task_put_batch_avg_time_ms",
            "gauge",
            ("kafka.connect.sink_task.put_batch_avg_time", "ms"),
        ),
        ("connect_rest_request_seconds", "histogram", ("http.server.request.duration", "s")),
        ("lines_of_a_plug_in_total", "counter", ("lines.of.a_plug_in", "")),
        ("seconds", "gauge", ("seconds", "")),
    ],
)
def test_names_and_units(name: str, kind: Kind, expected: tuple[str, str]) -> None:
    assert named(name, kind) == expected


def test_requests_have_the_attributes_of_the_conventions() -> None:
    labels = {"method": "GET", "route": "/connectors", "status": "200"}
    assert attributes("connect_rest_request_seconds", labels) == {
        "http.request.method": "GET",
        "http.route": "/connectors",
        "http.response.status_code": 200,
    }
    assert attributes("connect_sink_put_seconds", {"connector": "orders", "task": "0"}) == {
        "connector": "orders",
        "task": "0",
    }
