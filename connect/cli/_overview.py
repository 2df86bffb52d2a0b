"""How the connectors of a cluster are doing: their states together with what is measured of them.

Workers of Java do not tell their figures over REST: of what runs there only states and reasons are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from connect.cli._statuses import parts, reason
from connect.cli._summary import Summary
from connect.cli._table import plain

#: The worst first: with more connectors than lines, what is left out must not be what failed.
_URGENT: Final = ("FAILED", "STALLED")
_RATES: Final = (("sink-task-metrics", "sink-record-send-rate"), ("source-task-metrics", "source-record-write-rate"))
_TOTALS: Final = (("sink-task-metrics", "sink-record-send-total"), ("source-task-metrics", "source-record-write-total"))
_LAGS: Final = (("connect-task-metrics", "lag"),)
_ERRORS: Final = (("task-error-metrics", "total-record-errors"),)

#: Figures by group and name, as GET /connectors?expand=metrics has them; None where nothing was measured lately.
_Figures = Mapping[str, Mapping[str, Any]]


def overview(statuses: Iterable[Mapping[str, Any]], metrics: Mapping[str, Any], *, tasks: bool) -> list[Summary]:
    """Each connector, and below it each of its tasks if asked for; those that failed or stand still first.

    Args:
        statuses: as the workers answer, without secrets.
        metrics: of each connector by name, as GET /connectors?expand=metrics has them; empty where a cluster has none.
        tasks: whether to show each task too.
    """
    found = []
    for status in statuses:
        figures = _by_task(metrics.get(status["name"]))
        summary = _connector(status, list(figures.values()))
        found.append([summary, *(_task(task, figures.get(task["id"])) for task in status["tasks"] if tasks)])
    found.sort(key=lambda shown: _URGENT.index(shown[0].state) if shown[0].state in _URGENT else len(_URGENT))
    return [summary for shown in found for summary in shown]


def _by_task(metrics: Any) -> dict[int, _Figures]:
    return {task["id"]: task["metrics"] for task in (metrics or {}).get("tasks", [])}


def _connector(status: Mapping[str, Any], figures: Sequence[_Figures]) -> Summary:
    state = _state(status)
    of_this = [task for task in status["tasks"] if task["state"] == state]
    broken = next((part for part in parts(status) if part["state"] == state and reason(part)), None)
    waits = broken or next((part for part in parts(status) if "waiting" in part), None)
    return Summary(
        name=plain(status["name"]),
        state=state,
        tasks=len(status["tasks"]),
        failed=len(of_this) if state in _URGENT else 0,
        reason=_shown(waits),
        **_figures(figures),
    )


def _task(task: Mapping[str, Any], figures: _Figures | None) -> Summary:
    return Summary(
        name=f"  task {task['id']}",
        state=task["state"],
        tasks=1,
        failed=0,
        reason=_shown(task),
        **_figures([] if figures is None else [figures]),
    )


def _state(status: Mapping[str, Any]) -> str:
    """The worst of the connector and its tasks; else what a task is that is not yet, or no longer, as the connector."""
    own = str(status["connector"]["state"])
    states = [str(part["state"]) for part in parts(status)]
    worst = [state for state in _URGENT if state in states]
    return next(iter([*worst, *(state for state in states if state != own), own]))


def _shown(part: Mapping[str, Any] | None) -> str | None:
    return (plain(reason(part)) or None) if part else None


def _figures(tasks: Sequence[_Figures]) -> dict[str, Any]:
    """Sums over tasks; None where no task tells."""
    records, rates = _told(tasks, _TOTALS), _told(tasks, _RATES)
    lags, errors = _told(tasks, _LAGS), _told(tasks, _ERRORS)
    return {
        "records": int(sum(records)) if records else None,
        "per_second": sum(rates) if rates else None,
        "lag": int(sum(lags)) if lags else None,
        "errors": int(sum(errors)),
    }


def _told(tasks: Sequence[_Figures], names: Sequence[tuple[str, str]]) -> list[float]:
    told = [task.get(group, {}).get(name) for task in tasks for group, name in names]
    return [value for value in told if value is not None]
