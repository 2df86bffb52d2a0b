"""What a worker sends over OTLP: the metrics of /metrics, and the spans of itself and of its tasks."""

from __future__ import annotations

from connect import __version__
from connect.herder.rebalance_history import Rebalance
from connect.herder.worker import Worker
from connect.herder.worker_metrics import WorkerMetrics
from connect.settings.opentelemetry_keys import OpenTelemetryOptions
from connect.telemetry.redaction import redactor
from connect.telemetry.spans import Tracer

#: Seconds for sending what is left when a worker stops.
_LAST_S = 2.0


class NoOpenTelemetry:
    """Sends nothing."""

    def start(self) -> None:
        """Begin to send. Call it when the worker has begun."""

    def stop(self, within: float) -> None:
        """Send what is left, within this many seconds."""


class OpenTelemetry(NoOpenTelemetry):
    """Sends what telemetry.opentelemetry says.

    Args:
        worker: whose tracer is switched on.
        metrics: what is pushed, the same as GET /metrics shows.
        options: see there.
    """

    def __init__(self, worker: Worker, metrics: WorkerMetrics, options: OpenTelemetryOptions) -> None:
        from connect.telemetry.otlp import Receiver, Sender, environment_secrets

        redactor.remember([*(options.headers or {}).values(), *environment_secrets()])
        about = {"service.instance.id": worker.id}
        if group := worker.raw.get("group.id"):
            about["service.namespace"] = group
        self._sender = Sender(Receiver(options.endpoint, options.headers), about, __version__, options.interval)
        self._options = options
        self._metrics = metrics
        self._tracer = worker.measures.tracer
        if options.traces:  # what happens while the worker starts is traced too
            self._sender.send_spans(self._tracer)

    def start(self) -> None:
        if self._options.metrics:
            self._sender.send_metrics(self._metrics.families)

    def stop(self, within: float) -> None:
        self._sender.stop(min(within, _LAST_S))


def opentelemetry(worker: Worker, metrics: WorkerMetrics) -> NoOpenTelemetry:
    """By the worker's configuration."""
    options = OpenTelemetryOptions.parse(worker.config)
    if not options.signals:
        return NoOpenTelemetry()
    from connect.telemetry.otlp import is_disabled

    return NoOpenTelemetry() if is_disabled() else OpenTelemetry(worker, metrics, options)


def trace_rebalance(tracer: Tracer, rebalance: Rebalance) -> None:
    """A rebalance has ended."""
    about: dict[str, str | int] = {
        "connect.rebalance.cause": rebalance.cause,
        "connect.rebalance.reason": rebalance.reason,
        "connect.rebalance.generation": rebalance.generation,
        "connect.rebalance.leader": rebalance.leader,
        "connect.rebalance.assigned": rebalance.assigned.connectors + rebalance.assigned.tasks,
        "connect.rebalance.revoked": rebalance.revoked.connectors + rebalance.revoked.tasks,
    }
    tracer.record("rebalance", rebalance.began * 1_000_000, rebalance.ended * 1_000_000, about)
