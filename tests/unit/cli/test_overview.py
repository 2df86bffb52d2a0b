"""How the connectors of a cluster are doing, from what its workers answer."""

import pytest

from connect.cli._overview import overview


def part(state, **more):
    return {"state": state, "worker_id": "w:1", **more}


def status(connector, *tasks, name="orders", **failed):
    return {
        "name": name,
        "connector": part(connector),
        "tasks": [part(state, id=n, **(failed if state == "FAILED" else {})) for n, state in enumerate(tasks)],
        "type": "sink",
    }


def measured(*tasks):
    return {"tasks": [{"id": n, "worker_id": "w:1", "metrics": groups} for n, groups in enumerate(tasks)]}


def sink(rate, total, lag):
    return {
        "sink-task-metrics": {"sink-record-send-rate": rate, "sink-record-send-total": total},
        "connect-task-metrics": {"lag": lag},
        "task-error-metrics": {"total-record-errors": 0.0},
    }


def shown(*statuses, metrics=None, tasks=False):
    return [(summary.name, str(summary)) for summary in overview(statuses, metrics or {}, tasks=tasks)]


@pytest.mark.parametrize(
    ("connector", "tasks", "said"),
    [
        ("RUNNING", [], "RUNNING"),
        ("RUNNING", ["RUNNING", "FAILED", "STALLED"], "FAILED (1 of 3 tasks)"),
        ("RUNNING", ["STALLED", "RUNNING", "STALLED"], "STALLED (2 of 3 tasks)"),
        ("FAILED", ["RUNNING"], "FAILED"),
        ("RUNNING", ["RUNNING", "UNASSIGNED"], "UNASSIGNED"),
        ("PAUSED", ["PAUSED", "RUNNING"], "RUNNING"),
        ("STOPPED", [], "STOPPED"),
    ],
)
def test_the_worst_state_counts(connector, tasks, said):
    assert shown(status(connector, *tasks)) == [("orders", said)]


def test_figures_are_sums_over_the_tasks():
    metrics = {"orders": measured(sink(10.4, 100.0, 3.0), sink(20.0, 50.0, 4.0))}
    assert shown(status("RUNNING", "RUNNING", "RUNNING"), metrics=metrics) == [
        ("orders", "RUNNING, 30 records/s, 150 in all, lag 7")
    ]


def test_what_was_not_measured_lately_is_left_out():
    metrics = {"orders": measured(sink(None, 100.0, 3.0))}
    assert shown(status("RUNNING", "RUNNING"), metrics=metrics) == [("orders", "RUNNING, 100 in all, lag 3")]


def test_each_task_is_shown_below_its_connector_with_its_own_figures():
    metrics = {"orders": measured(sink(1.0, 10.0, 0.0))}
    assert shown(status("RUNNING", "RUNNING", "PAUSED"), metrics=metrics, tasks=True) == [
        ("orders", "PAUSED, 1 records/s, 10 in all, lag 0"),
        ("  task 0", "RUNNING, 1 records/s, 10 in all, lag 0"),
        ("  task 1", "PAUSED"),
    ]


def test_what_failed_stands_first_then_what_stands_still():
    statuses = [
        status("RUNNING", "RUNNING", name="a"),
        status("RUNNING", "STALLED", name="b"),
        status("RUNNING", "FAILED", name="c"),
        status("PAUSED", "PAUSED", name="d"),
    ]
    assert [name for name, _ in shown(*statuses)] == ["c", "b", "a", "d"]


def test_the_reason_is_that_of_the_worst_and_on_one_line():
    failed = status(
        "RUNNING", "RUNNING", "FAILED", trace="Traceback (most recent call last):\n  x\nValueError: a\x1b[2J"
    )
    (summary,) = overview([failed], {}, tasks=False)
    assert summary.reason == "ValueError: a [2J"
    waits = status("RUNNING", "RUNNING")
    waits["tasks"][0]["waiting"] = {"since_ms": 0, "reason": "The database is away."}
    (summary,) = overview([waits], {}, tasks=False)
    assert summary.reason.endswith("The database is away.")
