"""What the pages show, from responses of the REST interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connect.connector_states import (
    URGENT,
    Groups,
    Measured,
    by_task,
    error_message,
    measured,
    parts,
    total,
    urgency,
    worst_state,
)
from connect.telemetry.fingerprints import general

#: The worst first.
STATES: Final = ("FAILED", "STALLED", "UNASSIGNED", "RESTARTING", "PAUSED", "STOPPED", "RUNNING")
#: Characters of a reason: a statement for a database may be one line of megabytes. The trace has all of it.
_REASON: Final = 500
#: The keys that say which topics a connector reads or writes, as most connectors call them.
_TOPICS: Final = ("topics", "topics.regex", "topic", "kafka.topic", "topic.prefix")


@dataclass(frozen=True, slots=True)
class Part:
    """A connector itself, or one of its tasks.

    Attributes:
        task: the number; None for the connector itself.
        state: in the cluster's words.
        reason: a line: why it failed, or what it waits for. Empty without either.
        trace: the whole of it.
        page: the address of another server's page about its work; "" for none.
        measured: None in it where the worker does not report it.
    """

    task: int | None
    state: str
    worker: str
    reason: str
    trace: str
    page: str
    measured: Measured


@dataclass(frozen=True, slots=True)
class Row:
    """A connector in a list: the worst state of it and its tasks, and the metrics of all tasks together."""

    name: str
    type: str
    plugin: str
    state: str
    parts: Sequence[Part]
    topics: str
    measured: Measured
    letters: bool

    @property
    def own(self) -> str:
        """The state of the connector itself, whatever its tasks are in."""
        return self.parts[0].state

    def has(self, words: str) -> bool:
        """Whether it is found by these words, as the script of the list finds it."""
        shown = (self.name, self.reason, self.state, self.type, self.plugin, self.topics)
        return words.lower() in " ".join(shown).lower()

    @property
    def tasks(self) -> list[Part]:
        """Its tasks by number."""
        return [part for part in self.parts if part.task is not None]

    @property
    def running(self) -> int:
        """The number of running tasks."""
        return sum(1 for part in self.tasks if part.state == "RUNNING")

    @property
    def reason(self) -> str:
        """The reason of its state, a line; else what one of its parts waits for."""
        worst_first = sorted(self.parts, key=lambda part: part.state != self.state)
        return next((part.reason for part in worst_first if part.reason), "")


@dataclass(slots=True)
class Problem:
    """One kind of error, and all connectors and tasks that have it.

    Attributes:
        reason: of the first.
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
    """The whole cluster in a few figures, and what needs attention, the most frequent first.

    Attributes:
        problems: what FAILED or is STALLED.
        waiting: parts that wait for something, by connector.
        erring: connectors that gave up records since their tasks started.
    """

    connectors: int
    states: Mapping[str, int]
    workers: Sequence[tuple[str, int]]
    measured: Measured
    problems: Sequence[Problem]
    waiting: Sequence[tuple[str, Part]]
    erring: Sequence[Row]


def rows(expanded: Mapping[str, Any]) -> list[Row]:
    """Of GET /connectors with expand=status, info and metrics, by name. Those being created or deleted are left out."""
    return [row(name, found) for name, found in sorted(expanded.items()) if found.get("status")]


def row(name: str, found: Mapping[str, Any]) -> Row:
    """Of one connector's part of that."""
    status, config = found["status"], (found.get("info") or {}).get("config", {})
    groups = by_task(found.get("metrics"))
    made = [_part(said.get("id"), said, groups) for said in parts(status)]
    return Row(
        name=name,
        type=status.get("type") or "unknown",
        plugin=config.get("connector.class", "").rpartition(".")[2],
        state=worst_state(status),
        parts=made,
        topics=next((config[key] for key in _TOPICS if config.get(key)), ""),
        measured=total(part.measured for part in made),
        letters=bool(config.get("errors.deadletterqueue.topic.name")),
    )


def overview(found: Sequence[Row]) -> Overview:
    """Summarise the rows."""
    by_name = [(row.name, part) for row in found for part in row.parts]
    tasks = [part for _, part in by_name if part.task is not None]
    return Overview(
        connectors=len(found),
        states=Counter(part.state for part in tasks),
        workers=sorted(Counter(part.worker for part in tasks if part.worker).items()),
        measured=total(row.measured for row in found),
        problems=_problems(by_name),
        erring=sorted((row for row in found if row.measured.errors), key=lambda row: -(row.measured.errors or 0)),
        waiting=[(name, part) for name, part in by_name if part.state not in URGENT and part.reason],
    )


def _problems(by_name: Iterable[tuple[str, Part]]) -> list[Problem]:
    kinds: dict[tuple[str, str], Problem] = {}
    for name, part in by_name:
        if part.state in URGENT:
            kind = part.state, general(part.reason)
            kinds.setdefault(kind, Problem(part.state, part.reason)).parts.append((name, part.task))
    return sorted(kinds.values(), key=lambda problem: (urgency(problem.state), -len(problem.parts)))


def _part(task: int | None, said: Mapping[str, Any], groups: Mapping[int, Groups]) -> Part:
    trace = str(said.get("trace") or "").strip()
    reason = (said.get("waiting") or {}).get("reason") or error_message(trace)
    return Part(
        task=task,
        state=said["state"],
        worker=said.get("worker_id") or "",
        reason=reason if len(reason) <= _REASON else f"{reason[: _REASON - 1]}…",
        trace=trace,
        page=said.get("page") or "",
        measured=measured({} if task is None else groups.get(task, {})),
    )
