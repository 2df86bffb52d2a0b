"""The connectors of a cluster, a line each: their states together with their metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from connect.cli._statuses import reason
from connect.cli._summary import Summary
from connect.cli._table import plain
from connect.connector_states import URGENT, Measured, by_task, measured, parts, total, urgency, worst_state


def overview(statuses: Iterable[Mapping[str, Any]], metrics: Mapping[str, Any], *, tasks: bool) -> list[Summary]:
    """Each connector, and below it each of its tasks if requested; failed and stalled ones first.

    With more connectors than lines, the failed ones are then not those left out.

    Args:
        statuses: from the workers, without secrets.
        metrics: of each connector by name, as GET /connectors?expand=metrics has them; empty where a cluster has none.
        tasks: whether to show each task too.
    """
    found = []
    for status in statuses:
        groups = by_task(metrics.get(status["name"]))
        summary = _connector(status, total(map(measured, groups.values())))
        found.append(
            [summary, *(_task(task, measured(groups.get(task["id"], {}))) for task in status["tasks"] if tasks)]
        )
    found.sort(key=lambda shown: urgency(shown[0].state))
    return [summary for shown in found for summary in shown]


def _connector(status: Mapping[str, Any], figures: Measured) -> Summary:
    state = worst_state(status)
    of_this = [task for task in status["tasks"] if task["state"] == state]
    broken = next((part for part in parts(status) if part["state"] == state and reason(part)), None)
    waits = broken or next((part for part in parts(status) if "waiting" in part), None)
    failed = len(of_this) if state in URGENT else 0
    return _summary(plain(status["name"]), state, len(status["tasks"]), failed, waits, figures)


def _task(task: Mapping[str, Any], figures: Measured) -> Summary:
    return _summary(f"  task {task['id']}", task["state"], 1, 0, task, figures)


def _summary(
    name: str, state: str, tasks: int, failed: int, reasoned: Mapping[str, Any] | None, figures: Measured
) -> Summary:
    return Summary(
        name=name,
        state=state,
        tasks=tasks,
        failed=failed,
        records=None if figures.records is None else int(figures.records),
        per_second=figures.per_second,
        lag=None if figures.lag is None else int(figures.lag),
        errors=int(figures.errors or 0),
        reason=plain(reason(reasoned)) or None if reasoned else None,
    )
