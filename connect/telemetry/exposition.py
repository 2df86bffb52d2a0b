"""Prometheus's text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from connect.telemetry.metrics import Buckets, Kind, Sample

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Family(NamedTuple):
    """All series of one name.

    Attributes:
        name: of each series, without what the format adds for histograms.
        kind: of all.
        doc: one line for readers.
        series: labels and value of each.
    """

    name: str
    kind: Kind
    doc: str
    series: list[tuple[Mapping[str, str], float | Buckets]]


def families(samples: Iterable[Sample], docs: Mapping[str, str]) -> list[Family]:
    """Samples by name, in the order of the names.

    A name has one kind: of two plug-ins that measure under one name in two ways, only the first is shown.

    Args:
        samples: at most one for each name and labels.
        docs: the meaning of names, as far as known.
    """
    found: dict[str, Family] = {}
    for sample in samples:
        default = Family(sample.name, sample.kind, docs.get(sample.name, "Of a plug-in."), [])
        family = found.setdefault(sample.name, default)
        if family.kind == sample.kind and isinstance(sample.value, Buckets) == (sample.kind == "histogram"):
            family.series.append((sample.labels, sample.value))
    return [found[name] for name in sorted(found)]


def text(shown: Iterable[Family]) -> str:
    """The page that Prometheus reads."""
    return "".join(line + "\n" for family in shown for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.doc)}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.series:
        if not isinstance(value, Buckets):
            yield f"{family.name}{_labels(labels)} {_number(value)}"
            continue
        below = 0
        for bound, count in zip((*value.bounds, math.inf), value.counts, strict=True):
            below += count
            yield f"{family.name}_bucket{_labels({**labels, 'le': _number(bound)})} {below}"
        yield f"{family.name}_sum{_labels(labels)} {_number(value.sum)}"
        yield f"{family.name}_count{_labels(labels)} {below}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    inside = ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return f"{{{inside}}}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def _escaped(words: str) -> str:
    return words.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(value: str) -> str:
    return _escaped(value).replace('"', r"\"")
