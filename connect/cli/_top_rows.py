"""The rows of `connect top`: one for each task or connector, one for each worker, their order, and the filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from connect.cli._statuses import reason
from connect.connector_states import URGENT, Groups, by_task, measured, parts, urgency, worst_state

_SOURCE, _SINK, _TASK, _ERRORS = (
    "source-task-metrics",
    "sink-task-metrics",
    "connect-task-metrics",
    "task-error-metrics",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A task, or a connector with the sums of its tasks, at one moment. None is what no worker reported.

    Attributes:
        connector: its name.
        task: its number; None for a connector.
        type: source or sink.
        state: from its status.
        worker: where it runs.
        records_in: polled or consumed, a second, before transformations.
        records_out: acknowledged by the broker or accepted by the target, a second.
        bytes: sent by a source or consumed by a sink, a second.
        latency_ms: of a source's polls or a sink's puts, the recent mean. Of a connector its slowest task's.
        lag: records that wait for a sink.
        cpu_percent: of one core, since the last measurement.
        memory_bytes: of its processes, shared pages divided among their users (PSS).
        errors: records given up since the start.
        retries: operations tried again since the start.
        reason: why it failed, or what it waits for; else empty.
    """

    connector: str
    task: int | None
    type: str
    state: str
    worker: str
    records_in: float | None
    records_out: float | None
    bytes: float | None
    latency_ms: float | None
    lag: float | None
    cpu_percent: float | None
    memory_bytes: float | None
    errors: float | None
    retries: float | None
    reason: str

    @property
    def name(self) -> str:
        """The beginning of its line."""
        return self.connector if self.task is None else f"{self.connector}-{self.task}"

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a filter searches."""
        return self.name, self.type, self.state, self.worker, self.reason


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, from its rows. None as for `Row`.

    Attributes:
        worker: from its statuses.
        connectors, tasks: their numbers.
        failed: how many of them FAILED or are STALLED.
        records_out, cpu_percent, memory_bytes: sums over its tasks.
        note: why its figures are missing; else empty.
    """

    worker: str
    connectors: int
    tasks: int
    failed: int
    records_out: float | None
    cpu_percent: float | None
    memory_bytes: float | None
    note: str


@dataclass(frozen=True)
class Look:
    """A cluster at one moment.

    Attributes:
        at: when, in seconds of a monotonic clock.
        statuses: as `connect.cli._statuses.measured_of` returns them.
        metrics: of each connector by name, from the same.
    """

    at: float
    statuses: Sequence[Mapping[str, Any]]
    metrics: Mapping[str, Any]

    def groups(self) -> dict[tuple[str, int], Groups]:
        """The metrics of each task by connector and number."""
        return {(name, task): groups for name, found in self.metrics.items() for task, groups in by_task(found).items()}


def task_rows(look: Look, before: Look | None = None) -> list[Row]:
    """A row for each task, and for each connector that has none or whose state differs from its tasks'.

    Args:
        before: an earlier measurement, for the CPU since then.
    """
    now, earlier = look.groups(), {} if before is None else before.groups()
    seconds = 0.0 if before is None else look.at - before.at
    found = []
    for status in look.statuses:
        name, kind = status["name"], status.get("type", "")
        own = status["connector"]
        if not status["tasks"] or own["state"] in ("FAILED", "UNASSIGNED"):
            found.append(_row(name, None, kind, own, {}, None))
        for part in status["tasks"]:
            place = name, part["id"]
            groups = now.get(place, {})
            found.append(_row(*place, kind, part, groups, _cpu_percent(groups, earlier.get(place, {}), seconds)))
    return found


def connector_rows(statuses: Iterable[Mapping[str, Any]], tasks: Iterable[Row]) -> list[Row]:
    """A row for each connector, from the rows of its tasks."""
    of: dict[str, list[Row]] = {}
    for row in tasks:
        if row.task is not None:
            of.setdefault(row.connector, []).append(row)
    found = []
    for status in statuses:
        name, rows = status["name"], of.get(status["name"], [])
        state = worst_state(status)
        why = next((reason(part) for part in parts(status) if part["state"] == state and reason(part)), "")
        found.append(
            Row(
                connector=name,
                task=None,
                type=status.get("type", ""),
                state=state,
                worker=status["connector"]["worker_id"],
                records_in=_sum(row.records_in for row in rows),
                records_out=_sum(row.records_out for row in rows),
                bytes=_sum(row.bytes for row in rows),
                latency_ms=max((row.latency_ms for row in rows if row.latency_ms is not None), default=None),
                lag=_sum(row.lag for row in rows),
                cpu_percent=_sum(row.cpu_percent for row in rows),
                memory_bytes=_sum(row.memory_bytes for row in rows),
                errors=_sum(row.errors for row in rows),
                retries=_sum(row.retries for row in rows),
                reason=why,
            )
        )
    return found


def worker_rows(look: Look, tasks: Sequence[Row]) -> list[WorkerRow]:
    """The workers that run something, by name, with sums over the rows of tasks."""
    notes = {
        away["worker_id"]: str(away["reason"])
        for found in look.metrics.values()
        for away in found.get("unreachable", ())
    }
    places = [(part["worker_id"], part["state"], "id" in part) for status in look.statuses for part in parts(status)]
    found = []
    for worker in sorted({worker for worker, *_ in places if worker}):
        here = [(state, is_task) for where, state, is_task in places if where == worker]
        rows = [row for row in tasks if row.worker == worker and row.task is not None]
        found.append(
            WorkerRow(
                worker=worker,
                connectors=sum(not is_task for _, is_task in here),
                tasks=len(rows),
                failed=sum(state in ("FAILED", "STALLED") for state, _ in here),
                records_out=_sum(row.records_out for row in rows),
                cpu_percent=_sum(row.cpu_percent for row in rows),
                memory_bytes=_sum(row.memory_bytes for row in rows),
                note=notes.get(worker, ""),
            )
        )
    return found


def _attention(row: Row) -> float:
    """The urgency: highest for failed, then stalled, then waiting ones."""
    return len(URGENT) - urgency(row.state) or (0.5 if row.reason else 0.0)


#: By what lines are sorted: the key that asks for it, and its title. The most comes first; of names the first.
SORTS: Final[Mapping[str, tuple[str, Callable[[Row], float | None] | None]]] = {
    "s": ("state", _attention),
    "c": ("cpu", lambda row: row.cpu_percent),
    "m": ("memory", lambda row: row.memory_bytes),
    "r": ("rate", lambda row: row.records_out),
    "l": ("lag", lambda row: row.lag),
    "e": ("errors", lambda row: row.errors),
    "n": ("name", None),
}


def in_order(rows: Iterable[Row], by: str, *, reverse: bool = False) -> list[Row]:
    """Sorted by a key of `SORTS`. Rows without the figure are last.

    Equal rows are sorted by urgency and name; of equal states the highest CPU is first.
    """
    figure = SORTS[by][1]
    if figure is None:
        return sorted(rows, key=lambda row: (row.connector, -1 if row.task is None else row.task), reverse=reverse)
    found = sorted(
        rows,
        key=lambda row: (
            urgency(row.state),
            -(row.cpu_percent or 0.0) if by == "s" else 0.0,
            row.connector,
            -1 if row.task is None else row.task,
        ),
    )
    told = [row for row in found if figure(row) is not None]
    told.sort(key=lambda row: figure(row) or 0.0, reverse=not reverse)
    return [*told, *(row for row in found if figure(row) is None)]


def matching(rows: Iterable[Row], text: str) -> list[Row]:
    """Those with this text in their name, type, state, worker or reason; case-insensitive."""
    wanted = text.casefold()
    return [row for row in rows if any(wanted in each.casefold() for each in row.texts)]


def as_json(rows: Iterable[Row | WorkerRow]) -> list[dict[str, Any]]:
    """For programs: null is an unknown figure."""
    return [asdict(row) for row in rows]


def _row(
    name: str, task: int | None, kind: str, part: Mapping[str, Any], groups: Groups, cpu_percent: float | None
) -> Row:
    figures = measured(groups)
    return Row(
        connector=name,
        task=task,
        type=kind,
        state=part["state"],
        worker=part["worker_id"],
        records_in=_figure(groups, (_SINK, "sink-record-read-rate"), (_SOURCE, "source-record-poll-rate")),
        records_out=figures.per_second,
        bytes=_figure(groups, (_TASK, "bytes-rate")),
        latency_ms=_figure(groups, (_SINK, "put-batch-avg-time-ms"), (_SOURCE, "poll-batch-avg-time-ms")),
        lag=figures.lag,
        cpu_percent=cpu_percent,
        memory_bytes=_figure(groups, (_TASK, "pss-bytes")),
        errors=figures.errors,
        retries=_figure(groups, (_ERRORS, "total-retries")),
        reason=reason(part),
    )


def _cpu_percent(now: Groups, before: Groups, seconds: float) -> float | None:
    after, earlier = (_figure(groups, (_TASK, "cpu-seconds-total")) for groups in (now, before))
    if after is None or earlier is None or seconds <= 0 or after < earlier:  # another process since then
        return None
    return 100 * (after - earlier) / seconds


def _figure(groups: Groups, *places: tuple[str, str]) -> float | None:
    told = (groups.get(group, {}).get(name) for group, name in places)
    return next((value for value in told if value is not None), None)


def _sum(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return sum(told) if told else None
