"""The keys of a worker's metrics: Kafka Connect's, and those for Prometheus and for lag."""

from __future__ import annotations

import re
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from connect.settings.options import Options
from connect.settings.setting import Boolean, Int, List, Long, Password, Secret, String, seconds
from connect.settings.validators import at_least, one_of

#: The only reporter of Kafka's that is meant by default. There is no JMX here; /metrics has all that it shows.
JMX_REPORTER: Final = "org.apache.kafka.common.metrics.JmxReporter"


def _interval(name: str, value: Any) -> None:
    if value != 0 and value < 100:
        raise ValueError(f"{value} is too often. Write 100 milliseconds or more, or 0 to switch it off.")


def _names(word: str) -> Literal["jmx", "short"]:
    return "short" if word == "short" else "jmx"


#: A label and its value, as Prometheus names labels. Those that begin with two underscores are its own.
_LABEL: Final = re.compile(r"(?!__)([a-zA-Z_][a-zA-Z0-9_]*)=(.+)", re.DOTALL)
#: What the queries say themselves.
_OURS: Final = frozenset({"connector", "task", "state", "le"})


def _server(name: str, value: str) -> None:
    # The value may hold a login, so no message shows it.
    try:
        url = urlsplit(value)
        known = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        known = False
    if not known or re.search(r"[\x00-\x20\x7f]", value):
        raise ValueError("is not the address of a server. Write http://host:9090, or https://host/path.")
    if "@" in url.netloc:
        raise ValueError("has a login in it. Write that as metrics.prometheus.basic.auth.user.info.")
    if url.query or url.fragment:
        raise ValueError("has something after ? or #. Write only scheme, host, port and path.")


def _user_info(name: str, value: Secret) -> None:
    if ":" not in value.reveal():
        raise ValueError("is not of the form <user>:<password>.")


def _labels(written: list[str]) -> dict[str, str]:
    found = {}
    for item in written:
        match = _LABEL.fullmatch(item)
        if match is None:
            raise ValueError(f'"{item}" is not of the form label=value. Write job=connect, for example.')
        if match[1] in _OURS:
            raise ValueError(f'"{match[1]}" is a label that the charts themselves select by. Take it out.')
        found[match[1]] = match[2]
    return found


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


class PrometheusOptions(Options):
    """The Prometheus that scrapes the workers, for charts of more than the last hour."""

    url = String(
        "metrics.prometheus.url",
        default=None,
        importance="LOW",
        validator=_server,
        doc="The Prometheus that scrapes the workers of this pool, such as http://prometheus:9090, or another server "
        "with its HTTP API. The operations page then has charts of up to a month. Only here, not in Kafka.",
    )
    labels = List(
        "metrics.prometheus.labels",
        default=[],
        importance="LOW",
        convert=_labels,
        doc="Labels that all workers of this pool have there, such as job=connect-orders. Needed where several pools "
        "have connectors of the same name. Only here, not in Kafka.",
    )
    bearer_token = Password(
        "metrics.prometheus.bearer.auth.token",
        default=None,
        importance="LOW",
        convert=Secret.reveal,
        doc="A token, where it wants one. Only here, not in Kafka.",
    )
    user_info = Password(
        "metrics.prometheus.basic.auth.user.info",
        default=None,
        importance="LOW",
        validator=_user_info,
        convert=Secret.reveal,
        doc="<user>:<password>, where it wants these. Only here, not in Kafka.",
    )
