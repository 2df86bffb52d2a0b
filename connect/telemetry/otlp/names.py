"""OpenTelemetry's names for the metrics of /metrics: dots between namespaces, and the unit beside the name.

A Prometheus that receives them over OTLP makes the names of /metrics of them again, except for milliseconds and for
REST requests: alerts and dashboards for the one are right for the other.

https://opentelemetry.io/docs/specs/semconv/general/naming/ and
https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from connect.telemetry.catalogue import KAFKA, prometheus_name
from connect.telemetry.metrics import Kind

#: What a name ends in, and the unit that it means, by UCUM.
_UNITS: Final = {"_seconds": "s", "_bytes": "By", "_ms": "ms"}
#: A name has so many parts at least when its unit is taken off.
_LEAST: Final = 3
_REQUESTS: Final = "connect_rest_request_seconds"
#: The attributes of OpenTelemetry's conventions for servers of HTTP, by our labels.
_OF_REQUESTS: Final = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
}


class Named(NamedTuple):
    """A metric's name and unit there. The unit is empty where there is none that a name could mean."""

    name: str
    unit: str


@cache
def named(name: str, kind: Kind) -> Named:
    """The name there of a metric with this name on the page for Prometheus."""
    if name == _REQUESTS:
        return Named("http.server.request.duration", "s")
    spoken = name.removesuffix("_total") if kind == "counter" else name
    unit = ""
    if spoken.count("_") >= _LEAST - 1 and spoken.endswith("_records"):
        unit = "{record}"
    for ending, meant in _UNITS.items():
        if spoken.endswith(ending):
            unit = meant
            if spoken.count("_") >= _LEAST:
                spoken = spoken.removesuffix(ending)
    return Named(_with_dots(name, spoken), unit)


def attributes(name: str, labels: Mapping[str, str]) -> dict[str, str | int]:
    """The attributes there of a series with these labels."""
    if name != _REQUESTS:
        return dict(labels)
    found: dict[str, str | int] = {_OF_REQUESTS.get(label, label): value for label, value in labels.items()}
    status = labels.get("status", "")
    return found | ({"http.response.status_code": int(status)} if status.isdecimal() else {})


def _with_dots(name: str, spoken: str) -> str:
    """Namespaces end in dots: kafka.connect.<group>.<figure>, and the first two words of all others."""
    group = _groups().get(name)
    if group is not None:
        return f"kafka.connect.{group}.{spoken.removeprefix(f'kafka_connect_{group}_')}"
    return ".".join(spoken.split("_", 2))


@cache
def _groups() -> Mapping[str, str]:
    """For each name of Kafka Connect's on the page, in either form, the group that is in it."""
    found = {}
    for metric in KAFKA:
        group, figure = metric.group.partition(",")[0], metric.name.replace("-", "_")
        for naming in ("jmx", "short"):
            name = prometheus_name(group, metric.name, naming)
            found[name] = name.removeprefix("kafka_connect_").removesuffix(f"_{figure}")
    return found
