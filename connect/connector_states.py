"""States and figures of connectors, from the responses of Kafka Connect's REST API: for commands and pages.

`status` is the response to GET /connectors/{name}/status; `metrics` is a connector's part of the response to GET
/connectors?expand=metrics, which Java's workers do not offer. Needs nothing of the runtime.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

#: States that need attention, the worst first.
URGENT: Final = ("FAILED", "STALLED")

#: The metrics of one task by group and name; None where there is no recent value.
Groups = Mapping[str, Mapping[str, Any]]

_OF_OURS: Final = re.compile(r"^connect\.\S+: ")
_RECORDS: Final = (
    ("sink-task-metrics", "sink-record-send-total"),
    ("source-task-metrics", "source-record-write-total"),
)
_RATES: Final = (("sink-task-metrics", "sink-record-send-rate"), ("source-task-metrics", "source-record-write-rate"))
_LAGS: Final = (("connect-task-metrics", "lag"),)
_ERRORS: Final = (("task-error-metrics", "total-record-errors"),)


class Measured(NamedTuple):
    """Figures of a task, or sums over tasks; None where no task has the figure.

    Attributes:
        records: acknowledged by the broker, or taken by the target, since the tasks started.
        per_second: the rate of these over the last seconds.
        lag: records that wait for sink tasks.
        errors: records that could not be converted, transformed or written, since the tasks started.
    """

    records: float | None
    per_second: float | None
    lag: float | None
    errors: float | None


def parts(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The connector and its tasks, each with `state`, `worker_id` and, where there is one, `trace` or `waiting`."""
    return [status["connector"], *status["tasks"]]


def worst_state(status: Mapping[str, Any]) -> str:
    """The most urgent state of the connector and its tasks; else that of a task which differs from the connector's."""
    own, *others = (str(part["state"]) for part in parts(status))
    urgent = [state for state in URGENT if state in (own, *others)]
    return next(iter([*urgent, *(state for state in others if state != own), own]))


def urgency(state: str) -> int:
    """A sort key: the most urgent states first, all that are not urgent equal."""
    return URGENT.index(state) if state in URGENT else len(URGENT)


def error_line(trace: str | None) -> str:
    """The line with the error: Java's traces begin with it, Python's end with it. Empty without a trace."""
    lines = [line for line in (trace or "").strip().splitlines() if line.strip()] or [""]
    if not lines[0].startswith("Traceback "):
        return lines[0]
    return next((line for line in reversed(lines) if not line[0].isspace()), lines[-1])


def error_message(trace: str | None) -> str:
    """The same without the name of one of our classes, which means nothing to a reader."""
    return _OF_OURS.sub("", error_line(trace))


def by_task(metrics: Mapping[str, Any] | None) -> dict[int, Groups]:
    """The metrics of each task of a connector."""
    return {task["id"]: task["metrics"] for task in (metrics or {}).get("tasks", [])}


def measured(groups: Groups) -> Measured:
    """The figures of one task."""
    return Measured(*(_first(groups, names) for names in (_RECORDS, _RATES, _LAGS, _ERRORS)))


def total(some: Iterable[Measured]) -> Measured:
    """The sums over several tasks or connectors."""
    columns = zip(*some, strict=True)
    known = [[value for value in column if value is not None] for column in columns] or [[]] * len(Measured._fields)
    return Measured(*(sum(values) if values else None for values in known))


def _first(groups: Groups, names: Iterable[tuple[str, str]]) -> float | None:
    known = (groups.get(group, {}).get(name) for group, name in names)
    return next((value for value in known if value is not None), None)
