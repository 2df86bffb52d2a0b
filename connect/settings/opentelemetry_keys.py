"""The keys of OpenTelemetry: what a worker sends over OTLP, where, and how often.

What has no key here is said by OpenTelemetry's own environment variables.
https://opentelemetry.io/docs/specs/otel/protocol/exporter/
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from connect.settings.options import Options
from connect.settings.setting import Boolean, Double, List, Long, Password, Secret, String, seconds
from connect.settings.validators import at_least, between

METRICS: Final = "metrics"
TRACES: Final = "traces"
#: The key that switches all of it on.
SIGNALS: Final = "telemetry.opentelemetry"

#: A name of HTTP, and what may stand behind it. https://www.rfc-editor.org/rfc/rfc9110#name-field-names
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\x20-\x7e]*")


def _signals(name: str, value: list[str]) -> None:
    for each in value:
        if each not in (METRICS, TRACES):
            raise ValueError(f'"{each}" is not one of {METRICS} and {TRACES}.')


def _server(name: str, value: str) -> None:
    # The value may hold a login, so no message shows it.
    try:
        url = urlsplit(value)
        known = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        known = False
    if not known or re.search(r"[\x00-\x20\x7f]", value):
        raise ValueError("is not the address of a server. Write http://host:4318, or https://host/path.")
    if "@" in url.netloc:
        raise ValueError(f"has a login in it. Write that as a header, in {SIGNALS}.headers.")
    if url.query or url.fragment:
        raise ValueError("has something after ? or #. Write only scheme, host, port and path.")


def _headers(written: Secret) -> dict[str, str]:
    """As in OTEL_EXPORTER_OTLP_HEADERS: name=value, separated by commas, values percent-encoded where they need it."""
    found = {}
    for item in filter(None, (each.strip() for each in written.reveal().split(","))):
        name, equals, value = item.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not equals or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError("is not of the form name=value,name=value. Write a comma within a value as %2C.")
        found[name] = value
    return found


class OpenTelemetryOptions(Options):
    """What a worker sends over OTLP. Times are in seconds."""

    signals = List(
        SIGNALS,
        default=[],
        importance="LOW",
        validator=_signals,
        convert=frozenset,
        doc="What the worker sends to a receiver of OTLP over HTTP: metrics, traces, or both. Empty sends nothing. "
        "Needs the extra opentelemetry. Only here, not in Kafka.",
    )
    endpoint = String(
        f"{SIGNALS}.endpoint",
        default=None,
        importance="LOW",
        validator=_server,
        doc="The receiver, such as http://collector:4318; /v1/metrics and /v1/traces are added. By default what "
        "OTEL_EXPORTER_OTLP_ENDPOINT says, then http://localhost:4318. Only here, not in Kafka.",
    )
    headers = Password(
        f"{SIGNALS}.headers",
        default=None,
        importance="LOW",
        convert=_headers,
        doc="Headers for the receiver, with a login perhaps: name=value, separated by commas; beside those of "
        "OTEL_EXPORTER_OTLP_HEADERS. Only here, not in Kafka.",
    )
    interval = Long(
        f"{SIGNALS}.interval.ms",
        default=None,
        importance="LOW",
        validator=at_least(100),
        convert=seconds,
        doc="Milliseconds between two pushes of all metrics. By default what OTEL_METRIC_EXPORT_INTERVAL says, then "
        "60000. Only here, not in Kafka.",
    )
    batches = Double(
        f"{SIGNALS}.batch.ratio",
        default=0.01,
        importance="LOW",
        validator=between(0, 1),
        doc="The share of batches of tasks that are traced, from 0 to 1. With 0 commits are not traced either; else "
        "all are. Requests, rebalances and starts are traced by OTEL_TRACES_SAMPLER. Only here, not in Kafka.",
    )
    writes_traceparent = Boolean(
        f"{SIGNALS}.traceparent",
        default=False,
        importance="LOW",
        doc="Whether records of a source's traced batches get a header traceparent, unless they have one. Only here, "
        "not in Kafka.",
    )

    @property
    def metrics(self) -> bool:
        """Whether metrics are sent."""
        return METRICS in self.signals

    @property
    def traces(self) -> bool:
        """Whether traces are sent."""
        return TRACES in self.signals
