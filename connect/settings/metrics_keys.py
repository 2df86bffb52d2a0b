"""The keys of a worker's metrics: Kafka Connect's, and those for Prometheus and for lag."""

from __future__ import annotations

from typing import Any, Final, Literal

from connect.settings.options import Options
from connect.settings.setting import Boolean, Int, List, Long, String, seconds
from connect.settings.validators import at_least, one_of

#: The only reporter of Kafka's that is meant by default. There is no JMX here; /metrics has all that it shows.
JMX_REPORTER: Final = "org.apache.kafka.common.metrics.JmxReporter"


def _interval(name: str, value: Any) -> None:
    if value != 0 and value < 100:
        raise ValueError(f"{value} is too often. Write 100 milliseconds or more, or 0 to switch it off.")


def _names(word: str) -> Literal["jmx", "short"]:
    return "short" if word == "short" else "jmx"


class MetricsOptions(Options):
    """What a worker measures, and where it shows that. Times are in seconds."""

    reporters = List(
        "metric.reporters",
        default=[JMX_REPORTER],
        importance="LOW",
        doc="Classes that report a Java worker's metrics. They do not run here, and a warning says so; GET /metrics "
        "has everything that they would report.",
    )
    samples = Int(
        "metrics.num.samples",
        default=2,
        importance="LOW",
        validator=at_least(1),
        doc="The number of samples for rates, averages and extremes.",
    )
    sample_window = Long(
        "metrics.sample.window.ms",
        default=30_000,
        importance="LOW",
        validator=at_least(0),
        convert=seconds,
        doc="Milliseconds that one of these samples covers.",
    )
    recording_level = String(
        "metrics.recording.level",
        default="INFO",
        importance="LOW",
        validator=one_of("INFO", "DEBUG"),
        doc="How much a Java worker measures. Without effect: this worker always measures everything.",
    )
    prometheus = Boolean(
        "metrics.prometheus.enable",
        default=True,
        importance="LOW",
        doc="Whether GET /metrics answers, on all listeners. Only here, not in Kafka.",
    )
    prometheus_names = String(
        "metrics.prometheus.names",
        default="jmx",
        importance="LOW",
        validator=one_of("jmx", "short"),
        convert=_names,
        doc="The form of JMX's names there. jmx: as Prometheus's JMX exporter writes them by default, and Confluent's "
        "dashboards expect (kafka_connect_source_task_metrics_source_record_poll_total). short: as by that exporter's "
        "example for Kafka Connect, which Strimzi's expect (kafka_connect_source_task_source_record_poll_total). Only "
        "here, not in Kafka.",
    )
    lag_interval = Long(
        "metrics.lag.interval.ms",
        default=30_000,
        importance="LOW",
        validator=_interval,
        convert=seconds,
        doc="Milliseconds between two looks at the lag of the sinks whose connectors run on this worker; 0 to look "
        "only on request. Only here, not in Kafka.",
    )
    lag_samples = Int(
        "metrics.lag.samples",
        default=10,
        importance="LOW",
        validator=at_least(3),
        doc="The number of looks that decide the status of a partition: OK, WARN or STALLED. Only here, not in Kafka.",
    )
