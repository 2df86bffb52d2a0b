"""What a worker's page for Prometheus has, by the product's own catalogue, and what Prometheus adds when it scrapes."""

from typing import Final

from connect.herder.rebalances import CAUSES
from connect.storage import State
from connect.telemetry.catalogue import KAFKA, OURS
from tests.support.promql import OF_COUNTERS, Query, Wrong, parse

#: Prometheus gives these to all that it scrapes.
OF_SCRAPES: Final = frozenset({"job", "instance"})


def _exposed() -> dict[str, tuple[str, frozenset[str], str]]:
    """Kind, labels and meaning by name."""
    found: dict[str, tuple[str, frozenset[str], str]] = {"up": ("gauge", frozenset(), "")}
    for kafka in KAFKA:
        labels = {label.replace("-", "_") for label in kafka.labels}
        if kafka.kind == "text":
            labels.add(kafka.name.replace("-", "_"))
        # What counts errors grows, though it is no counter by its name: see connect.telemetry.catalogue.
        grows = kafka.group == "task-error-metrics" and kafka.name != "last-error-timestamp"
        found[kafka.prometheus()] = ("counter" if grows else kafka.kind, frozenset(labels), kafka.doc)
    for ours in OURS:
        if ours.kind != "histogram":
            found[ours.name] = (ours.kind, frozenset(ours.labels), ours.doc)
            continue
        for end, labels in (("_bucket", (*ours.labels, "le")), ("_sum", ours.labels), ("_count", ours.labels)):
            found[ours.name + end] = ("counter", frozenset(labels), ours.doc)
    return found


EXPOSED: Final = _exposed()


def labels_of(metric: str) -> frozenset[str]:
    """The labels of the series of a metric, as Prometheus keeps them."""
    if metric not in EXPOSED:
        raise Wrong(f"no worker exposes {metric}")
    return EXPOSED[metric][1] | OF_SCRAPES


def read(text: str) -> Query:
    """An expression that asks for what a worker exposes, and nothing else. Raises `Wrong`."""
    query = parse(text, labels_of)
    for selector in query.selectors:
        kind, _, doc = EXPOSED[selector.metric]
        if selector.within and selector.within[0] in OF_COUNTERS and kind != "counter":
            raise Wrong(f"{selector.within[0]} of {selector.metric}, which is a {kind}")
        for label, operator, value in selector.matchers:
            known = _values(label, doc)
            if known is None or operator not in ("=", "!="):
                continue
            if value not in known:
                raise Wrong(f'{selector.metric} is never {label}="{value}"')
    return query


def _values(label: str, doc: str) -> set[str] | None:
    """What a label may be, where that is known: causes and states by the code, others by what the catalogue says."""
    if label == "cause":
        return set(CAUSES)
    if label in ("state", "status") and "REST" not in doc:
        return {state.value.lower() for state in State} | {"destroyed"}
    if label in ("outcome", "reason"):
        return {word.strip("().,:;") for word in doc.split()}
    return None
