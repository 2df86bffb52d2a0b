"""How each connector of a worker is doing, in a few words and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from connect.herder.tasks import Tasks
from connect.storage import ConnectorStatus, MemoryStatusStore, State, TaskStatus
from connect.telemetry.windows import Rate
from connect.worker.messages import Progress


@dataclass(frozen=True, slots=True)
class Summary:
    """One connector at one moment.

    Attributes:
        name: its name.
        state: RUNNING, PAUSED, ...; STARTING as long as a task has not said that it runs; FAILED if it or a task is.
        tasks: how many there are.
        failed: how many of them failed.
        records: acknowledged by the broker, or taken by the target, since the start.
        per_second: the same over the last seconds.
        lag: records that wait in the topics of a sink; None when it is not known or it is a source.
        errors: records given up since the start.
        reason: why it FAILED, or what it waits for, a line; else None.
    """

    name: str
    state: str
    tasks: int
    failed: int
    records: int
    per_second: float
    lag: int | None
    errors: int
    reason: str | None

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.state_in_words, *self.figures)))

    @property
    def state_in_words(self) -> str:
        """The state, and how many of several tasks it is about."""
        if self.failed and self.tasks > 1:
            return f"{self.state} ({self.failed} of {self.tasks} tasks)"
        return self.state

    @property
    def figures(self) -> tuple[str, str, str, str]:
        """Rate, records, lag and errors; empty where there is nothing to say."""
        return (
            f"{self.per_second:,.0f} records/s",
            f"{self.records:,} in all",
            "" if self.lag is None else f"lag {self.lag:,}",
            "" if not self.errors else f"{self.errors:,} {'error' if self.errors == 1 else 'errors'}",
        )


class Summaries:
    """Looks at the connectors now and then; rates are between looks."""

    def __init__(self, statuses: MemoryStatusStore, tasks: Tasks) -> None:
        self._statuses = statuses
        self._tasks = tasks
        self._rates: dict[str, Rate] = {}

    def look(self) -> list[Summary]:
        """All connectors of which something is known, by name."""
        found = []
        for name in self._statuses.connectors():
            tasks = [task.progress for task in self._tasks.of(name).values()]
            rate = self._rates.setdefault(name, Rate())
            rate.update(sum(progress.records for progress in tasks))
            connector, statuses = self._statuses.connector(name), self._statuses.tasks(name)
            found.append(summarize(name, connector, statuses, tasks, rate.per_second()))
        return found


def summarize(
    name: str,
    connector: ConnectorStatus | None,
    statuses: Sequence[TaskStatus],
    tasks: Sequence[Progress],
    per_second: float,
) -> Summary:
    """Put together what is known of a connector."""
    failed = [status for status in statuses if status.state is State.FAILED]
    broken = connector if connector is not None and connector.state is State.FAILED else next(iter(failed), None)
    lags = [task.lag for task in tasks if task.lag >= 0]
    return Summary(
        name=name,
        state="FAILED" if broken else _state(connector, statuses, len(tasks)),
        tasks=len(tasks),
        failed=len(failed),
        records=sum(task.records for task in tasks),
        per_second=per_second,
        lag=sum(lags) if lags else None,
        errors=sum(task.errors for task in tasks),
        reason=_last_line(broken.trace) if broken else next((s.waiting.why for s in statuses if s.waiting), None),
    )


def _state(connector: ConnectorStatus | None, statuses: Iterable[TaskStatus], tasks: int) -> str:
    said = [status.state for status in statuses]
    if connector is None or len(said) < tasks:
        return "STARTING"
    others = [state for state in said if state is not connector.state]
    return (others[0] if others else connector.state).value


def _last_line(trace: str | None) -> str:
    """What a Python traceback ends with: the error itself, without the name of a class of ours."""
    lines = [line for line in (trace or "").splitlines() if line.strip()]
    return re.sub(r"^connect\.\S+: ", "", lines[-1].strip()) if lines else ""
