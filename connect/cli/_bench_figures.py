"""The result of `connect bench`: where the time of a connector's tasks went, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

_SAMPLE: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'\b(\w+)="((?:[^"\\]|\\.)*)"')
_BUSY: Final = 0.85  # of one core: the process computes, and waits for nothing


@dataclass(frozen=True)
class Look:
    """A connector at one moment.

    Attributes:
        at: on the monotonic clock, in seconds.
        records: consumed by a sink, acknowledged by the broker of a source.
        bytes: of values that a sink consumed, of keys and values that a source sent.
        errors: records that were given up.
        batches: of records.
        seconds: of all tasks, by activity: steps, put, pre_commit, poll.
        cpu: seconds of the tasks' processes.
        memory: their PSS in bytes.
        tasks: their number.
    """

    at: float
    records: float
    bytes: float
    errors: float
    batches: float
    seconds: Mapping[str, float]
    cpu: float
    memory: float
    tasks: int


def samples(page: str, connector: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """The series of a connector on a page for Prometheus: name, labels, value."""
    for name, labels, value in _SAMPLE.findall(page):
        found = dict(_LABEL.findall(labels))
        if found.get("connector") == connector:
            yield name, found, float(value)


def look(at: float, page: str, connector: str, processes: Mapping[int, tuple[float, float]]) -> Look:
    """The figures of a worker's page.

    Args:
        processes: of each task by number, CPU seconds and PSS.
    """
    sums: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for name, labels, value in samples(page, connector):
        if name == "connect_task_step_seconds_sum":
            step = f"{labels['stage'].replace('_', ' ')}: {labels['step']}"
            seconds[step] = seconds.get(step, 0.0) + value
        elif name in _SECONDS:
            seconds[_SECONDS[name]] = seconds.get(_SECONDS[name], 0.0) + value
        else:
            sums[name] = sums.get(name, 0.0) + value
    group = "kafka_connect_sink_task_metrics_sink_record_read_total"
    records = sums.get(group, 0.0) or sums.get("kafka_connect_source_task_metrics_source_record_write_total", 0.0)
    return Look(
        at=at,
        records=records,
        bytes=sums.get("connect_sink_bytes_total", 0.0) + sums.get("connect_source_bytes_total", 0.0),
        errors=sums.get("kafka_connect_task_error_metrics_total_record_errors", 0.0),
        batches=sums.get("connect_task_batch_records_count", 0.0),
        seconds=seconds,
        cpu=sum(cpu for cpu, _ in processes.values()),
        memory=sum(memory for _, memory in processes.values()),
        tasks=max(1, len(processes)),
    )


_SECONDS: Final = {
    "connect_sink_put_seconds_sum": "put",
    "connect_sink_pre_commit_seconds_sum": "pre_commit",
    "connect_source_poll_seconds_sum": "poll",
}


@dataclass(frozen=True)
class Outcome:
    """The difference between two measurements.

    Attributes:
        shares: of the tasks' time, by activity; the rest is `waiting`.
        waiting: what the rest of the time went to.
        bottleneck: what took the most, in a sentence.
        advice: what to try next.
    """

    connector: str
    kind: str
    tasks: int
    seconds: float
    records: float
    records_per_second: float
    bytes_per_second: float
    records_per_batch: float
    cores: float
    cpu_us_per_record: float
    memory_bytes: float
    errors: float
    shares: Mapping[str, float] = field(default_factory=dict)
    waiting: str = ""
    bottleneck: str = ""
    advice: str = ""

    def for_programs(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def outcome(connector: str, kind: str, first: Look, last: Look) -> Outcome:
    """Compare two measurements."""
    seconds = max(last.at - first.at, 1e-9)
    records = last.records - first.records
    cores = max(0.0, last.cpu - first.cpu) / seconds
    of_all = seconds * last.tasks
    shares = {name: (took - first.seconds.get(name, 0.0)) / of_all for name, took in last.seconds.items()}
    waiting = "waiting for records of Kafka" if kind == "sink" else "sending to Kafka"
    shares = dict(sorted(shares.items(), key=lambda each: -each[1]))
    shares[waiting] = max(0.0, 1.0 - sum(shares.values()))
    why, advice = _bottleneck(kind, shares, waiting, cores / last.tasks, last.tasks)
    return Outcome(
        connector=connector,
        kind=kind,
        tasks=last.tasks,
        seconds=seconds,
        records=records,
        records_per_second=records / seconds,
        bytes_per_second=(last.bytes - first.bytes) / seconds,
        records_per_batch=records / max(1.0, last.batches - first.batches),
        cores=cores,
        cpu_us_per_record=1e6 * max(0.0, last.cpu - first.cpu) / max(1.0, records),
        memory_bytes=last.memory,
        errors=last.errors - first.errors,
        shares=shares,
        waiting=waiting,
        bottleneck=why,
        advice=advice,
    )


def _bottleneck(kind: str, shares: Mapping[str, float], waiting: str, busy: float, tasks: int) -> tuple[str, str]:
    """What took most of the tasks' time, and what to try.

    Args:
        busy: cores that a task used.
    """
    outside = {"put", "pre_commit", "poll", waiting}
    groups = {
        "steps": sum(share for name, share in shares.items() if name not in outside),
        "target": shares.get("put", 0.0) + shares.get("pre_commit", 0.0),
        "source": shares.get("poll", 0.0),
        "kafka": shares[waiting],
    }
    worst = max(groups, key=lambda name: groups[name])
    took = f"{groups[worst]:.0%} of the tasks' time"
    more = f"Raise tasks.max (it runs {tasks} now)"
    computes = busy >= _BUSY
    if worst == "steps":
        name = max((each for each in shares if each not in outside), key=lambda each: shares[each])
        return (
            f"converters and transformations: {took}, most of it in {name}.",
            f"{more}, up to the number of partitions or tables; or take a cheaper converter or fewer transformations.",
        )
    if worst == "target":
        where = "the connector's own code computes" if computes else "it waits for its target"
        advice = f"{more}, up to the number of partitions, and the connector's batch size."
        return f"put and pre_commit: {took}; {where}.", advice
    if worst == "source":
        where = "the connector's own code computes" if computes else "it waits for its source"
        return f"poll: {took}; {where}.", f"{more}, if the source can be divided, and the connector's batch size."
    if kind == "sink":
        if computes:
            return f"the task's process: {took} went to reading records, and it uses a whole core.", f"{more}."
        return (
            f"Kafka: {took} went to waiting for records.",
            "The connector is faster than records come. Look at the brokers and at the number of partitions.",
        )
    if computes:
        return f"the task's process: {took} went to sending records, and it uses a whole core.", f"{more}."
    return (
        f"Kafka: {took} went to sending records and waiting for acknowledgements.",
        "Look at producer.override.linger.ms, batch.size, compression.type and acks, and at the brokers.",
    )
