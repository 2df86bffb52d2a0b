"""How a connector is doing, from the statuses and reports of its tasks; and how that is drawn."""

import pytest

from connect.cli._live import summarize
from connect.cli._summary import lines
from connect.storage import ConnectorStatus, State, TaskStatus
from connect.worker.messages import Progress


def connector(state=State.RUNNING, trace=None):
    return ConnectorStatus("orders", state, "here:8083", trace)


def tasks(*states, trace=None):
    return [
        TaskStatus("orders", number, state, "here:8083", trace if state is State.FAILED else None)
        for number, state in enumerate(states)
    ]


def reports(count, records=0, lag=-1, errors=0):
    return [Progress(records, records, lag, errors, [])] * count


R, P, F = State.RUNNING, State.PAUSED, State.FAILED


@pytest.mark.parametrize(
    ("of_connector", "of_tasks", "running", "shown"),
    [
        (None, [], 0, "STARTING"),
        (connector(), [R], 2, "STARTING"),
        (connector(), [R, R], 2, "RUNNING"),
        (connector(), [], 0, "RUNNING"),
        (connector(P), [P, P], 2, "PAUSED"),
        (connector(P), [P, R], 2, "RUNNING"),
        (connector(State.STOPPED), [], 0, "STOPPED"),
        (connector(), [F], 1, "FAILED"),
        (connector(), [F, R, R], 3, "FAILED (1 of 3 tasks)"),
        (connector(F), [R], 1, "FAILED"),
    ],
)
def test_the_state_is_that_of_the_tasks_and_a_failure_is_never_hidden(of_connector, of_tasks, running, shown):
    summary = summarize("orders", of_connector, tasks(*of_tasks), reports(running), 0.0)
    assert summary.state_in_words == shown


def test_the_reason_is_the_error_of_the_traceback_on_one_line():
    trace = (
        'Traceback (most recent call last):\n  File "x.py", line 1\nconnect.errors.ConnectError: The disk is full.\n'
    )
    assert summarize("orders", connector(), tasks(F, trace=trace), reports(1), 0.0).reason == "The disk is full."
    other = trace.replace("connect.errors.ConnectError", "ValueError")
    assert summarize("orders", connector(), tasks(F, trace=other), reports(1), 0.0).reason == (
        "ValueError: The disk is full."
    )


def test_figures_are_sums_over_the_tasks_and_an_unknown_lag_is_left_out():
    both = [*reports(1, records=1000, lag=5, errors=1), *reports(1, records=500)]
    assert str(summarize("orders", connector(), tasks(R, R), both, 1234.4)) == (
        "RUNNING, 1,234 records/s, 1,500 in all, lag 5, 1 error"
    )
    assert str(summarize("orders", connector(), tasks(R), reports(1), 0.0)) == "RUNNING, 0 records/s, 0 in all"


def summaries(count):
    return [summarize(f"orders-{n}", connector(), tasks(R), reports(1, lag=7), 0.0) for n in range(count)]


def test_no_line_is_wider_than_the_terminal():
    trace = "ValueError: " + "very " * 50
    failed = summarize("orders", connector(), tasks(F, trace=trace), reports(1), 0.0)
    for columns in (40, 60, 80):
        assert all(len(text) < columns for text in lines([failed, *summaries(2)], columns, 10, colour=False))


def test_wide_letters_move_no_column():
    some = [summarize(name, connector(), tasks(R), reports(1, 5), 1.0) for name in ("日本語", "orders")]
    shown = lines(some, 80, 9, colour=True)
    state = "\x1b[32mRUNNING\x1b[0m  1 records/s  5 in all"
    assert shown == [f"日本語  {state}", f"orders  {state}"]


def test_rate_lag_and_errors_are_seen_on_a_usual_terminal():
    busy = summarize("orders-to-warehouse", connector(), tasks(R), reports(1, 5_000_000, lag=12_345, errors=4), 1234.0)
    failed = summarize("x", connector(), tasks(F, R, trace="ValueError: y"), reports(2), 0.0)
    (narrow,) = lines([busy], 80, 9, colour=False)
    assert narrow == "orders-to-warehouse  RUNNING  1,234 records/s  lag 12,345  4 errors"
    (wide,) = lines([busy], 120, 9, colour=False)
    assert wide == "orders-to-warehouse  RUNNING  1,234 records/s  5,000,000 in all  lag 12,345  4 errors"
    assert "1,234 records/s  lag 12,345  4 err" in lines([busy, failed], 80, 9, colour=False)[0]


def test_more_connectors_than_there_is_room_for_are_counted():
    texts = lines(summaries(9), 100, 4, colour=False)
    assert [text.split()[0] for text in texts[:3]] == ["orders-0", "orders-1", "orders-2"]
    assert texts[3] == "... and 6 more"
    assert len(lines(summaries(4), 100, 4, colour=False)) == 4


def test_colour_changes_nothing_but_the_colour_of_the_state():
    plain, coloured = (lines(summaries(1), 100, 4, colour=colour)[0] for colour in (False, True))
    assert coloured == plain.replace("RUNNING", "\x1b[32mRUNNING\x1b[0m")


def test_a_long_name_leaves_room_for_how_it_does():
    some = [summarize(name, connector(), tasks(R), reports(1, 5), 1.0) for name in ("x" * 70, "short")]
    assert [line.split()[:4] for line in lines(some, 80, 9, colour=False)] == [
        ["x" * 39 + "…", "RUNNING", "1", "records/s"],
        ["short", "RUNNING", "1", "records/s"],
    ]


def test_nothing_that_a_terminal_would_obey_gets_through():
    shown = summarize("a\u202eb", connector(), tasks(F, trace="ValueError: \x1b[2J gone"), reports(1), 0.0)
    (line,) = lines([shown], 80, 9, colour=False)
    assert line == "a b  FAILED  ValueError:  [2J gone"
