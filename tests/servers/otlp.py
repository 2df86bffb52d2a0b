"""A receiver of OTLP over HTTP: takes what a collector takes, decodes it, and keeps it for a test.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE, HistogramDataPoint, Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_TYPE: Final = "application/x-protobuf"
_INFLATE: Final = {"": lambda data: data, "gzip": gzip.decompress, "deflate": zlib.decompress}


@dataclass(frozen=True)
class Point:
    """A point of a series. `value` of a histogram is its message."""

    kind: str
    unit: str
    value: Any
    start: int
    at: int


Series = tuple[str, tuple[tuple[str, Any], ...]]


class Receiver(ThreadingHTTPServer):
    """Keeps what arrives, and answers as the test wants.

    Attributes:
        points: the last one of each series, by the metric's name and its attributes, sorted.
        pushes: how many requests with metrics were taken.
        spans: all of them, in the order of arrival.
        resource: attributes of the last one's process.
        headers: of the last request, by their names in lower case.
        status: the answer to every request.
        answering: while it is not set, requests are read and not answered; `asked` says that there was one.
        refused: how many requests were answered with another one than 200.
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.points: dict[Series, Point] = {}
        self.pushes = 0
        self.spans: list[Span] = []
        self.resource: dict[str, Any] = {}
        self.headers: dict[str, str] = {}
        self.status = 200
        self.asked, self.answering = Event(), Event()
        self.answering.set()
        self.refused = 0
        self.errors: list[str] = []
        self.lock = Lock()

    @property
    def port(self) -> int:
        port: int = self.server_address[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def value(self, name: str, **attributes: Any) -> Any:
        """The last value of the series with at least these attributes; None where there is none."""
        with self.lock:
            found = [
                point.value
                for (each, about), point in self.points.items()
                if each == name and attributes.items() <= dict(about).items()
            ]
        assert len(found) < 2, f"{len(found)} series of {name} with {attributes}"
        return found[0] if found else None

    def named(self, name: str) -> list[Span]:
        """The spans of this name."""
        with self.lock:
            return [span for span in self.spans if span.name == name]

    def children(self, of: Span) -> dict[str, list[Span]]:
        """The spans below one, by their names."""
        found = defaultdict(list)
        with self.lock:
            for span in self.spans:
                if (span.trace_id, span.parent_span_id) == (of.trace_id, of.span_id):
                    found[span.name].append(span)
        return dict(found)

    def take_metrics(self, data: bytes) -> bytes:
        with self.lock:
            for resource in ExportMetricsServiceRequest.FromString(data).resource_metrics:
                self.resource = about(resource.resource.attributes)
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        self._take(metric)
            self.pushes += 1
        return ExportMetricsServiceResponse().SerializeToString()

    def _take(self, metric: Metric) -> None:
        kind = metric.WhichOneof("data")
        assert kind in ("gauge", "sum", "histogram"), f"{metric.name} is a {kind}"
        held = getattr(metric, kind)
        if kind == "sum":
            assert held.is_monotonic, metric.name
        if kind != "gauge":
            assert held.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE, metric.name
        for point in held.data_points:
            is_histogram = isinstance(point, HistogramDataPoint)
            if is_histogram:
                assert len(point.bucket_counts) == len(point.explicit_bounds) + 1, metric.name
                assert sum(point.bucket_counts) == point.count, metric.name
            value = point if is_histogram else getattr(point, point.WhichOneof("value"))
            series = metric.name, tuple(sorted(about(point.attributes).items()))
            assert kind == "gauge" or 0 < point.start_time_unix_nano <= point.time_unix_nano, series
            self.points[series] = Point(kind, metric.unit, value, point.start_time_unix_nano, point.time_unix_nano)

    def take_spans(self, data: bytes) -> bytes:
        with self.lock:
            for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                self.resource = about(resource.resource.attributes)
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        assert len(span.trace_id) == 16, span
                        assert len(span.span_id) == 8, span
                        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                        self.spans.append(span)
        return ExportTraceServiceResponse().SerializeToString()


def about(attributes: Any) -> dict[str, Any]:
    """Attributes as a dict."""
    found: dict[str, Any] = {}
    each: KeyValue
    for each in attributes:
        assert each.key not in found, f"{each.key} twice"
        found[each.key] = _value(each.value)
    return found


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    assert kind in ("string_value", "int_value", "double_value", "bool_value"), kind
    return getattr(value, kind)


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.set()
        self.server.answering.wait(60)
        status, answer = self._answer(body)
        if status != 200:
            self.server.refused += 1
        self.send_response(status)
        self.send_header("Content-Type", _TYPE)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _answer(self, body: bytes) -> tuple[int, bytes]:
        takes = {"/v1/metrics": self.server.take_metrics, "/v1/traces": self.server.take_spans}.get(self.path)
        if self.server.status != 200:
            return self.server.status, b""
        if takes is None:
            return 404, b""
        if self.headers["Content-Type"] != _TYPE:
            return 415, b""
        try:
            return 200, takes(_INFLATE[self.headers.get("Content-Encoding", "")](body))
        except (DecodeError, KeyError, AssertionError) as error:
            self.server.errors.append(f"{self.path}: {error}")
            return 400, b""

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def otlp(port: int = 0, **options: Any) -> Iterator[Receiver]:
    """The receiver, as long as it is wanted. It must have understood everything."""
    with Receiver(port) as server:
        for name, value in options.items():
            setattr(server, name, value)
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
        assert server.errors == []


def prometheus_series(page: str) -> Mapping[Series, float]:
    """The series of a page of /metrics, by name and labels, sorted."""
    from prometheus_client.parser import text_string_to_metric_families

    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
