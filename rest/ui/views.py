"""What the pages show, made of what the REST interface answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

#: The worst first.
STATES: Final = ("FAILED", "STALLED", "UNASSIGNED", "RESTARTING", "PAUSED", "STOPPED", "RUNNING")
#: The keys that say which topics a connector reads or writes, as most connectors call them.
_TOPICS: Final = ("topics", "topics.regex", "topic", "kafka.topic", "topic.prefix")
_URGENT: Final = ("FAILED", "STALLED")
_RATES: Final = (("sink-task-metrics", "sink-record-send-rate"), ("source-task-metrics", "source-record-write-rate"))
_LAG: Final = (("connect-task-metrics", "lag"),)
_ERRORS: Final = (("task-error-metrics", "total-record-errors"),)
#: What differs between two tasks with the same error: numbers, addresses, quoted names.
_PARTICULAR: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\b[0-9a-f]{8,}\b|\d+")


@dataclass(frozen=True, slots=True)
class Part:
    """A connector itself, or one of its tasks.

    Attributes:
        task: the number; None for the connector itself.
        state: as the cluster says it.
        reason: a line: why it failed, or what it waits for. Empty where there is nothing to say.
        trace: the whole of it.
        per_second, lag, errors: what is measured; None where the worker does not tell.
    """

    task: int | None
    state: str
    worker: str
    reason: str
    trace: str
    per_second: float | None = None
    lag: float | None = None
    errors: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A connector in a list: the worst state of it and its tasks, and sums over the tasks."""

    name: str
    type: str
    plugin: str
    state: str
    parts: Sequence[Part]
    topics: str
    per_second: float | None
    lag: float | None
    errors: float | None

    @property
    def tasks(self) -> list[Part]:
        """Its tasks by number."""
        return [part for part in self.parts if part.task is not None]

    @property
    def running(self) -> int:
        """How many tasks run."""
        return sum(1 for part in self.tasks if part.state == "RUNNING")

    @property
    def reason(self) -> str:
        """Why it is as it is, a line."""
        return next((part.reason for part in self.parts if part.state == self.state and part.reason), "") or next(
            (part.reason for part in self.parts if part.reason), ""
        )


@dataclass(slots=True)
class Problem:
    """One kind of error, and all that have it.

    Attributes:
        reason: of the first that has it.
        state: FAILED or STALLED.
        parts: connector and task of each.
    """

    state: str
    reason: str
    parts: list[tuple[str, int | None]] = field(default_factory=list)

    @property
    def connectors(self) -> list[str]:
        """By name, each once."""
        return sorted({name for name, _ in self.parts})


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole cluster in a few figures, and what needs attention, the most frequent first."""

    connectors: int
    states: Mapping[str, int]
    workers: Sequence[tuple[str, int]]
    per_second: float | None
    lag: float | None
    errors: float | None
    problems: Sequence[Problem]
    waiting: Sequence[tuple[str, Part]]


def rows(expanded: Mapping[str, Any]) -> list[Row]:
    """Of GET /connectors with expand=status, info and metrics, by name. What is being made or deleted is left out."""
    return [row(name, found) for name, found in sorted(expanded.items()) if found.get("status")]


def row(name: str, found: Mapping[str, Any]) -> Row:
    """Of one connector's part of that."""
    status, config = found["status"], (found.get("info") or {}).get("config", {})
    measured = {one["id"]: one["metrics"] for one in (found.get("metrics") or {}).get("tasks", [])}
    parts = [_part(None, status["connector"], {})]
    parts += [_part(task["id"], task, measured.get(task["id"], {})) for task in status["tasks"]]
    tasks = parts[1:]
    return Row(
        name=name,
        type=status.get("type") or "unknown",
        plugin=config.get("connector.class", "").rpartition(".")[2],
        state=_worst(parts),
        parts=parts,
        topics=next((config[key] for key in _TOPICS if config.get(key)), ""),
        per_second=_sum(part.per_second for part in tasks),
        lag=_sum(part.lag for part in tasks),
        errors=_sum(part.errors for part in tasks),
    )


def overview(found: Sequence[Row]) -> Overview:
    """Put together what the rows say."""
    parts = [(row.name, part) for row in found for part in row.parts]
    tasks = [part for _, part in parts if part.task is not None]
    workers = Counter(part.worker for part in tasks if part.worker)
    return Overview(
        connectors=len(found),
        states=Counter(part.state for part in tasks),
        workers=sorted(workers.items()),
        per_second=_sum(row.per_second for row in found),
        lag=_sum(row.lag for row in found),
        errors=_sum(row.errors for row in found),
        problems=_problems(parts),
        waiting=[(name, part) for name, part in parts if part.state not in _URGENT and part.reason],
    )


def _problems(parts: Iterable[tuple[str, Part]]) -> list[Problem]:
    kinds: dict[tuple[str, str], Problem] = {}
    for name, part in parts:
        if part.state in _URGENT:
            kind = part.state, _PARTICULAR.sub("…", part.reason)
            kinds.setdefault(kind, Problem(part.state, part.reason)).parts.append((name, part.task))
    return sorted(kinds.values(), key=lambda problem: (_URGENT.index(problem.state), -len(problem.parts)))


def _part(task: int | None, said: Mapping[str, Any], metrics: Mapping[str, Any]) -> Part:
    waiting = said.get("waiting") or {}
    trace = str(said.get("trace") or "").strip()
    return Part(
        task=task,
        state=said["state"],
        worker=said.get("worker_id") or "",
        reason=waiting.get("reason") or _line(trace),
        trace=trace,
        per_second=_told(metrics, _RATES),
        lag=_told(metrics, _LAG),
        errors=_told(metrics, _ERRORS),
    )


def _line(trace: str) -> str:
    """Java's traces begin with the error, Python's end with it."""
    lines = [line for line in trace.splitlines() if line.strip()]
    if not lines or not lines[0].startswith("Traceback "):
        return lines[0] if lines else ""
    last = next((line for line in reversed(lines) if not line[0].isspace()), lines[-1])
    return re.sub(r"^connect\.\S+: ", "", last)


def _worst(parts: Sequence[Part]) -> str:
    """The worst of all parts; where none failed, what one is that is not yet, or no longer, as the connector."""
    own, states = parts[0].state, [part.state for part in parts]
    worst = [state for state in _URGENT if state in states]
    return next(iter([*worst, *(state for state in states if state != own), own]))


def _told(metrics: Mapping[str, Any], names: Iterable[tuple[str, str]]) -> float | None:
    return next((value for group, name in names if (value := metrics.get(group, {}).get(name)) is not None), None)


def _sum(values: Iterable[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return sum(told) if told else None
