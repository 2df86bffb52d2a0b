"""Sends metrics and spans to a receiver of OTLP over HTTP. What cannot be sent while it is away is lost, nothing else.

What is not given here is said by OpenTelemetry's environment variables (OTEL_EXPORTER_OTLP_*, OTEL_RESOURCE_ATTRIBUTES,
OTEL_SERVICE_NAME, OTEL_BSP_*, OTEL_METRIC_EXPORT_INTERVAL, OTEL_TRACES_SAMPLER, OTEL_SDK_DISABLED).

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, Self

from connect.telemetry.exposition import Family
from connect.telemetry.spans import Span, Tracer

log = logging.getLogger("connect.opentelemetry")

_INTERVAL_MS: Final = 60_000
_SERVICE: Final = "kafka-connect"
#: Characters of a reason.
_MOST_WORDS: Final = 400


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where everything is sent.

    Attributes:
        endpoint: its URL, to which /v1/metrics and /v1/traces are added; None for what the environment says.
        headers: beside those that the environment says.
    """

    endpoint: str | None = None
    headers: Mapping[str, str] | None = field(default=None, repr=False)

    def options(self, signal: str) -> dict[str, Any]:
        """For the exporter of this signal."""
        url = None if self.endpoint is None else f"{self.endpoint.rstrip('/')}/v1/{signal}"
        return {"endpoint": url, "headers": dict(self.headers or {})}


def is_installed() -> bool:
    """Whether the extra `opentelemetry` is."""
    with suppress(ModuleNotFoundError):
        return all(map(find_spec, ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")))
    return False


def is_disabled() -> bool:
    """Whether the environment switches everything off."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def environment_secrets() -> list[str]:
    """Values of headers that the environment says: they are not to be shown."""
    names = [f"OTEL_EXPORTER_OTLP_{signal}HEADERS" for signal in ("", "METRICS_", "TRACES_")]
    written = ",".join(os.environ.get(name, "") for name in names)
    return [value.strip() for item in written.split(",") if (value := item.partition("=")[2].strip())]


class Sender:
    """Sends the metrics and spans of this process until it is stopped.

    Args:
        receiver: see there.
        about: attributes of this process. The environment may change and add some.
        version: of what measures.
        interval: seconds between two pushes of metrics; None for what the environment says.
    """

    def __init__(
        self, receiver: Receiver, about: Mapping[str, str], version: str, interval: float | None = None
    ) -> None:
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        self._receiver = receiver
        self._interval = interval
        said = OTELResourceDetector().detect().attributes
        self._resource = Resource.create({"service.name": _SERVICE, "service.version": version, **about, **said})
        self._scope = InstrumentationScope("connect", version)
        self._began = time.time_ns()
        self._stopping, self._over = threading.Event(), threading.Event()
        self._delivery = _Delivery(self._over)
        self._sending: list[tuple[threading.Thread, Callable[[], None]]] = []
        _Reasons.listen()

    def send_metrics(self, families: Callable[[], Iterable[Family]]) -> None:
        """Push these, read anew each time, at intervals and at the end."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import MetricExportResult

        from connect.telemetry.otlp.points import Points

        exporter = OTLPMetricExporter(**self._receiver.options("metrics"))
        points = Points(self._resource, self._scope, self._began)
        interval = _interval() if self._interval is None else self._interval

        def push() -> None:
            try:
                data = points.of(families(), time.time_ns())
            except Exception:
                log.exception("The metrics could not be read.")
                return
            self._delivery.send("metrics", lambda: exporter.export(data) is MetricExportResult.SUCCESS)

        def run() -> None:
            while not self._stopping.wait(interval):
                push()
            push()
            exporter.shutdown()

        self._start(run, "otlp metrics", exporter.shutdown)

    def send_spans(self, tracer: Tracer) -> None:
        """Send what this tracer measures, which is on from now on."""
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from connect.telemetry.otlp.spans import Converting, Pending, samples

        exporter = OTLPSpanExporter(**self._receiver.options("traces"))
        sent = partial(self._delivery.send, "traces")
        queue = BatchSpanProcessor(Converting(exporter, self._resource, self._scope, sent))

        def take(span: Span) -> None:
            queue.on_end(Pending(span))

        def run() -> None:
            self._stopping.wait()
            tracer.stop()
            queue.shutdown()  # type: ignore[no-untyped-call]  # sends what is left

        tracer.start(take, samples(self._resource))
        self._start(run, "otlp traces", exporter.shutdown)

    def stop(self, within: float) -> None:
        """Send what is left, within this many seconds, and end."""
        deadline = time.monotonic() + within
        self._stopping.set()
        for thread, _ in self._sending:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._over.set()
        for thread, give_up in self._sending:
            if thread.is_alive():  # what still waits for the receiver waits no longer
                give_up()

    def _start(self, run: Callable[[], None], name: str, give_up: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self._sending.append((thread, give_up))


class _Delivery:
    """Says once that a receiver does not take what is sent, and once that it does again.

    Args:
        over: set when what fails from now on was cut off by us.
    """

    def __init__(self, over: threading.Event) -> None:
        self._over = over
        self._lock = threading.Lock()
        self._failing: set[str] = set()

    def send(self, signal: str, send: Callable[[], bool]) -> None:
        """Send metrics or traces by this function, which says whether that went well."""
        with _Reasons() as reasons:
            sent = send()
        if self._over.is_set():
            return
        with self._lock:
            failed_before = bool(self._failing)
            self._failing = self._failing - {signal} if sent else self._failing | {signal}
            fails = bool(self._failing)
        if fails and not failed_before:
            reason = reasons.last[:_MOST_WORDS].rstrip(".") or "no reason is known"
            log.warning(
                "The receiver of OpenTelemetry does not take %s: %s. They are dropped until it does; records are not"
                " affected. This is said once.",
                signal,
                reason,
            )
        elif failed_before and not fails:
            log.info("The receiver of OpenTelemetry takes everything again.")


class _Reasons(logging.Handler):
    """What the SDK logs while it sends is the reason of a failure; each attempt would say it again."""

    _here: Final = threading.local()

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    @classmethod
    def listen(cls) -> None:
        """From now on, for all of this process."""
        logger = logging.getLogger("opentelemetry")
        if not any(isinstance(each, cls) for each in logger.handlers):
            logger.addHandler(cls())
        logger.propagate = False

    def __enter__(self) -> Self:
        self._here.reasons = self
        return self

    def __exit__(self, *_: object) -> None:
        self._here.reasons = None

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the SDK's."""
        words = record.getMessage()
        sending: _Reasons | None = getattr(self._here, "reasons", None)
        if sending is not None:
            if words.startswith("Transient error ") and isinstance(record.args, tuple):
                sending.last = str(record.args[0])
            elif not (sending.last and "max retries" in words):  # which says less than what came before
                sending.last = words
            log.debug("%s", words)
        elif record.name.startswith("opentelemetry.sdk._shared_internal") or "shutdown" in words:
            log.debug("%s", words)  # its queue is full; or somebody was in time to end what was about to end
        else:
            log.log(record.levelno, "%s", words)


def _interval() -> float:
    """Seconds between two pushes of metrics, as the environment says."""
    written = os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip()
    try:
        milliseconds = float(written or _INTERVAL_MS)
    except ValueError:
        milliseconds = 0
    if not 0 < milliseconds < 1e12:
        log.warning('OTEL_METRIC_EXPORT_INTERVAL="%s" is not a number of milliseconds: it is 60000.', written)
        milliseconds = _INTERVAL_MS
    return milliseconds / 1000
